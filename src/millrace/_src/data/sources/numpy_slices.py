"""``NumpySlicesDataset``: rows are slices of arrays along the first axis."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import Columns, as_column_list, check_type, checked, resolve_annotations
from millrace._src.core.errors import ArgumentValueError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column, normalize_value
from millrace._src.core.values.columns import StringColumn
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.pipeline.argument_types import NumSamples, NumWorkers
from millrace._src.data.pipeline.source_dataset import SourceDataset
from millrace._src.data.sources.source_traits import SourceTraits

from .base.sampler_arguments import NO_ROWS, check_shards, resolve_sampler

__all__ = ["ArraySource", "NumpySlicesDataset"]


class ArraySource(SourceTraits):
    """Arrays in memory. A block of rows is one gather per column, without Python objects per row.

    Rows of different shapes, or of Python objects, stay a list with a value per row.
    """

    # MindSpore implements it as a GeneratorDataset, which its JSON shows
    json_name = "GeneratorDataset"

    def __init__(self, name: str, arrays: dict[str, Column]) -> None:
        self.name, self.arrays = name, arrays

    def schema(self) -> Schema:
        types = {name: ColumnType() for name in self.arrays}
        known = {n: a for n, a in self.arrays.items() if isinstance(a, np.ndarray)}
        return Schema(types | {n: ColumnType(a.dtype, a.shape[1:]) for n, a in known.items()})

    def size(self) -> int:
        size = len(next(iter(self.arrays.values())))
        if size == 0:
            raise PlanError(NO_ROWS)
        return size

    def open(self) -> ArraySource:
        return self

    def read(self, indices: Indices) -> dict[str, Column]:
        start, n = int(indices[0]), len(indices)
        contiguous = int(indices[-1]) - start == n - 1 and (n < 3 or bool((np.diff(indices) == 1).all()))
        columns: dict[str, Column] = {}
        for name, array in self.arrays.items():
            if not isinstance(array, np.ndarray):
                columns[name] = [normalize_value(array[i]) for i in indices.tolist()]
            elif array.dtype.kind == "U" and array.ndim == 1:
                columns[name] = StringColumn.of(array[indices].tolist())
            elif array.dtype.kind in "US":  # each row has the width of its own text, not of the longest text
                type_char = array.dtype.char  # an empty text has no width, so the dtype is explicit
                columns[name] = [np.array(text, type_char) for text in array[indices].tolist()]
            else:
                columns[name] = (
                    array[start : start + n].copy() if contiguous else np.take(array, indices, axis=0)
                )
        return columns

    def close(self) -> None: ...

    def labels(self, column: str) -> npt.NDArray[Any]:
        if column not in self.arrays:
            raise PlanError(
                f"PKSampler needs the class of every row: there is no column {column!r}, the columns are "
                f"{list(self.arrays)}; name one with PKSampler(class_column=...)"
            )
        return np.asarray(self.arrays[column])

    def row_location(self, index: int) -> str | None:
        return None

    def arguments(self) -> dict[str, Any]:
        return {}

    def _identity(self) -> dict[str, Any]:
        return {
            "columns": {
                name: [column_type.dtype, column_type.shape] for name, column_type in self.schema().items()
            }
        }

    def contents(self) -> dict[str, Column]:
        return self.arrays


@public("dataset")
class NumpySlicesDataset(SourceDataset):
    """Rows from arrays, lists or dicts of them: row i holds element i of each column.

    >>> import numpy as np
    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset({"x": np.eye(2), "y": [0, 1]}, shuffle=False)
    >>> [row["x"].tolist() for row in data.create_dict_iterator(num_epochs=1)]
    [[1.0, 0.0], [0.0, 1.0]]
    """

    @checked
    def __init__(
        self,
        data: list[Any] | tuple[Any, ...] | dict[Any, Any] | np.ndarray,
        column_names: Columns | None = None,
        num_samples: Annotated[int | None, NumSamples] = None,
        num_parallel_workers: Annotated[int | None, NumWorkers] = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        if len(data) == 0:
            raise ArgumentValueError("Argument data cannot be empty")
        arrays = _arrays(data, as_column_list(column_names))
        if len({len(array) for array in arrays.values()}) != 1:
            raise ArgumentValueError("Data length in each column is not equal.")
        check_shards(num_shards, shard_id)
        chosen = resolve_sampler(sampler, num_samples, shuffle, num_shards, shard_id)
        workers = num_parallel_workers if num_parallel_workers and num_parallel_workers > 1 else None
        self._init_source(ArraySource("NumpySlicesDataset", arrays), chosen, workers)

    def __getitem__(self, index: Any) -> Any:
        """The row at a position of the dataset's order, one value per column.

        >>> import millrace.dataset as ds
        >>> [value.item() for value in ds.NumpySlicesDataset({"x": [1, 2], "y": [3, 4]}, shuffle=False)[1]]
        [2, 4]
        """
        row = self._row_at(index)
        source = self._source
        assert isinstance(source, ArraySource)
        return tuple(array[row] for array in source.arrays.values())


resolve_annotations(NumpySlicesDataset.__init__)


def _arrays(data: Any, names: list[str] | None) -> dict[str, Column]:
    columns: list[Any]
    if isinstance(data, dict):
        columns = list(data.values())
        if names is not None and len(names) != len(columns):
            raise ArgumentValueError(
                f"Num of input column names is {len(names)}, but required is {len(columns)}."
            )
        names = names or [str(name) for name in data]
    elif isinstance(data, tuple):
        for i, column in enumerate(data):
            check_type(column, (list, np.ndarray), f"data[{i}]")
        columns = list(data)
        if names is not None and len(names) != len(columns):
            raise ArgumentValueError(
                f"Num of input column names is {len(names)}, but required is {len(columns)}."
            )
        names = names or [f"column_{i}" for i in range(len(columns))]
    else:
        columns = [data]
        if names is not None and len(names) != 1:
            raise ArgumentValueError(
                f"Num of input column names is {len(names)}, but required is 1 as data is list."
            )
        names = names or ["column_0"]
    return {name: _as_column(column) for name, column in zip(names, columns, strict=True)}


def _as_column(data: Any) -> Column:
    try:
        array = np.asarray(data)
    except ValueError:  # rows of different shapes
        return list(data)
    return list(data) if array.dtype.kind == "O" else array
