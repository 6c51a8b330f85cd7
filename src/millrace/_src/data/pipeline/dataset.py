"""Dataset: lazy pipelines with chained methods. Every method checks its arguments and adds a node."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from millrace._src.core import settings
from millrace._src.core.args import (
    INT32_MAX,
    Range,
    as_column_list,
    check_columns,
    checked,
    resolve_annotations,
)
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.public import public
from millrace._src.core.stable_ids import register, stable_id
from millrace._src.data.plan.nodes import order_ops as ops

from .base import DatasetBase
from .batch_ops import BatchOps
from .cache_ops import CacheOp
from .device_ops import DeviceOps
from .epochs import Epochs
from .executor_ops import ExecutorOps
from .introspection import PipelineStructure
from .iterators import DictIterator, TupleIterator
from .metadata import DatasetMetadata
from .order_ops import OrderOps
from .row_ops import RowOps
from .sequence_ops import SequenceOps
from .sync_ops import SyncOps
from .use_sampler import apply_sampler_to_concat

__all__ = ["WRITERS", "Dataset"]

# file type -> module and function (dataset, file_name, num_files) that writes it; the sources package fills this.
# The module is loaded when it is first needed.
WRITERS: dict[str, tuple[str, str]] = {}

Output = Literal["tensor", "numpy", "torch", "jax"]


@public("dataset")
@stable_id("dataset.Dataset")
class Dataset(
    RowOps,
    CacheOp,
    BatchOps,
    SequenceOps,
    OrderOps,
    ExecutorOps,
    SyncOps,
    DeviceOps,
    DatasetMetadata,
    PipelineStructure,
):
    """A lazy pipeline. Start with a source such as GeneratorDataset, chain ops, then iterate.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset(list(range(6)), shuffle=False).map(lambda x: x * 10).batch(3)
    >>> [row[0].tolist() for row in data]
    [[0, 10, 20], [30, 40, 50]]
    """

    def __init_subclass__(cls, *, stable_name: str | None = None, **options: Any) -> None:
        """Its id is ``dataset.name``; ``stable_name`` states the name for a class that was renamed."""
        super().__init_subclass__(**options)
        register(cls, "dataset", stable_name)

    def __init__(self) -> None:
        raise ArgumentTypeError("Dataset is made by its sources: GeneratorDataset, NumpySlicesDataset ...")

    def _identity(self) -> dict[str, Any]:
        """For fingerprints: a dataset in a closure of a user function is identified by its class."""
        return {}

    @checked
    def create_dict_iterator(
        self,
        num_epochs: Annotated[int, Range(-1, INT32_MAX)] = -1,
        output_numpy: bool = False,
        do_copy: bool = False,
        *,
        output: Output | None = None,
        state: Any = None,
    ) -> DictIterator:
        """Rows as dicts: Tensors, numpy arrays, or torch or jax arrays (``output="torch"``).

        Each ``for`` over the iterator is one epoch. ``state`` (from ``iterator.state()``) resumes exactly, also in the
        middle of an epoch and with another number of workers.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset({"x": [1, 2]}, shuffle=False)
        >>> list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
        [{'x': array(1)}, {'x': array(2)}]
        """
        return DictIterator(
            self, num_epochs, _output_format(output_numpy, output), _resolve_do_copy(do_copy), state
        )

    @checked
    def create_tuple_iterator(
        self,
        columns: Any = None,
        num_epochs: Annotated[int, Range(-1, INT32_MAX)] = -1,
        output_numpy: bool = False,
        do_copy: bool = False,
        *,
        output: Output | None = None,
        state: Any = None,
    ) -> TupleIterator:
        """Rows as lists, of all columns or of those named; otherwise as create_dict_iterator.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset({"x": [1, 2], "y": [3, 4]}, shuffle=False)
        >>> [row[0].item() for row in data.create_tuple_iterator(["y"], num_epochs=1)]
        [3, 4]
        """
        check_columns(columns, "column_names")
        output_format = _output_format(output_numpy, output)
        return TupleIterator(
            self, as_column_list(columns), num_epochs, output_format, _resolve_do_copy(do_copy), state
        )

    @checked
    def epochs(
        self,
        count: Annotated[int, Range(1, INT32_MAX)],
        *,
        as_dict: bool = False,
        output_numpy: bool = False,
        do_copy: bool = False,
        output: Output | None = None,
        state: Any = None,
    ) -> Epochs:
        """Iterate over epochs in one run: each epoch has another order and other random numbers.

        Rows are lists, or dicts with ``as_dict``. Leaving an epoch early ends it: the next one follows.
        ``epochs(...).state()`` is a small dict; ``epochs(count, state=...)`` resumes with exactly the next row.

        >>> import millrace.dataset as ds
        >>> ds.config.set_seed(1)
        >>> data = ds.NumpySlicesDataset(list(range(5)), shuffle=True)
        >>> for epoch, rows in enumerate(data.epochs(3)):
        ...     print(epoch, [row[0].item() for row in rows])
        0 [1, 0, 4, 3, 2]
        1 [0, 4, 2, 1, 3]
        2 [0, 2, 1, 3, 4]
        """
        output_format = _output_format(output_numpy, output)
        if as_dict:
            return Epochs(DictIterator(self, count, output_format, _resolve_do_copy(do_copy), state), count)
        return Epochs(
            TupleIterator(self, None, count, output_format, _resolve_do_copy(do_copy), state), count
        )

    def __iter__(self) -> Iterator[Any]:
        return self.create_tuple_iterator(num_epochs=1)

    @checked
    def save(
        self,
        file_name: str,
        num_files: int = 1,
        file_type: str = "mindrecord",
        *,
        checksums: bool = False,
    ) -> None:
        """Write all rows to files: ``mindrecord`` or ``tfrecord``.

        With ``checksums`` a file NAME.crc is written next to each MindRecord file, with which `millrace record verify`
        and `repair` check every row; TFRecord files always contain checksums.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset({"x": [1, 2, 3]}, shuffle=False).save("rows.mindrecord")
        >>> [
        ...     row["x"].item()
        ...     for row in ds.MindDataset("rows.mindrecord", shuffle=False).create_dict_iterator(1)
        ... ]
        [1, 2, 3]
        """
        if not 0 < num_files <= 1000:
            raise ArgumentValueError("num_files should between 0 and 1000.")
        if file_type not in WRITERS:
            raise ArgumentValueError(f"{file_type} dataset format is not supported.")
        module, function = WRITERS[file_type]
        options = {"checksums": True} if checksums and file_type == "mindrecord" else {}
        getattr(importlib.import_module(module), function)(self, file_name, num_files, **options)

    def reset(self) -> None:
        """Do nothing: each new iterator starts from the beginning (for compatibility with MindSpore's scripts).

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).reset()
        """

    def close_pool(self) -> None:
        """Close the workers of this dataset's last run; its iterator cannot continue afterwards.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3])
        >>> iterator = data.create_tuple_iterator()
        >>> _ = next(iterator)
        >>> data.close_pool()
        """
        for run in self._session.runs:
            run.close("close_pool() was called")

    def build_vocab(
        self, columns: Any, freq_range: Any, top_k: Any, special_tokens: Any, special_first: Any
    ) -> None:
        """Deprecated: use ``text.Vocab.from_dataset``. It only issues a warning.

        >>> import millrace.dataset as ds
        >>> import warnings
        >>> with warnings.catch_warnings(record=True, action="always") as said:
        ...     ds.NumpySlicesDataset(["a"]).build_vocab("a", None, None, None, None)
        >>> len(said)
        1
        """
        warnings.warn("use text.Vocab.from_dataset instead", DeprecationWarning, stacklevel=2)

    def build_sentencepiece_vocab(
        self, columns: Any, vocab_size: Any, character_coverage: Any, model_type: Any, params: Any
    ) -> None:
        """Deprecated: use ``text.SentencePieceVocab.from_dataset``. It only issues a warning.

        >>> import millrace.dataset as ds
        >>> import warnings
        >>> with warnings.catch_warnings(record=True, action="always") as said:
        ...     ds.NumpySlicesDataset(["a"]).build_sentencepiece_vocab("a", 9, 1.0, None, {})
        >>> len(said)
        1
        """
        warnings.warn("use text.SentencePieceVocab.from_dataset instead", DeprecationWarning, stacklevel=2)

    def use_sampler(self, new_sampler: Any) -> None:
        """Shard or shuffle a concatenation; other ops have no sampler.

        A DistributedSampler (with ``shuffle=False``) distributes the rows of all parts round robin over the shards,
        and repeats no row. It replaces the samplers of the sources, so that their rows are not shuffled; of
        record files each shard gets contiguous rows.

        >>> import millrace.dataset as ds
        >>> one, two = (ds.NumpySlicesDataset(rows, shuffle=False) for rows in ([1, 2, 3], [4, 5]))
        >>> both = one + two
        >>> both.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
        >>> [row[0].item() for row in both]
        [2, 4]
        """
        concat = self._session.node_before_sampler or self._node
        if not isinstance(concat, ops.Concat):
            raise PlanError("use_sampler works on a source or a concatenation, not on the result of an op")
        self._replace_node(apply_sampler_to_concat(concat, new_sampler))
        self._session.node_before_sampler = concat

    def __repr__(self) -> str:
        name = self._node.label if type(self) is Dataset else type(self).__name__
        return f"<{name}: {self.explain('as written').splitlines()[1].strip(' │')}>"


DatasetBase._dataset_class = Dataset
resolve_annotations(
    Dataset.create_dict_iterator, Dataset.create_tuple_iterator, Dataset.map, Dataset.batch, Dataset.shuffle
)


def _output_format(output_numpy: bool, output: str | None) -> str:
    return output or ("numpy" if output_numpy else "tensor")


def _resolve_do_copy(do_copy: bool) -> bool:
    return do_copy or settings.current().iterator_do_copy
