"""Source over a user's Python object: random access or one pass."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import PlanError
from millrace._src.core.random.permutation import Indices
from millrace._src.core.random.rng import RandomStream, rng_parameter_index, with_rng
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.batch_buffers import ChunkBufferPool
from millrace._src.core.values.chunk import Column, normalize_value
from millrace._src.core.values.chunk_builder import ChunkBuilder
from millrace._src.core.values.schema import Schema
from millrace._src.data.sources.source_traits import SourceTraits, with_current_names

from .sampler_arguments import NO_ROWS

__all__ = ["PythonSource", "can_be_read_once", "is_random_access"]

# Rows per read for labels.
LABEL_ROWS = 64

ONE_COLUMN = (int, float, str, bytes, np.ndarray, np.generic, dict)


class RowConverter:
    """Converter from the row of a user's object to one value per column."""

    def __init__(self, columns: list[str], types: list[npt.DTypeLike] | None, name: str) -> None:
        self.columns, self.types, self.name = columns, types, name

    def row(self, row: Any) -> tuple[Any, ...]:
        if type(row) is not tuple:
            # tensors of any library and Pillow images are one value although they are iterable
            if isinstance(row, ONE_COLUMN) or hasattr(row, "__array__") or hasattr(row, "getbands"):
                row = (row,)
            elif hasattr(row, "__iter__"):
                row = tuple(row)
            else:
                row = (row,)
        if len(row) != len(self.columns):
            raise TypeError(
                f"Invalid Python function, the 'source' of '{self.name}' should return same number of NumPy "
                f"arrays as specified in column_names, the size of column_names is:{len(self.columns)} and "
                f"number of returned NumPy array is:{len(row)}"
            )
        return row

    def check(self, columns: dict[str, Column]) -> dict[str, Column]:
        """Check that the columns have the declared types."""
        for (name, column), wanted in zip(columns.items(), self.types or (), strict=False):
            for value in [column] if isinstance(column, np.ndarray) else column:
                self._check_type(name, value, np.dtype(wanted))
        return columns

    def check_row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Check that the values of a row have the declared types."""
        values = tuple([normalize_value(value) for value in row])
        for name, value, wanted in zip(self.columns, values, self.types or (), strict=False):
            self._check_type(name, value, np.dtype(wanted))
        return values

    def _check_type(self, name: str, value: Any, wanted: np.dtype[Any]) -> None:
        got = getattr(value, "dtype", None)
        if got is None or (got != wanted and not (got.kind == wanted.kind and got.kind in "US")):
            raise TypeError(
                f"Invalid Python function, type of returned data in '{self.name}' should be same with "
                f"specified column_types, but the type of returned data: {type(value)}, specified column "
                f"type: {wanted}; column {name!r} is {got}"
            )


class PythonReader:
    """Random access to a user's object; each value is copied before the next row is read."""

    def __init__(self, source: PythonSource) -> None:
        self.getitem = source.source.__getitem__
        self.converter = source.converter
        self.passing = ChunkBufferPool()
        # whether __getitem__ has a parameter rng
        self.wants_rng = source.wants_rng
        # rows need neither random numbers nor type checks
        self.plain = not self.wants_rng and not source.converter.types

    def read(self, indices: Indices, random_stream: RandomStream | None = None) -> dict[str, Column]:
        converter = self.converter
        builder = ChunkBuilder(converter.columns, len(indices), passing=self.passing)
        rows: Iterable[Any]
        if random_stream is None:
            rows = map(self.getitem, indices.tolist())
        else:
            rows = map(with_rng(self.getitem, random_stream), range(len(indices)), indices.tolist())
        try:
            builder.extend(rows, converter.row)
            self.check_end(builder.count, len(indices))
        except Exception as error:
            error.row_index = int(indices[builder.count])  # type: ignore[attr-defined]
            raise
        return converter.check(builder.finish())

    def check_end(self, came: int, wanted: int) -> None:
        """Detect a StopIteration of ``__getitem__``, which ends the loop over the rows silently."""
        if came < wanted:
            raise RuntimeError(
                "__getitem__ raised StopIteration. Raise IndexError for a row that does not exist, and return the "
                "number of rows from __len__"
            )

    def close(self) -> None: ...


class PythonStream:
    """One pass over a user's iterable per epoch."""

    def __init__(self, source: PythonSource) -> None:
        self.source = source
        # whether the row function has a parameter rng
        self.wants_rng = source.wants_rng

    def rows(self, epoch: int, random_stream: RandomStream | None = None) -> Iterator[Any]:
        # only this pass is closed at the end of an epoch, not the user's object
        for row in self.source.iterate(random_stream):  # noqa: UP028  ("yield from" would close it)
            yield row

    def make(self, value: Any) -> tuple[Any, ...]:
        converter = self.source.converter
        row = converter.row(value)
        return converter.check_row(row) if converter.types else row

    def close(self) -> None: ...


def is_random_access(source: Any) -> bool:
    """Whether rows are accessible by number; a class counts as a function that returns an iterable."""
    return hasattr(source, "__getitem__") and not inspect.isclass(source)


def can_be_read_once(source: Any) -> bool:
    """Whether it is a generator or built-in iterator; a user's iterator class restarts in ``__iter__``."""
    if not hasattr(source, "__next__"):
        return False
    return not hasattr(source, "__iter__") or type(source).__module__ in ("builtins", "itertools")


# Names that attributes have in pickles of version 0.2.0.
_NAMES_0_2_0 = {
    "maker": "converter",
    "readers": "max_readers",
    "_kept": "_cached_rows",
    "_over": "_exhausted",
}


@stable_id("source.UserSource")
class PythonSource(SourceTraits):
    """Source of the plan for a user's Python object."""

    user_code = True

    def __init__(
        self,
        name: str,
        source: Any,
        schema: Schema,
        types: list[npt.DTypeLike] | None,
        processes: bool,
        readers: int,
        limit: int | None,
    ) -> None:
        self.name, self.source, self.limit = name, source, limit
        self._schema = schema
        self.random_access = is_random_access(source)
        self.max_readers = None if processes else readers
        self.processes = processes and self.random_access
        self.converter = RowConverter(list(schema), types, name)
        self._cached_rows: list[Any] = []
        self._exhausted = False
        self._lock = threading.Lock()
        self._labels: dict[str, npt.NDArray[Any]] = {}

    @property
    def wants_rng(self) -> bool:
        """Whether the row function has a parameter ``rng`` for random numbers."""
        if self.random_access:
            return rng_parameter_index(self.source.__getitem__) is not None
        return self.is_function and rng_parameter_index(self.source) is not None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(with_current_names(state, _NAMES_0_2_0), _lock=threading.Lock())

    def schema(self) -> Schema:
        return self._schema

    def size(self) -> int | None:
        if not self.random_access:
            return None
        if not hasattr(self.source, "__len__"):
            raise PlanError("Attempt to construct a random access dataset, '__len__' method is required!")
        size = len(self.source)
        if size == 0:
            raise PlanError(NO_ROWS)
        return size

    @property
    def is_function(self) -> bool:
        """Whether the source is called for each epoch and its result is iterated."""
        source = self.source
        return inspect.isclass(source) or not (hasattr(source, "__iter__") or hasattr(source, "__next__"))

    def iterate(self, random_stream: RandomStream | None = None) -> Iterator[Any]:
        """A new pass over an iterable source, limited to num_samples."""
        source = self.source
        if self.is_function:
            iterator = iter(source() if random_stream is None else with_rng(source, random_stream)(0))
        elif can_be_read_once(source):
            iterator = self._iterate_cached()
        else:
            iterator = iter(source)
        return itertools.islice(iterator, self.limit) if self.limit else iterator

    def _iterate_cached(self) -> Iterator[Any]:
        """Iterate over an iterator object; copies of its rows are kept for later epochs."""
        for i in itertools.count():
            with self._lock:  # two runs may iterate concurrently
                if i == len(self._cached_rows):
                    if self._exhausted:
                        return
                    try:
                        self._cached_rows.append(copy.deepcopy(next(self.source)))
                    except StopIteration:
                        self._exhausted = True  # some iterators would restart at the next call
                        return
            yield self._cached_rows[i]

    def open(self) -> Any:
        return PythonReader(self) if self.random_access else PythonStream(self)

    def labels(self, column: str) -> npt.NDArray[Any]:
        """``get_label(index)`` of the user's object, or the label column of every row; computed once."""
        if column not in self._labels:
            self._labels[column] = np.asarray(
                [np.asarray(label).item() for label in self._find_labels(column)]
            )
        return self._labels[column]

    def _find_labels(self, column: str) -> Iterator[Any]:
        size = self.size() or 0
        get_label = getattr(self.source, "get_label", None)
        if get_label is not None:
            yield from (normalize_value(get_label(i)) for i in range(size))
            return
        if column not in self._schema:
            raise PlanError(
                f"PKSampler needs the class of every row: {self.name} has no column {column!r} (columns: "
                f"{list(self._schema)}) and its source no method get_label(index). Name the label column "
                "with PKSampler(class_column=...), or add get_label, which is faster because no row is read."
            )
        reader = self.open()
        for start in range(0, size, LABEL_ROWS):
            yield from reader.read(np.arange(start, min(start + LABEL_ROWS, size)))[column]

    def row_location(self, index: int) -> str | None:
        """``get_path(index)`` or ``files[index]`` of the user's object, if it has one."""
        get_path = getattr(self.source, "get_path", None)
        if get_path is not None:
            return str(get_path(index))
        if not self.random_access:
            return None  # the files of a stream do not correspond to rows
        for name in ("files", "paths", "samples", "imgs"):
            listed = getattr(self.source, name, None)
            if isinstance(listed, (list, tuple)) and index < len(listed):
                entry = listed[index]
                entry = entry[0] if isinstance(entry, tuple) and entry else entry
                return str(entry) if isinstance(entry, str) or hasattr(entry, "__fspath__") else None
        return None

    def arguments(self) -> dict[str, Any]:
        return {}

    def _identity(self) -> dict[str, Any]:
        """The user's function, or the class of the user's object, whose state may change while it is read."""
        source = self.source
        is_definition = (
            inspect.isroutine(source) or inspect.isclass(source) or isinstance(source, functools.partial)
        )
        definition = source if is_definition else type(source)
        return {
            "source": definition,
            "columns": list(self._schema),
            "types": self.converter.types,
            "limit": self.limit,
        }

    def contents(self) -> Any:
        return self.source
