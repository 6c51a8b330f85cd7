"""GeneratorDataset: rows from any Python object."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from millrace.core.args import INT32_MAX, Columns, Range, as_list, check_type, checked
from millrace.core.build import RowsBuilder
from millrace.core.chunk import Column, as_value
from millrace.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace.core.log import warn_once
from millrace.core.order import Indices
from millrace.core.schema import ColumnType, Schema
from millrace.fluent.checks import Samples, Workers, count_parameters
from millrace.fluent.schema import Schema as PublicSchema
from millrace.fluent.source import SourceDataset
from millrace.plan import ops
from millrace.plan.node import call_site
from millrace.samplers import BuiltinSampler, Sampler

from .arguments import check_shards, choose_sampler
from .column_types import column_types as known_types

__all__ = ["GeneratorDataset"]

ONE_COLUMN = (int, float, str, bytes, np.ndarray, np.generic, dict)


class RowMaker:
    """Turns what a source gives for a row into one value per column."""

    def __init__(self, columns: list[str], types: list[npt.DTypeLike] | None, name: str) -> None:
        self.columns, self.types, self.name = columns, types, name

    def row(self, given: Any) -> tuple[Any, ...]:
        if type(given) is not tuple:
            if isinstance(given, ONE_COLUMN) or hasattr(given, "asnumpy") or hasattr(given, "getbands"):
                given = (given,)
            elif hasattr(given, "__iter__"):
                given = tuple(given)
            else:
                given = (given,)
        if len(given) != len(self.columns):
            raise TypeError(
                f"Invalid Python function, the 'source' of '{self.name}' should return same number of NumPy arrays "
                f"as specified in column_names, the size of column_names is:{len(self.columns)} and number of "
                f"returned NumPy array is:{len(given)}"
            )
        return given

    def check(self, columns: dict[str, Column]) -> dict[str, Column]:
        """The columns, if they have the types that the user declared."""
        for (name, column), wanted in zip(columns.items(), self.types or (), strict=False):
            for value in [column] if isinstance(column, np.ndarray) else column:
                self._check_type(name, value, np.dtype(wanted))
        return columns

    def _check_type(self, name: str, value: Any, wanted: np.dtype[Any]) -> None:
        got = getattr(value, "dtype", None)
        if got is None or (got != wanted and not (got.kind == wanted.kind and got.kind in "US")):
            raise TypeError(
                f"Invalid Python function, type of returned data in '{self.name}' should be same with specified "
                f"column_types, but the type of returned data: {type(value)}, specified column type: {wanted};"
                f" column {name!r} is {got}"
            )


class UserReader:
    """Random access to a user's object; the engine owns each value before the next row is read."""

    def __init__(self, source: UserSource) -> None:
        self.getitem = source.source.__getitem__
        self.maker = source.maker

    def read(self, indices: Indices) -> dict[str, Column]:
        maker, getitem, index = self.maker, self.getitem, -1
        width = len(maker.columns)
        builder = RowsBuilder(maker.columns, len(indices))
        try:
            for index in indices.tolist():
                row = getitem(index)
                if type(row) is not tuple or len(row) != width:
                    row = maker.row(row)
                builder.add(row)
        except Exception as error:
            error.row_index = index  # type: ignore[attr-defined]
            raise
        return maker.check(builder.finish())

    def close(self) -> None: ...


class UserStream:
    """One pass over a user's iterable, again for each epoch."""

    def __init__(self, source: UserSource) -> None:
        self.source = source

    def rows(self, epoch: int) -> Iterator[tuple[Any, ...]]:
        row = self.source.maker.row
        for given in self.source.iterate():
            yield row(given)

    def close(self) -> None: ...


class UserSource:
    """The plan's description of a user's object."""

    heavy = False

    def __init__(
        self, name: str, source: Any, schema: Schema, types: list[npt.DTypeLike] | None, processes: bool, limit: int | None
    ) -> None:
        self.name, self.source, self.limit = name, source, limit
        self._schema = schema
        self.random_access = hasattr(source, "__getitem__")
        self.exclusive = not processes
        self.wish = "processes" if processes and self.random_access else "threads"
        self.maker = RowMaker(list(schema), types, name)
        self._kept: list[Any] | None = None

    def schema(self) -> Schema:
        return self._schema

    def size(self) -> int | None:
        if not self.random_access:
            return None
        if not hasattr(self.source, "__len__"):
            raise PlanError("Attempt to construct a random access dataset, '__len__' method is required!")
        size = len(self.source)
        if size == 0:
            raise PlanError("GeneratorNode: data row of input source must not be 0, got: 0")
        return size

    def iterate(self) -> Iterator[Any]:
        """A fresh pass over a one-pass source, cut to num_samples."""
        source = self.source
        if hasattr(source, "__next__"):
            iterator = self._replayed()
        elif hasattr(source, "__iter__"):
            iterator = iter(source)
        else:
            iterator = iter(source())
        return itertools.islice(iterator, self.limit) if self.limit else iterator

    def _replayed(self) -> Iterator[Any]:
        """An iterator object can be read once only, so its rows are kept for later epochs."""
        if self._kept is None:
            self._kept = []
            warn_once(
                f"iterator-kept-{id(self)}",
                f"{self.name} was given an iterator, which can be read only once: its rows are kept in memory for "
                "later epochs. Pass a function that makes the iterator, or an iterable object, to avoid that.",
            )
        yield from self._kept
        for row in self.source:
            self._kept.append(row)
            yield row

    def open(self) -> Any:
        return UserReader(self) if self.random_access else UserStream(self)

    def labels(self, column: str) -> npt.NDArray[Any]:
        """``get_label(index)`` of the user's object, or the label column of every row."""
        size = self.size() or 0
        get_label = getattr(self.source, "get_label", None)
        if get_label is not None:
            return np.asarray([np.asarray(as_value(get_label(i))).item() for i in range(size)])
        if column not in self._schema:
            raise PlanError(
                f"PKSampler needs the class of every row: {self.name} has no column {column!r} (columns: "
                f"{list(self._schema)}) and its source no method get_label(index). Name the label column with "
                "PKSampler(class_column=...), or add get_label, which is faster because no row is read."
            )
        values = self.open().read(np.arange(size, dtype=np.int64))[column]
        return np.asarray([np.asarray(value).item() for value in values])

    def where(self, index: int) -> str | None:
        """``get_path(index)`` or ``files[index]`` of the user's object, when it has one."""
        get_path = getattr(self.source, "get_path", None)
        if get_path is not None:
            return str(get_path(index))
        for name in ("files", "paths", "samples", "imgs"):
            listed = getattr(self.source, name, None)
            if isinstance(listed, (list, tuple)) and index < len(listed):
                entry = listed[index]
                entry = entry[0] if isinstance(entry, tuple) and entry else entry
                return str(entry) if isinstance(entry, str) or hasattr(entry, "__fspath__") else None
        return None

    def arguments(self) -> dict[str, Any]:
        return {}


class GeneratorDataset(SourceDataset):
    """Rows from a Python object: with ``__getitem__`` and ``__len__`` (read in any order, by many workers), or an
    iterable, an iterator, or a function that returns one (read in one pass).

    A row is a tuple with one value per column. ``sampler`` may be any sampler, PKSampler included (classes come
    from the label column or from ``source.get_label(index)``), a list, or an iterable of row numbers;
    ``batch_sampler`` gives lists of row numbers, which ``collate_fn`` may put together.

    >>> import millrace.dataset as ds
    >>> class Squares:
    ...     def __getitem__(self, i): return i, i * i
    ...     def __len__(self): return 4
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
        num_samples: Annotated[int | None, Samples] = None,
        num_parallel_workers: Annotated[int | None, Workers] = 1,
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
                "Input `source` function of GeneratorDataset should be callable, iterable or random accessible, "
                "commonly it should implement one of the method like yield, __getitem__ or __next__(__iter__)."
            )
        columns, types = _columns_and_types(column_names, column_types, schema)
        check_shards(num_shards, shard_id)
        random_access = hasattr(source, "__getitem__")
        _check_sampling(
            random_access, sampler, batch_sampler, collate_fn, num_samples, shuffle, num_shards, shard_id
        )
        workers = num_parallel_workers or 1
        kinds: dict[str, ColumnType] = {name: ColumnType() for name in columns}
        if types is not None:
            kinds = {name: ColumnType(np.dtype(t)) for name, t in zip(columns, types, strict=False)}
        described = UserSource(
            self._name,
            source,
            Schema(kinds),
            types,
            processes=python_multiprocessing and workers > 1,
            limit=None if random_access else (num_samples or None),
        )
        explicit = workers if workers > 1 else None
        if batch_sampler is not None:
            self._start_batches(described, batch_sampler, collate_fn, explicit, columns)
            return
        chosen = None
        if random_access:
            chosen = choose_sampler(sampler, num_samples, shuffle, num_shards, shard_id)
        self._start(described, chosen, explicit)
        if not random_access:
            self._stream_options(shuffle, num_shards, shard_id)

    def _stream_options(self, shuffle: bool | None, num_shards: int | None, shard_id: int | None) -> None:
        """A stream cannot be read in another order; what can be done with it, is done, and said."""
        if num_shards is not None and shard_id is not None:
            self._node = ops.Deal(
                inputs=(self._node,), shards=num_shards, shard=shard_id, even=True, where=call_site()
            )
        if shuffle:
            warn_once(
                "stream-shuffle",
                "shuffle=True on a source that is read in one pass (no __getitem__) shuffles within a window of "
                f"{STREAM_WINDOW} rows; give the source __getitem__ and __len__ for a full shuffle, or use "
                ".shuffle(buffer_size) to choose the window (said once)",
            )
            self._node = ops.Shuffle(inputs=(self._node,), buffer_size=STREAM_WINDOW, where=call_site())

    def _start_batches(
        self, source: UserSource, batch_sampler: Any, collate_fn: Any, workers: int | None, columns: list[str]
    ) -> None:
        self._start(source, None, workers)
        read = self._read.replace(batch_sampler=batch_sampler)
        collate = None if collate_fn is None else _Collate(collate_fn, len(columns))
        self._node = ops.Batch(
            inputs=(read,), batch_size=-1, per_batch_map=collate, whole=True, where=call_site()
        )

    def __getitem__(self, index: Any) -> Any:
        """The row at a position of the dataset's order, as the source gives it.

        >>> import millrace.dataset as ds
        >>> ds.GeneratorDataset(["a", "b"], "x", shuffle=False)[1]
        'b'
        """
        check_type(index, (int, np.number), "index")
        if not isinstance(self._node, ops.Read):
            raise PlanError("GeneratorDataset with batch_sampler does not support random access.")
        source = self._read.source
        if not source.random_access:
            raise PlanError("Dataset don't support randomized access.")
        from millrace.engine.stages.indices import order_of

        order = order_of(self._read, self._plan().seed, 0)
        if not 0 <= index < order.size:
            raise PlanError(f"Index [{index}] exceeded the number of data samples.")
        assert isinstance(source, UserSource)
        return source.source[int(order.at(int(index), int(index) + 1)[0])]


STREAM_WINDOW = 1024


class _Collate:
    """A collate function as a per_batch_map: one list per column, or (torch's way) one list of rows."""

    def __init__(self, function: Callable[..., Any], columns: int) -> None:
        self.function = function
        self.by_rows = columns > 1 and count_parameters(function) == 1

    def __call__(self, *lists_and_info: Any) -> Any:
        lists = lists_and_info[:-1]
        made = self.function(list(zip(*lists, strict=True))) if self.by_rows else self.function(*lists)
        return tuple(made) if isinstance(made, list) and len(lists) > 1 and len(made) == len(lists) else made


def _columns_and_types(
    column_names: Any, column_types: list[Any] | None, schema: Any
) -> tuple[list[str], list[Any] | None]:
    names = as_list(column_names)
    if names is None and schema is None:
        raise ArgumentValueError("Neither columns_names nor schema are provided.")
    if schema is not None:
        if isinstance(schema, str):
            schema = PublicSchema(schema)
        if not isinstance(schema, PublicSchema):
            raise ArgumentValueError("schema should be a path to schema file or a schema object.")
        described = [(column["name"], column["type"]) for column in schema.columns]
        return [name for name, _ in described], known_types([kind for _, kind in described])
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
    others = (num_samples, shuffle, num_shards, shard_id, sampler)
    if sampler is not None and not (hasattr(sampler, "__iter__") or hasattr(sampler, "__getitem__")):
        if not hasattr(sampler, "add_child"):
            raise ArgumentTypeError("sampler should be either iterable or from mindspore.dataset.samplers.")
    if batch_sampler is not None:
        if any(value is not None for value in others):
            raise ArgumentValueError(
                "batch_sampler is mutually exclusive with num_samples, shuffle, num_shards, shard_id and sampler."
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


