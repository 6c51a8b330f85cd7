"""CSV records by byte offset, split and converted to typed columns for many rows at once.

The grammar is that of MindSpore's reader: a field is quoted completely or not at all, a quote inside quotes is
doubled, newlines and carriage returns outside quotes end a record, and empty records are skipped.
(``type_inference.py`` follows pandas, for the converter.)
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.io.remote import first_bytes, is_remote
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.files.byte_ranges import ByteRanges, RowBlock, slice_fixed_width
from millrace._src.data.formats.text.lines import SPARE, SPREAD, iter_blocks, text_column

from .arrow_parser import parse_with_arrow
from .number_parser import parse_plain_floats, parse_plain_ints

__all__ = ["CsvFormat", "read_header"]

QUOTE, NEWLINE, RETURN = 34, 10, 13
INT32 = 2**31
# Number of rows from which importing pyarrow (0.1 s) pays off.
ARROW_FROM = 4096


def read_header(path: str, delimiter: str = ",") -> list[str]:
    """Read the fields of the first line; quotes are kept, as in MindSpore.

    >>> with open("t.csv", "w") as file:
    ...     _ = file.write("a,b\\n1,2\\n")
    >>> read_header("t.csv")
    ['a', 'b']
    """
    if is_remote(path):
        line = bytes(first_bytes(path, 1 << 20).partition(b"\n")[0])
    else:
        with open(path, "rb") as file:
            line = file.readline(1 << 20)
    try:
        return line.decode().rstrip("\r\n").split(delimiter)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}, line 1: this is not text in UTF-8: {error}", file=path) from None


class CsvFormat:
    """Format of CSV records. ``types`` has int, float or str per column; the first ``skip`` records are skipped.

    >>> with open("t.csv", "w") as file:
    ...     _ = file.write('1,"a,b"\\n\\n2,c\\n')
    >>> table = CsvFormat(["n", "s"], [int, str])
    >>> len(table.scan("t.csv"))
    2
    """

    def __init__(
        self,
        columns: Sequence[str | None],
        types: Sequence[type],
        delimiter: str = ",",
        skip: int = 0,
    ) -> None:
        self.columns, self.types, self.delimiter, self.skip = list(columns), list(types), delimiter, skip
        self.typed = any(
            column_type is not str for name, column_type in zip(self.columns, self.types) if name is not None
        )
        self._seen = 0

    @property
    def scan_id(self) -> str:
        return f"csv, {self.skip} skipped"

    # --- offsets of the records -------------------------------------------------------------------------

    def scan(self, path: str) -> ByteRanges:
        ends, quotes, size, last = [np.empty(0, np.int64)], 0, 0, 0
        for offset, data in iter_blocks(path):
            marks = np.flatnonzero((data == NEWLINE) | (data == RETURN))
            quote_positions = np.flatnonzero(data == QUOTE)
            if len(quote_positions) or quotes % 2:
                before = np.searchsorted(quote_positions, marks) + quotes
                marks = marks[before % 2 == 0]
                quotes += len(quote_positions)
                last = int(quote_positions[-1]) + offset if len(quote_positions) else last
            ends.append(marks + offset)
            size = offset + len(data)
        if quotes % 2:
            with open(path, "rb") as file:
                line = file.read(last).count(b"\n") + 1
            raise FormatError(
                f"{path}: a quote is opened and never closed; the last one is on line {line}. Quotes go around "
                "a whole field, and a quote inside of one is doubled",
                file=path,
            )
        marks = np.concatenate(ends)
        starts, stops = np.concatenate(([0], marks + 1)), np.append(marks, size)
        full = stops > starts
        return ByteRanges(starts[full][self.skip :], stops[full][self.skip :])

    # --- the rows of a block ----------------------------------------------------------------------------

    def rows(self, block: RowBlock) -> dict[str, Column]:
        width = len(self.columns)
        joined = block.joined()
        quoted = b'"' in joined
        if not quoted and not self.typed and joined.isascii():
            texts = self._split_ascii(joined, len(block))
            if texts is not None:
                return texts
        if self.typed:
            self._seen += len(block)
            if self._seen > ARROW_FROM:
                arrow_columns = parse_with_arrow(joined, len(block), self.columns, self.types, self.delimiter)
                if arrow_columns is not None:
                    return arrow_columns
        try:
            fields = self._split_quoted(block) if quoted else self._split_plain(joined, len(block))
        except UnicodeDecodeError:
            fields = None
        if fields is None:
            raise self._describe_error(block, block.pieces())
        columns: dict[str, Column] = {}
        numbers: dict[type, Any] = {
            column_type: self._parse_plain_columns(fields, column_type, len(block))
            for column_type in (int, float)
        }
        for number, (name, column_type) in enumerate(zip(self.columns, self.types)):
            if name is not None:
                converted = numbers[column_type].get(number) if column_type is not str else None
                columns[name] = (
                    self._convert(block, fields[number::width], column_type)
                    if converted is None
                    else converted
                )
        return columns

    def _split_ascii(self, joined: bytes, rows: int) -> dict[str, Column] | None:
        """Columns of ASCII text, sliced from the bytes at once; None where that is not possible."""
        width, delimiter = len(self.columns), self.delimiter.encode()
        if len(delimiter) > 1 or not rows:
            return None
        raw = np.frombuffer(joined, np.uint8)
        stops = np.flatnonzero((raw == delimiter[0]) | (raw == NEWLINE))
        if len(stops) != rows * width - 1 or not bool((raw[stops[width - 1 :: width]] == NEWLINE).all()):
            return None
        stops = np.append(stops, len(raw))
        starts = np.concatenate(([0], stops[:-1] + 1))
        lengths = stops - starts
        longest = np.maximum(1, lengths.reshape(rows, width).max(axis=0))
        wide = int(longest.max())
        if wide * len(starts) > SPREAD * len(raw) + SPARE:
            return None  # one long field would widen the whole column
        signs = slice_fixed_width(np.frombuffer(joined + bytes(wide), np.uint8), starts, wide)
        signs[np.arange(wide) >= lengths[:, None]] = 0
        table = signs.reshape(rows, width, wide)
        return {
            name: table[:, number, :most].astype(np.uint32).view(f"U{most}")[:, 0]
            for number, (name, most) in enumerate(zip(self.columns, longest.tolist()))
            if name is not None
        }

    def _parse_plain_columns(
        self, fields: list[str], column_type: type, rows: int
    ) -> dict[int, npt.NDArray[Any]]:
        """Parse all columns of one type at once; empty unless all their fields are plain numbers."""
        indices = [
            n for n, type_ in enumerate(self.types) if type_ is column_type and self.columns[n] is not None
        ]
        texts = [text for n in indices for text in fields[n :: len(self.columns)]]
        if not texts:
            return {}
        values = parse_plain_ints(texts) if column_type is int else parse_plain_floats(texts)
        if values is None or (column_type is int and not -INT32 <= values.min() <= values.max() < INT32):
            return {}
        table = values.astype(_NUMPY_TYPES[column_type]).reshape(len(indices), rows)
        return {n: table[i].copy() for i, n in enumerate(indices)}

    def _split_plain(self, joined: bytes, rows: int) -> list[str] | None:
        """All fields of unquoted records in one list; None if a record has the wrong number of fields."""
        delimiter, width = self.delimiter.encode(), len(self.columns)
        if len(delimiter) > 1:
            lines = [line.split(self.delimiter) for line in joined.decode().split("\n")]
            return (
                [field for line in lines for field in line]
                if {len(line) for line in lines} == {width}
                else None
            )
        raw = np.frombuffer(joined, np.uint8)
        marks = raw[(raw == delimiter[0]) | (raw == NEWLINE)]
        if len(marks) != rows * width - 1:
            return None
        if not bool((marks[width - 1 :: width] == NEWLINE).all()):
            return None
        return joined.replace(b"\n", delimiter).decode().split(self.delimiter)

    def _split_quoted(self, block: RowBlock) -> list[str] | None:
        """All fields of records with quotes in one list; None if a record is invalid."""
        pieces, delimiter, width = block.pieces(), self.delimiter.encode(), len(self.columns)
        fields: list[str] = []
        for piece, row in zip(pieces, _split_with_csv_module(pieces, self.delimiter)):
            record = row
            # a remaining quote was doubled or is invalid: split_record decides
            if record is None or '"' in "".join(record):
                record = split_record(piece, delimiter)
            if record is None or len(record) != width:
                return None
            fields += record
        return fields

    def _convert(self, block: RowBlock, texts: list[str], column_type: type) -> Column:
        if column_type is str:
            return text_column(texts)
        try:
            if column_type is int:
                integers = np.fromiter(map(int, texts), np.int64, len(texts))
                if len(integers) and (int(integers.min()) < -INT32 or int(integers.max()) >= INT32):
                    raise OverflowError
                return integers.astype(np.int32)
            with np.errstate(over="ignore"):
                return np.fromiter(map(float, texts), np.float32, len(texts))
        except (ValueError, OverflowError):
            numbers = [_parse_number_prefix(block, row, text, column_type) for row, text in enumerate(texts)]
            with np.errstate(over="ignore"):
                return np.array(numbers, _NUMPY_TYPES[column_type])

    def _describe_error(self, block: RowBlock, pieces: list[bytes]) -> FormatError:
        """The error of the first invalid record."""
        for row, piece in enumerate(pieces):
            try:
                fields = split_record(piece, self.delimiter.encode())
            except UnicodeDecodeError as error:
                return _row_error(block, row, f"this is not text in UTF-8: {error}")
            if fields is None:
                return _row_error(
                    block, row, "unexpected quote in unquote field, or text after a closing quote"
                )
            if len(fields) != len(self.columns):
                return _row_error(
                    block,
                    row,
                    f"the record has {len(fields)} fields, but there are {len(self.columns)} columns",
                )
        return _row_error(block, 0, "the record cannot be split")


_NUMPY_TYPES = {int: np.int32, float: np.float32}


def _split_with_csv_module(pieces: list[bytes], delimiter: str) -> Sequence[list[str] | None]:
    """The fields of each record by Python's csv module, whose grammar is slightly more permissive."""
    if len(delimiter) == 1 and delimiter not in '" ':
        try:
            records = list(csv.reader([piece.decode() for piece in pieces], delimiter=delimiter, strict=True))
            if len(records) == len(pieces):
                return records
        except (csv.Error, TypeError):
            pass
    return [None] * len(pieces)


def _row_error(block: RowBlock, row: int, text: str) -> FormatError:
    where = f"failed to parse csv file: {block.path} at line {int(block.rows[row]) + 1}"
    error = FormatError(f"Invalid file, {where}. Error message: {text}.", file=block.path)
    error.row_index = int(block.rows[row])  # type: ignore[attr-defined]
    return error


def _parse_number_prefix(block: RowBlock, row: int, text: str, column_type: type) -> int | float:
    """Parse a number as C does: characters after the number are ignored."""
    end = len(text)
    while end:
        try:
            value = int(text[:end]) if column_type is int else float(text[:end])
        except ValueError:
            end -= 1
            continue
        if column_type is int and not -INT32 <= value < INT32:
            raise _row_error(block, row, f"{text!r} is out of the range of int32: value out of range")
        return value
    raise _row_error(block, row, f"{text!r} is not a number: type does not match")


def split_record(record: bytes, delimiter: bytes) -> list[str] | None:
    """Split one record into fields without quotes; None if a quote is at an invalid position.

    >>> split_record(b'1,"say ""hi"", twice",', b",")
    ['1', 'say "hi", twice', '']
    >>> split_record(b'1,a"b', b",") is None
    True
    """
    if b'"' not in record:
        return record.decode().split(delimiter.decode())
    fields, start, size, delimiter_size = [], 0, len(record), len(delimiter)
    while True:
        if record[start : start + 1] == b'"':
            end = record.find(b'"', start + 1)
            while end >= 0 and record[end + 1 : end + 2] == b'"':
                end = record.find(b'"', end + 2)
            after = end + 1
            if end < 0 or (after < size and record[after : after + delimiter_size] != delimiter):
                return None
            fields.append(record[start + 1 : end].replace(b'""', b'"').decode())
        else:
            after = record.find(delimiter, start)
            after = size if after < 0 else after
            field = record[start:after]
            if b'"' in field:
                return None
            fields.append(field.decode())
        if after >= size:
            return fields
        start = after + delimiter_size
        if start == size:
            fields.append("")
            return fields
