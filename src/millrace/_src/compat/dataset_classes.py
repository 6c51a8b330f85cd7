"""MindSpore's dataset class of each operation, for ``isinstance(data, BatchDataset)`` in scripts.

In Millrace every operation returns a ``Dataset`` with a node. These classes implement only the isinstance check; they
cannot be instantiated or subclassed.
"""

from __future__ import annotations

from typing import Any

from millrace._src.data.pipeline.base import DatasetBase
from millrace._src.data.plan.nodes import order_ops as ops

NODES: dict[str, type] = {
    "BatchDataset": ops.Batch,
    "BucketBatchByLengthDataset": ops.BucketBatch,
    "ConcatDataset": ops.Concat,
    "FilterDataset": ops.Filter,
    "MapDataset": ops.Map,
    "PaddedBatchDataset": ops.Batch,
    "ProjectDataset": ops.Project,
    "RenameDataset": ops.Rename,
    "RepeatDataset": ops.Repeat,
    "ShuffleDataset": ops.Shuffle,
    "SkipDataset": ops.Skip,
    "SyncWaitDataset": ops.SyncWait,
    "TakeDataset": ops.Take,
    "ZipDataset": ops.Zip,
}

__all__ = list(NODES)


class DatasetClassMeta(type):
    """Metaclass of the dataset classes."""

    node: type

    def __instancecheck__(cls, thing: Any) -> bool:
        if not isinstance(thing, DatasetBase) or not isinstance(thing._node, cls.node):
            return False
        node = thing._node
        padded = getattr(node, "pad_info", None) is not None and getattr(node, "max_tokens", None) is None
        return cls.node is not ops.Batch or padded == (cls.__name__ == "PaddedBatchDataset")

    def __call__(cls, *args: Any, **options: Any) -> Any:
        raise TypeError(
            f"{cls.__name__} cannot be created directly. Call a method of a dataset, such as .batch() or .map()"
        )


def _create_dataset_class(name: str, node: type) -> DatasetClassMeta:
    return DatasetClassMeta(
        name, (), {"node": node, "__doc__": f"Type of a dataset whose last operation returned a {name}."}
    )


globals().update({name: _create_dataset_class(name, node) for name, node in NODES.items()})
