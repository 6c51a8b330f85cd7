"""JSON Lines files as columns: values selected by key path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.files.byte_ranges import RowBlock
from millrace._src.data.formats.json_decoder import decode_json_lines, parse_json

from .lines import LineFormat, text_column

__all__ = ["JsonLines"]


class JsonLines(LineFormat):
    """Columns of the objects of a file: column name -> key path of the value.

    As in MindSpore, integers become uint32, other numbers float32, and lists arrays; text stays text.

    >>> with open("t.json", "w") as file:
    ...     _ = file.write('{"a": {"b": 3}}\\n')
    >>> len(JsonLines({"x": ("a", "b")}).scan("t.json"))
    1
    """

    def __init__(self, columns: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__("")
        self.columns = dict(columns)

    def rows(self, block: RowBlock) -> dict[str, Column]:
        columns: dict[str, list[Any]] = {name: [] for name in self.columns}
        pieces = block.pieces()
        values = decode_json_lines(pieces)
        for row, piece in enumerate(pieces):
            number = int(block.rows[row])
            try:
                value = parse_json(piece, block.path, number + 1) if values is None else values[row]
                for name, keys in self.columns.items():
                    columns[name].append(_get_by_path(value, keys, block, row))
            except FormatError as error:
                error.row_index = number  # type: ignore[attr-defined]
                raise
        return {name: _to_column(values) for name, values in columns.items()}


def _get_by_path(value: Any, keys: tuple[str, ...], block: RowBlock, row: int) -> Any:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            text = f"Invalid json file, in given JSON file, failed to find key: {key}"
            raise block.error(row, text, "line")
        value = value[key]
    if isinstance(value, (dict, bool)) or value is None:
        raise block.error(
            row, f"the value of {'.'.join(keys)} is {value!r}: text, a number or a list is needed", "line"
        )
    return value


def _to_column(values: list[Any]) -> Column:
    if all(isinstance(value, str) for value in values):
        return text_column(values)
    return [_to_array(value) for value in values]


def _to_array(value: Any) -> Any:
    if isinstance(value, list):
        dtype = np.str_ if all(isinstance(item, str) for item in value) else None
        array = np.array(value, dtype=dtype)
        return array if dtype else array.astype(np.uint32 if array.dtype.kind in "iu" else np.float32)
    if isinstance(value, int):
        return np.array(value & 0xFFFFFFFF, np.uint32)
    return np.array(value, np.float32 if isinstance(value, float) else None)
