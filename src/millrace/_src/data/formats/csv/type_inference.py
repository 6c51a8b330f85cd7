"""CSV files as typed columns with pandas-style type inference, for the MindRecord converter.

The converter to MindRecord follows pandas, where a quote inside an unquoted field is an ordinary character: such a
file must be parsed from its start. The dataset (``records.py``) follows MindSpore's reader, which refuses such quotes;
its records can be located without parsing.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import Any

from millrace._src.core.errors import FormatError

__all__ = ["read_table", "infer_column_type"]

_TRUE = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
# texts that pandas reads as missing values
_MISSING = {"", "NaN", "nan", "NA", "N/A", "n/a", "NULL", "null", "None", "#N/A", "-nan", "-NaN", "<NA>"}
_MAX_FIELD_BYTES = 1 << 27


def read_table(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Read the columns of a file as text; the first line has the names.

    >>> with open("t.csv", "w") as file:
    ...     _ = file.write("a,b\\n1,x\\n2,\\n")
    >>> read_table("t.csv")
    {'a': ['1', '2'], 'b': ['x', '']}
    """
    name = str(path)
    csv.field_size_limit(_MAX_FIELD_BYTES)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, strict=True)
            header = next(rows, None)
            if not header:
                raise FormatError("the file has no first line of column names", file=name)
            if len(set(header)) != len(header):
                raise FormatError(f"two columns have the same name: {header}", file=name)
            columns: list[list[str]] = [[] for _ in header]
            for row in rows:
                if not row:
                    continue  # an empty line
                if len(row) != len(header):
                    text = f"line {rows.line_num} has {len(row)} fields, the first has {len(header)}"
                    raise FormatError(text, file=name)
                for column, value in zip(columns, row):
                    column.append(value)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"this is not a CSV file in UTF-8: {error}", file=name) from error
    return dict(zip(header, columns))


def infer_column_type(column: Sequence[str]) -> tuple[str, list[Any]]:
    """Infer the narrowest of int64, float64, bool and string for a column; return the type and the values.

    >>> infer_column_type(["1", "-2"]), infer_column_type(["1", ""])[0]
    (('int64', [1, -2]), 'float64')
    >>> infer_column_type(["True", "False"]), infer_column_type(["1", "x"])
    (('bool', [True, False]), ('string', ['1', 'x']))
    """
    if column and all(text in _TRUE for text in column):
        return "bool", [_TRUE[text] for text in column]
    if column and not all(text.strip() in _MISSING for text in column):
        try:
            ints = [int(text) for text in column if "_" not in text]
        except ValueError:
            ints = []
        if len(ints) == len(column):
            if all(-(2**63) <= number < 2**63 for number in ints):
                return "int64", ints
            return "string", list(column)
        try:
            return "float64", [_parse_float(text) for text in column]
        except ValueError:
            pass
    return "string", list(column)


def _parse_float(text: str) -> float:
    if text.strip() in _MISSING:
        return float("nan")
    if "_" in text:
        raise ValueError(text)
    return float(text)
