"""Attributes for inspecting the structure of a pipeline: children, workers, operations, batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.data.transforms.base import PyFunc

from .base import DatasetBase

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["PipelineStructure"]


class PipelineStructure(DatasetBase):
    """Attributes of MindSpore's datasets. They are read-only: a pipeline is changed by its methods."""

    @property
    def children(self) -> list[Dataset]:
        """The datasets that this one was made from; a source has none.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2], ["x"]).batch(2)
        >>> [type(child).__name__ for child in data.children]
        ['NumpySlicesDataset']
        """
        return list(self._session.inputs)

    @property
    def num_parallel_workers(self) -> int | None:
        """The requested number of workers, or None.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).map(abs, num_parallel_workers=2).num_parallel_workers
        2
        """
        return getattr(self._node, "num_workers", None)

    @property
    def operations(self) -> list[Any]:
        """The operations of a map, as they were passed; other datasets have none.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).map(abs).operations
        [<built-in function abs>]
        """
        operations = self._node_field(ops.Map, "operations")
        return [op.function if isinstance(op, PyFunc) else op for op in operations]

    @property
    def batch_size(self) -> Any:
        """The batch size of a batch, as it was passed: a number or a function.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).batch(2).batch_size
        2
        """
        return self._node_field(ops.Batch, "batch_size")

    @property
    def drop_remainder(self) -> bool:
        """Whether a batch drops the rows of a last, smaller one.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).batch(2).drop_remainder
        False
        """
        return bool(self._node_field(ops.Batch, "drop_remainder"))

    def _node_field(self, node_type: type, name: str) -> Any:
        """A field of the op of this dataset; an AttributeError if it has no such field, so that hasattr works."""
        if not isinstance(self._node, node_type):
            raise AttributeError(
                f"{name!r} is an attribute of {node_type.__name__.lower()}(), and this is {self._node.label}. "
                "`children` leads to the datasets below.",
                name=name,
                obj=self,
            )
        return getattr(self._node, name)
