"""``GeneratorDataset``: rows from any Python object."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import INT32_MAX, Columns, Range, as_column_list, checked, resolve_annotations
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.log import warn_once
from millrace._src.core.public import public
from millrace._src.core.random.rng import rng_parameter_index, with_rng
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.pipeline.argument_types import NumSamples, NumWorkers
from millrace._src.data.pipeline.schema import Schema as PublicSchema
from millrace._src.data.pipeline.source_dataset import SourceDataset
from millrace._src.data.samplers import BuiltinSampler, Sampler

from .base.argument_types import column_types as known_types
from .base.batch_sampler import BatchSamplerAdapter, CollateFunction
from .base.python_source import PythonSource, can_be_read_once, is_random_access
from .base.sampler_arguments import check_shards, resolve_sampler

__all__ = ["GeneratorDataset"]

ITERATOR_KEPT = (
    "GeneratorDataset was given an iterator, which can be read only once: its rows are kept in memory for later "
    "epochs. Pass a function that returns the iterator, or an iterable object, instead (logged once)"
)


@public("dataset")
class GeneratorDataset(SourceDataset):
    """Rows from any Python object.

    An object with ``__getitem__`` and ``__len__`` is read in any order by many workers. An iterable, an iterator, or a
    function that returns one is read in one pass.

    ``num_parallel_workers=1``, the default, reads one row at a time. With more workers, each worker process has a copy
    of the object. With ``python_multiprocessing=False``, threads call its ``__getitem__`` concurrently, which must then
    be thread-safe: no file handle, cursor or buffer that two calls share. Rows keep their order in both cases.

    A ``__getitem__(self, index, rng)`` receives a numpy generator for its row and epoch, a function ``rows(rng)`` one
    for the epoch. The random numbers are the same for any number of workers and after a resume.

    A row is a tuple with one value per column. ``sampler`` may be any sampler, PKSampler included (classes
    come from the label column or from ``source.get_label(index)``), a list, or an iterable of row numbers.
    ``batch_sampler`` yields lists of row numbers. ``collate_fn`` combines their rows: it receives one list per column
    or, if it takes one argument for several columns, one list of rows as in PyTorch.

    >>> import millrace.dataset as ds
    >>> class Squares:
    ...     def __getitem__(self, i):
    ...         return i, i * i
    ...
    ...     def __len__(self):
    ...         return 4
    >>> data = ds.GeneratorDataset(Squares(), ["x", "square"], shuffle=False)
    >>> [row["square"].item() for row in data.create_dict_iterator(num_epochs=1)]
    [0, 1, 4, 9]
    """

    _name = "GeneratorDataset"

    @checked
    def __init__(
        self,
        source: Any,
        column_names: Columns | None = None,
        column_types: list[Any] | None = None,
        schema: Any = None,
        num_samples: Annotated[int | None, NumSamples] = None,
        num_parallel_workers: Annotated[int | None, NumWorkers] = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: Annotated[int | None, Range(-1, INT32_MAX)] = None,
        batch_sampler: Any = None,
        collate_fn: Any = None,
    ) -> None:
        if not any(hasattr(source, name) for name in ("__getitem__", "__iter__", "__next__", "__call__")):
            raise ArgumentTypeError(
                "Input `source` function of GeneratorDataset should be callable, iterable or random "
                "accessible, commonly it should implement one of the method like yield, __getitem__ or "
                "__next__(__iter__)."
            )
        columns, types = _columns_and_types(column_names, column_types, schema)
        check_shards(num_shards, shard_id)
        random_access = is_random_access(source)
        _check_sampling(
            random_access, sampler, batch_sampler, collate_fn, num_samples, shuffle, num_shards, shard_id
        )
        workers = num_parallel_workers or 1
        schema_types: dict[str, ColumnType] = {name: ColumnType() for name in columns}
        if types is not None:
            schema_types = {name: ColumnType(np.dtype(t)) for name, t in zip(columns, types, strict=False)}
        plan_source = PythonSource(
            self._name,
            source,
            Schema(schema_types),
            types,
            processes=python_multiprocessing and workers > 1,
            readers=workers,
            limit=None if random_access else (num_samples or None),
        )
        explicit = workers if workers > 1 else None
        if batch_sampler is not None:
            collate = None if collate_fn is None else CollateFunction(collate_fn, columns)
            self._start_batches(
                plan_source, BatchSamplerAdapter(batch_sampler, plan_source.size), collate, explicit
            )
        elif random_access:
            chosen = resolve_sampler(sampler, num_samples, shuffle, num_shards, shard_id)
            self._init_source(plan_source, chosen, explicit)
        else:
            if can_be_read_once(source) and not inspect.isclass(source):
                warn_once("iterator-kept", ITERATOR_KEPT, stacklevel=4)
            self._init_source(plan_source, None, explicit)
            if num_shards is not None and shard_id is not None:
                self._shard(num_shards, shard_id)
            if shuffle:
                self._shuffle_stream()

    @property
    def source(self) -> Any:
        """The Python object of the rows, as passed to the constructor.

        >>> import millrace.dataset as ds
        >>> ds.GeneratorDataset(["a", "b"], "x").source
        ['a', 'b']
        """
        return self._user_source.source

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, as passed to the constructor.

        >>> import millrace.dataset as ds
        >>> ds.GeneratorDataset(["a", "b"], "x").column_names
        ['x']
        """
        return list(self._user_source.schema())

    @property
    def _user_source(self) -> PythonSource:
        source = self._source
        assert isinstance(source, PythonSource)
        return source

    def __getitem__(self, index: Any) -> Any:
        """The row at a position of the dataset's order, as the source returns it.

        >>> import millrace.dataset as ds
        >>> ds.GeneratorDataset(["a", "b"], "x", shuffle=False)[1]
        'b'
        """
        row = self._row_at(index)
        if rng_parameter_index(self.source.__getitem__) is None:
            return self.source[row]
        return with_rng(self.source.__getitem__, self._random_for_row(row))(0, row)


resolve_annotations(GeneratorDataset.__init__)


def _columns_and_types(
    column_names: Any, column_types: list[Any] | None, schema: Any
) -> tuple[list[str], list[Any] | None]:
    names = as_column_list(column_names)
    if names is None and schema is None:
        raise ArgumentValueError("Neither columns_names nor schema are provided.")
    if schema is not None:
        if isinstance(schema, str):
            schema = PublicSchema(schema)
        if not isinstance(schema, PublicSchema):
            raise ArgumentValueError("schema should be a path to schema file or a schema object.")
        described = [(column["name"], column["type"]) for column in schema.columns]
        return [name for name, _ in described], known_types([type_ for _, type_ in described])
    assert names is not None
    return names, None if column_types is None else known_types(column_types)


def _check_sampling(
    random_access: bool,
    sampler: Any,
    batch_sampler: Any,
    collate_fn: Any,
    num_samples: int | None,
    shuffle: bool | None,
    num_shards: int | None,
    shard_id: int | None,
) -> None:
    arguments = (num_samples, shuffle, num_shards, shard_id, sampler)
    ways = ("__iter__", "__getitem__", "add_child")
    if sampler is not None and not any(hasattr(sampler, name) for name in ways):
        raise ArgumentTypeError("sampler should be either iterable or from mindspore.dataset.samplers.")
    if batch_sampler is not None:
        if any(value is not None for value in arguments):
            raise ArgumentValueError(
                "batch_sampler is mutually exclusive with num_samples, shuffle, num_shards, shard_id and "
                "sampler."
            )
        if isinstance(batch_sampler, BuiltinSampler) and not isinstance(batch_sampler, Sampler):
            raise PlanError("Batch sampler of GeneratorDataset should be a Python sampler.")
        if not (hasattr(batch_sampler, "__getitem__") or hasattr(batch_sampler, "__iter__")):
            raise ArgumentTypeError("batch_sampler should have __getitem__ or __iter__ method.")
    if collate_fn is not None:
        if batch_sampler is None:
            raise ArgumentValueError("collate_fn can be specified only when batch_sampler is set.")
        if not callable(collate_fn):
            raise ArgumentTypeError("collate_fn should be callable.")
    if not random_access:
        for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise ArgumentValueError(
                    f"{name} is not supported if source does not have attribute '__getitem__'."
                )
