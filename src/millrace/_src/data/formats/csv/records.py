"""Records of a CSV file by their offsets, split and typed for many rows at once.

The grammar is that of MindSpore's reader: a field is quoted as a whole or not at all, a quote inside quotes is
doubled, newlines and carriage returns outside quotes end a record, empty records are left out. (csv_table.py reads as
pandas does, for the converter.)
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
from millrace._src.data.formats.text.lines import SPARE, SPREAD, blocks_of, text_column

from .arrow_parser import columns_by_arrow
from .number_parser import plain_floats, plain_ints

__all__ = ["CsvFormat", "header_of"]

QUOTE, NEWLINE, RETURN = 34, 10, 13
INT32 = 2**31
# Rows after which it pays to load pyarrow, which takes a tenth of a second.
ARROW_FROM = 4096


def header_of(path: str, delimiter: str = ",") -> list[str]:
    """The fields of the first line as they stand there; quotes are not taken off, as in MindSpore.

    >>> with open("t.csv", "w") as file:
    ...     _ = file.write("a,b\\n1,2\\n")
    >>> header_of("t.csv")
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
    """Records with these columns. ``types`` has int, float or str for each; ``skip`` records stand before the rows.

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
        self.typed = any(kind is not str for name, kind in zip(self.columns, self.types) if name is not None)
        self.kind = f"csv, {skip} skipped"
        self._seen = 0

    # --- where the records lie --------------------------------------------------------------------------

    def scan(self, path: str) -> ByteRanges:
        ends, quotes, size, last = [np.empty(0, np.int64)], 0, 0, 0
        for at, data in blocks_of(path):
            marks = np.flatnonzero((data == NEWLINE) | (data == RETURN))
            inside = np.flatnonzero(data == QUOTE)
            if len(inside) or quotes % 2:
                before = np.searchsorted(inside, marks) + quotes
                marks = marks[before % 2 == 0]
                quotes += len(inside)
                last = int(inside[-1]) + at if len(inside) else last
            ends.append(marks + at)
            size = at + len(data)
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
            texts = self._ascii(joined, len(block))
            if texts is not None:
                return texts
        if self.typed:
            self._seen += len(block)
            if self._seen > ARROW_FROM:
                found = columns_by_arrow(joined, len(block), self.columns, self.types, self.delimiter)
                if found is not None:
                    return found
        try:
            fields = self._quoted(block) if quoted else self._plain(joined, len(block))
        except UnicodeDecodeError:
            fields = None
        if fields is None:
            raise self._complaint(block, block.pieces())
        made: dict[str, Column] = {}
        numbers: dict[type, Any] = {kind: self._numbers(fields, kind, len(block)) for kind in (int, float)}
        for number, (name, kind) in enumerate(zip(self.columns, self.types)):
            if name is not None:
                fast = numbers[kind].get(number) if kind is not str else None
                made[name] = self._typed(block, fields[number::width], kind) if fast is None else fast
        return made

    def _ascii(self, joined: bytes, rows: int) -> dict[str, Column] | None:
        """Columns of plain text, cut out of the bytes all at once; None where they cannot be."""
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
            return None  # one long field would make all of them so wide
        signs = slice_fixed_width(np.frombuffer(joined + bytes(wide), np.uint8), starts, wide)
        signs[np.arange(wide) >= lengths[:, None]] = 0
        table = signs.reshape(rows, width, wide)
        return {
            name: table[:, number, :most].astype(np.uint32).view(f"U{most}")[:, 0]
            for number, (name, most) in enumerate(zip(self.columns, longest.tolist()))
            if name is not None
        }

    def _numbers(self, fields: list[str], kind: type, rows: int) -> dict[int, npt.NDArray[Any]]:
        """The columns of one type at once, where all their fields are plain numbers; else nothing."""
        places = [n for n, own in enumerate(self.types) if own is kind and self.columns[n] is not None]
        texts = [text for n in places for text in fields[n :: len(self.columns)]]
        if not texts:
            return {}
        found = plain_ints(texts) if kind is int else plain_floats(texts)
        if found is None or (kind is int and not -INT32 <= found.min() <= found.max() < INT32):
            return {}
        table = found.astype(_KINDS[kind]).reshape(len(places), rows)
        return {n: table[i].copy() for i, n in enumerate(places)}

    def _plain(self, joined: bytes, rows: int) -> list[str] | None:
        """All fields in one list, where nothing is quoted; None when some row has another number of them."""
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

    def _quoted(self, block: RowBlock) -> list[str] | None:
        """The same where some fields are quoted: fields end at delimiters and record ends outside quotes."""
        pieces, delimiter, width = block.pieces(), self.delimiter.encode(), len(self.columns)
        fields: list[str] = []
        for piece, row in zip(pieces, _by_reader(pieces, self.delimiter)):
            found = row
            # a quote that is left was doubled, or stood where none may: ours knows which
            if found is None or '"' in "".join(found):
                found = split_record(piece, delimiter)
            if found is None or len(found) != width:
                return None
            fields += found
        return fields

    def _typed(self, block: RowBlock, texts: list[str], kind: type) -> Column:
        if kind is str:
            return text_column(texts)
        try:
            if kind is int:
                whole = np.fromiter(map(int, texts), np.int64, len(texts))
                if len(whole) and (int(whole.min()) < -INT32 or int(whole.max()) >= INT32):
                    raise OverflowError
                return whole.astype(np.int32)
            with np.errstate(over="ignore"):
                return np.fromiter(map(float, texts), np.float32, len(texts))
        except (ValueError, OverflowError):
            numbers = [_number(block, row, text, kind) for row, text in enumerate(texts)]
            with np.errstate(over="ignore"):
                return np.array(numbers, _KINDS[kind])

    def _complaint(self, block: RowBlock, pieces: list[bytes]) -> FormatError:
        """Which row is bad, and how."""
        for row, piece in enumerate(pieces):
            try:
                found = split_record(piece, self.delimiter.encode())
            except UnicodeDecodeError as error:
                return _at(block, row, f"this is not text in UTF-8: {error}")
            if found is None:
                return _at(block, row, "unexpected quote in unquote field, or text after a closing quote")
            if len(found) != len(self.columns):
                return _at(
                    block,
                    row,
                    f"the record has {len(found)} fields, but there are {len(self.columns)} columns",
                )
        return _at(block, 0, "the record cannot be split")


_KINDS = {int: np.int32, float: np.float32}


def _by_reader(pieces: list[bytes], delimiter: str) -> Sequence[list[str] | None]:
    """The fields of each record as Python's csv reads them; it allows a little more than our grammar."""
    if len(delimiter) == 1 and delimiter not in '" ':
        try:
            found = list(csv.reader([piece.decode() for piece in pieces], delimiter=delimiter, strict=True))
            if len(found) == len(pieces):
                return found
        except (csv.Error, TypeError):
            pass
    return [None] * len(pieces)


def _at(block: RowBlock, row: int, text: str) -> FormatError:
    where = f"failed to parse csv file: {block.path} at line {int(block.rows[row]) + 1}"
    found = FormatError(f"Invalid file, {where}. Error message: {text}.", file=block.path)
    found.row_index = int(block.rows[row])  # type: ignore[attr-defined]
    return found


def _number(block: RowBlock, row: int, text: str, kind: type) -> int | float:
    """A field as C reads numbers: what stands behind the number is not looked at."""
    end = len(text)
    while end:
        try:
            value = int(text[:end]) if kind is int else float(text[:end])
        except ValueError:
            end -= 1
            continue
        if kind is int and not -INT32 <= value < INT32:
            raise _at(block, row, f"{text!r} is out of the range of int32: value out of range")
        return value
    raise _at(block, row, f"{text!r} is not a number: type does not match")


def split_record(record: bytes, delimiter: bytes) -> list[str] | None:
    """The fields of one record, quotes taken off; None when a quote stands where none may.

    >>> split_record(b'1,"say ""hi"", twice",', b",")
    ['1', 'say "hi", twice', '']
    >>> split_record(b'1,a"b', b",") is None
    True
    """
    if b'"' not in record:
        return record.decode().split(delimiter.decode())
    fields, at, size, step = [], 0, len(record), len(delimiter)
    while True:
        if record[at : at + 1] == b'"':
            end = record.find(b'"', at + 1)
            while end >= 0 and record[end + 1 : end + 2] == b'"':
                end = record.find(b'"', end + 2)
            after = end + 1
            if end < 0 or (after < size and record[after : after + step] != delimiter):
                return None
            fields.append(record[at + 1 : end].replace(b'""', b'"').decode())
        else:
            after = record.find(delimiter, at)
            after = size if after < 0 else after
            field = record[at:after]
            if b'"' in field:
                return None
            fields.append(field.decode())
        if after >= size:
            return fields
        at = after + step
        if at == size:
            fields.append("")
            return fields
