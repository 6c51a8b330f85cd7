"""``HuggingFaceDataset``: a Hugging Face ``datasets.Dataset``."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import Columns, as_column_list
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import ColumnType
from millrace._src.data.formats.column_readers import ColumnReader
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import ColumnTable, TableDataset

__all__ = ["HuggingFaceDataset"]


@public("dataset")
class HuggingFaceDataset(TableDataset):
    """The rows of a Hugging Face ``Dataset``, read in blocks as numpy arrays; images are decoded to pixels.

    The ``datasets`` library is not imported. ``columns`` selects columns. Use TorchDataset for a streamed dataset
    (``IterableDataset``).

    >>> import millrace.dataset as ds
    >>> class Two:  # stands in for datasets.Dataset.from_dict({"x": [1, 2]})
    ...     column_names = ["x"]
    ...
    ...     def with_format(self, type, columns):
    ...         return self
    ...
    ...     def __len__(self):
    ...         return 2
    ...
    ...     def __getitem__(self, rows):
    ...         return {"x": np.array([1, 2])[rows]}
    >>> [
    ...     row["x"].item()
    ...     for row in ds.HuggingFaceDataset(Two(), shuffle=False).create_dict_iterator(num_epochs=1)
    ... ]
    [1, 2]
    """

    @with_common_arguments(RowOptions, without=("cache",))
    def __init__(
        self, dataset: Any, columns: Columns | None = None, *_: Any, **shared: Unpack[RowOptions]
    ) -> None:
        for needed in ("with_format", "column_names", "__len__", "__getitem__"):
            if not hasattr(dataset, needed):
                raise ArgumentTypeError(
                    f"a datasets.Dataset is needed, but {type(dataset)} has no {needed}. Of a dict of splits pick "
                    "one; for an IterableDataset use TorchDataset."
                )
        names = as_column_list(columns) or list(dataset.column_names)
        for name in names:
            if name not in dataset.column_names:
                raise ArgumentValueError(
                    f"there is no column {name!r}, the columns are {dataset.column_names}."
                )
        make = partial(_table, dataset=dataset, columns=names)
        self._open(make, {name: ColumnType() for name in names}, shared)


def _table(dataset: Any, columns: list[str]) -> ColumnTable:
    return _DatasetTable(dataset.with_format("numpy", columns=columns), columns)


class _DatasetTable(ColumnTable):
    """Table that reads each block of rows with one call of the library."""

    def __init__(self, dataset: Any, columns: list[str]) -> None:
        features = getattr(dataset, "features", None) or {}
        names = [getattr(features.get(column), "names", None) for column in columns]
        classes = next((class_names for class_names in names if class_names), None)
        super().__init__(
            len(dataset),
            {name: _DatasetColumn(dataset, name) for name in columns},
            classes=None if classes is None else {name: number for number, name in enumerate(classes)},
            num_classes=None if classes is None else len(classes),
        )
        self.dataset = dataset

    def read(self, indices: Indices) -> dict[str, Column]:
        block = self.dataset[indices.tolist()]
        return {name: _to_column(block[name]) for name in self.parts}


class _DatasetColumn(ColumnReader):
    def __init__(self, dataset: Any, name: str) -> None:
        self.dataset, self.name = dataset, name

    def read(self, indices: Indices) -> Column:
        return _to_column(self.dataset[indices.tolist()][self.name])

    def all(self) -> npt.NDArray[Any]:
        return np.asarray(self.dataset[:][self.name])

    def where(self, index: int) -> str | None:
        return None


def _to_column(values: Any) -> Column:
    """Convert numbers to one owned array; text and rows of different shapes to a list."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUS":
        return np.array(values)
    return [np.array(value) if not isinstance(value, dict) else value for value in values]
