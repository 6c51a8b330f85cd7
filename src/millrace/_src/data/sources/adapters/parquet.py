"""``ParquetDataset``: Parquet and Arrow files."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Unpack

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import Columns, ElementType, as_column_list
from millrace._src.core.public import public
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import ColumnType
from millrace._src.data.formats.column_readers import ColumnReader
from millrace._src.data.formats.parquet import ArrowRows
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import ColumnTable, TableDataset, check_readable

__all__ = ["ParquetDataset"]


@public("dataset")
class ParquetDataset(TableDataset):
    """Rows of Parquet or Arrow (IPC, Feather) files, through pyarrow (extra 'parquet').

    Numbers and text keep their types, bytes become uint8, lists become arrays. Recently read row groups are cached, so
    sequential reads decode each group once. For a full shuffle, use small row groups or Arrow files.

    >>> import millrace.dataset as ds
    >>> import pytest
    >>> pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    >>> pq.write_table(pa.table({"x": [1, 2], "word": ["a", "b"]}), "a.parquet")
    >>> data = ds.ParquetDataset("a.parquet", columns=["x"], shuffle=False)
    >>> [row["x"].item() for row in data.create_dict_iterator(num_epochs=1)]
    [1, 2]
    """

    @with_common_arguments(RowOptions, without=("cache",))
    def __init__(
        self,
        dataset_files: Annotated[str | list[Any], ElementType(str)],
        columns: Columns | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        files = as_column_list(dataset_files) or []
        for path in files:
            check_readable(path)
        names = as_column_list(columns) or ArrowRows(files[:1], None).names
        make = partial(_table, dataset_files=files, columns=names)
        self._open(make, {name: ColumnType() for name in names}, shared)


def _table(dataset_files: list[str], columns: list[str]) -> ColumnTable:
    return _ParquetTable(ArrowRows(dataset_files, columns))


class _ParquetTable(ColumnTable):
    def __init__(self, rows: ArrowRows) -> None:
        super().__init__(len(rows), {name: _ParquetColumn(rows, name) for name in rows.names})
        self.rows = rows

    def read(self, indices: Indices) -> dict[str, Column]:
        return self.rows.read(indices)

    def close(self) -> None:
        self.rows.close()


class _ParquetColumn(ColumnReader):
    def __init__(self, rows: ArrowRows, name: str) -> None:
        self.rows, self.name = rows, name

    def read(self, indices: Indices) -> Column:
        return self.rows.read(indices)[self.name]

    def all(self) -> npt.NDArray[Any]:
        rows = ArrowRows(self.rows.files, [self.name])
        return np.array(rows.read(np.arange(len(rows)))[self.name])

    def where(self, index: int) -> str | None:
        return self.rows.where(index)
