"""CSV parsing through pyarrow for records on which both grammars agree.

pyarrow accepts more than the grammar of ``records.py``: ``0x1f`` as a number, ``a"b`` as text, and a byte order mark.
The bytes are therefore checked first. Records on which the grammars may differ, and records that pyarrow refuses, are
parsed by ``records.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import MissingExtra
from millrace._src.core.optional import require
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.text.lines import text_column

__all__ = ["parse_with_arrow"]

QUOTE, NEWLINE = 34, 10
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@functools.cache
def _import_arrow() -> tuple[Any, Any] | None:
    try:
        purpose = "reading typed CSV faster"
        return require("pyarrow", "parquet", purpose), require("pyarrow.csv", "parquet", purpose)
    except MissingExtra:
        return None


def parse_with_arrow(
    joined: bytes, rows: int, names: Sequence[str | None], types: Sequence[type], delimiter: str
) -> dict[str, Column] | None:
    """Parse records that are joined by newlines; None where ``records.py`` must parse them.

    >>> import pytest
    >>> _ = pytest.importorskip("pyarrow")
    >>> parse_with_arrow(b'1,2.5,"a, b"', 1, ["n", "x", "s"], [int, float, str], ",")
    {'n': array([1], dtype=int32), 'x': array([2.5], dtype=float32), 's': StringColumn('a, b')}
    >>> parse_with_arrow(b"0x1f", 1, ["n"], [int], ",")
    """
    modules = _import_arrow() if _grammars_agree(joined, rows, delimiter) else None
    if modules is None:
        return None
    arrow, csv = modules
    # numbers are rounded to float64 first, as in records.py
    arrow_types = {int: arrow.int32(), float: arrow.float64(), str: arrow.string()}
    wanted = {
        f"{n}": arrow_types[column_type]
        for n, (name, column_type) in enumerate(zip(names, types))
        if name is not None
    }
    try:
        table = csv.read_csv(
            arrow.BufferReader(joined),
            csv.ReadOptions(
                use_threads=False,
                block_size=len(joined) + 1,
                column_names=[f"{n}" for n in range(len(names))],
            ),
            csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=wanted, include_columns=list(wanted), null_values=[]),
        )
    except (arrow.ArrowInvalid, arrow.ArrowKeyError):
        return None
    if table.num_rows != rows:
        return None
    return {
        name: _to_column(table.column(f"{n}"), column_type)
        for n, (name, column_type) in enumerate(zip(names, types))
        if name is not None
    }


def _to_column(column: Any, column_type: type) -> Column:
    if column_type is str:
        return text_column(column.to_pylist())
    numbers: npt.NDArray[Any] = column.to_numpy()
    if column_type is int:
        return numbers.copy()  # pyarrow's memory is read-only
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


def _grammars_agree(joined: bytes, rows: int, delimiter: str) -> bool:
    """Whether both grammars agree on these records."""
    if (
        len(delimiter) != 1
        or not delimiter.isascii()
        or b"\r" in joined
        or joined.startswith(BYTE_ORDER_MARK)
    ):
        return False
    if b"0x" in joined or b"0X" in joined:
        return False
    if b'"' not in joined:
        return True
    if b'""' in joined or joined.count(b"\n") != rows - 1:
        return False
    # opening quotes must be at the start of a field, closing quotes at its end
    raw = np.frombuffer(b"\n" + joined + b"\n", np.uint8)
    quotes = np.flatnonzero(raw == QUOTE)
    border = (raw == ord(delimiter)) | (raw == NEWLINE)
    return len(quotes) % 2 == 0 and bool(border[quotes[::2] - 1].all() and border[quotes[1::2] + 1].all())
