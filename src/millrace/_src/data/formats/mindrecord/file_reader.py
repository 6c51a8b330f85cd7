"""``FileReader`` and ``MindPage``: MindSpore's row-by-row reading interfaces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.public import public

from .exceptions import MRMDefineCategoryError, ParamTypeError, ParamValueError
from .reader import MindRecordReader

__all__ = ["FileReader", "MindPage"]


def _check_consumers(num_consumer: Any) -> None:
    if type(num_consumer) is not int or num_consumer < 1:
        raise ParamValueError(f"num_consumer must be an int above 0, got {num_consumer!r}")


def _check_files(files: Any) -> Any:
    """Check for one path or a list of paths, with MindSpore's errors."""
    for name in files if isinstance(files, (list, tuple)) else [files]:
        if not isinstance(name, (str, os.PathLike)) or not os.fspath(name):
            raise ParamValueError(f"file_name must be a path or a list of paths, got {name!r}")
    return files


@public("mindrecord")
class FileReader:
    """Rows of a MindRecord set as dicts, in file order.

    Numbers are returned as stored: a float stays a float even if it is integral.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("floats.mindrecord", overwrite=True)
    >>> _ = (
    ...     writer.add_schema({"f": {"type": "float32"}}),
    ...     writer.write_raw_data([{"f": 1.0}]),
    ...     writer.commit(),
    ... )
    >>> reader = FileReader("floats.mindrecord")
    >>> reader.len(), list(reader.get_next())
    (1, [{'f': 1.0}])
    >>> reader.close()
    """

    def __init__(
        self,
        file_name: str | list[str],
        num_consumer: int = 4,
        columns: list[str] | None = None,
        operator: Any = None,
    ) -> None:
        _check_consumers(num_consumer)
        if columns is not None and (not isinstance(columns, list) or not columns):
            raise ParamTypeError(f"columns must be a list of field names, got {columns!r}")
        if columns is not None and not all(isinstance(name, str) for name in columns):
            raise ParamTypeError(f"columns must be a list of field names, got {columns!r}")
        self._reader = MindRecordReader(_check_files(file_name))
        unknown = [name for name in columns or [] if name not in self._reader.schema.names]
        if unknown:
            self._reader.close()
            names = ", ".join(self._reader.schema.names)
            raise DataError(f"no column {unknown[0]!r}; the file has {names}", file=str(file_name))
        self._columns = columns
        self._closed = False

    def get_next(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows; ``close`` ends the iteration, also inside a loop."""
        rows = iter(()) if self._closed else self._reader.rows(columns=self._columns)
        for row in rows:
            yield row
            if self._closed:
                return

    def schema(self) -> dict[str, Any]:
        """The fields as passed to add_schema, sorted."""
        return {field.name: field.as_json() for field in self._reader.schema.fields}

    def len(self) -> int:
        """Number of rows."""
        return len(self._reader)

    def close(self) -> None:
        """Close the files."""
        self._closed = True
        self._reader.close()


@public("mindrecord")
class MindPage:
    """Rows of a set by category: the distinct values of an indexed field.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("labels.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"label": {"type": "int32"}})
    >>> _ = writer.write_raw_data([{"label": n % 2} for n in range(5)]), writer.commit()
    >>> page = MindPage("labels.mindrecord")
    >>> page.category_field = "label"
    >>> page.read_category_info()
    '{"categories":[{"count":3,"id":0,"name":"0"},{"count":2,"id":1,"name":"1"}],"key":"label_0"}'
    >>> page.read_at_page_by_name("1", 0, 10)
    [{'label': 1}, {'label': 1}]
    """

    def __init__(self, file_name: str | list[str], num_consumer: int = 4) -> None:
        _check_consumers(num_consumer)
        self._reader = MindRecordReader(_check_files(file_name))
        self._field: str | None = None
        self._categories: list[tuple[str, np.ndarray[Any, Any]]] | None = None

    @property
    def candidate_fields(self) -> list[str]:
        """The indexed fields."""
        return list(self._reader.index_fields)

    @property
    def category_field(self) -> str | None:
        """The field whose values are the categories."""
        return self._field

    @category_field.setter
    def category_field(self, category_field: str) -> None:
        if not isinstance(category_field, str):
            raise ParamTypeError(f"category_field must be a str, got {type(category_field).__name__}")
        if category_field not in self._reader.index_fields:
            raise MRMDefineCategoryError(
                f"{category_field!r} is not in the index: {self._reader.index_fields}"
            )
        self._field, self._categories = category_field, None

    def get_category_fields(self) -> list[str]:
        """The indexed fields."""
        return self.candidate_fields

    def _load_categories(self) -> list[tuple[str, np.ndarray[Any, Any]]]:
        """Category names in byte order, each with the numbers of its rows."""
        if self._categories is None:
            if self._field is None:
                raise DataError("set category_field first", file=self._reader.files[0])
            where: dict[Any, list[int]] = {}
            column = self._reader.column(self._field)
            for number, value in enumerate(column if isinstance(column, list) else column.tolist()):
                where.setdefault(value, []).append(number)
            named = [(_name(value), np.array(rows)) for value, rows in where.items()]
            self._categories = sorted(named, key=lambda entry: entry[0].encode("utf-8"))
        return self._categories

    def read_category_info(self) -> str:
        """Categories with their numbers and sizes, as JSON."""
        entries = [
            {"count": len(rows), "id": n, "name": name}
            for n, (name, rows) in enumerate(self._load_categories())
        ]
        document = {"categories": entries, "key": f"{self._field}_0"}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    def read_at_page_by_id(self, category_id: int, page: int, num_row: int) -> list[dict[str, Any]]:
        """Rows [page * num_row, (page + 1) * num_row) of the category with this number."""
        if type(category_id) is not int or category_id < 0:
            raise ParamValueError(f"category_id must be an int of at least 0, got {category_id!r}")
        known = self._load_categories()
        if category_id >= len(known):
            raise DataError(f"no category {category_id}; there are {len(known)}", file=self._reader.files[0])
        return self._page(known[category_id][1], page, num_row)

    def read_at_page_by_name(self, category_name: str, page: int, num_row: int) -> list[dict[str, Any]]:
        """Rows [page * num_row, (page + 1) * num_row) of the category with this name."""
        if not isinstance(category_name, str):
            raise ParamValueError(f"category_name must be a str, got {type(category_name).__name__}")
        for name, rows in self._load_categories():
            if name == category_name:
                return self._page(rows, page, num_row)
        raise DataError(f"no category named {category_name!r}", file=self._reader.files[0])

    def _page(self, rows: np.ndarray[Any, Any], page: int, num_row: int) -> list[dict[str, Any]]:
        if type(page) is not int or page < 0:
            raise ParamValueError(f"page must be an int of at least 0, got {page!r}")
        if type(num_row) is not int or num_row < 1:
            raise ParamValueError(f"num_row must be an int above 0, got {num_row!r}")
        chosen = rows[page * num_row : (page + 1) * num_row]
        if not len(chosen):
            raise DataError(
                f"page {page} is beyond the {len(rows)} rows of the category", file=self._reader.files[0]
            )
        return [self._reader.row(int(number)) for number in chosen]

    def close(self) -> None:
        """Close the files."""
        self._reader.close()


def _name(value: Any) -> str:
    """Format a value as SQLite does: 15 digits, more only if two values would have the same name."""
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.15g}"
    if float(text) != value:
        text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    return mantissa + ("" if "." in mantissa or not mantissa[-1].isdigit() else ".0") + mark + exponent
