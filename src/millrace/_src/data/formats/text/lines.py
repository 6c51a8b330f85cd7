"""Lines of text files: byte spans and text columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.values.chunk import Column
from millrace._src.core.values.columns import StringColumn, offsets_of
from millrace._src.data.formats.files.byte_ranges import ByteRanges, Ints, RowBlock

__all__ = ["BlankLineSeparatedFormat", "LineFormat", "iter_blocks", "find_newlines", "text_column"]

BLOCK = 16 << 20
# A text column is one array if that takes at most this many times the bytes of the text.
SPREAD = 4
SPARE = 1 << 16
SPACE, RETURN = 32, 13


def iter_blocks(path: str) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """Iterate over large blocks of a file with their offsets."""
    offset = 0
    with open(path, "rb") as file:
        while data := file.read(BLOCK):
            yield offset, np.frombuffer(data, np.uint8)
            offset += len(data)


def find_newlines(path: str) -> tuple[Ints, int]:
    """Offsets of all newlines, and the file size."""
    positions, size = [np.empty(0, np.int64)], 0
    for offset, data in iter_blocks(path):
        positions.append(np.flatnonzero(data == 10) + offset)
        size = offset + len(data)
    return np.concatenate(positions), size


def line_spans(path: str) -> ByteRanges:
    """Byte ranges of all lines without their newlines; a last line without a newline counts."""
    ends, size = find_newlines(path)
    starts = np.concatenate(([0], ends + 1))
    stops = np.append(ends, size)
    return ByteRanges(starts[:-1], stops[:-1]) if starts[-1] == size else ByteRanges(starts, stops)


def text_column(texts: list[str], zeros: bool = True) -> StringColumn:
    """A column with one text per row; pass ``zeros=False`` if no text contains a NUL.

    >>> text_column(["a", "bc"])[1]
    array('bc', dtype='<U2')
    """
    # a NumPy text array drops trailing NULs, so they are removed in all representations
    if zeros and any(text[-1:] == "\0" for text in texts):
        texts = [text.rstrip("\0") for text in texts]
    return StringColumn.of(texts)


class LineFormat:
    """Each line is a row with one text column; empty lines are skipped unless ``keep_blank`` is set.

    >>> with open("t.txt", "w") as file:
    ...     _ = file.write("one\\n\\ntwo")
    >>> spans = LineFormat("text").scan("t.txt")
    >>> spans.starts.tolist(), spans.stops.tolist()
    ([0, 5], [3, 8])

    ``paired`` lines correspond to the lines of another file by number: they are skipped where both are empty.
    """

    def __init__(
        self, column: str, keep_blank: bool = False, strip: bool = False, paired: bool = False
    ) -> None:
        self.column, self.keep_blank, self.strip = column, keep_blank or paired, strip
        self.blank_together = paired

    @property
    def scan_id(self) -> str:
        return "lines, blank too" if self.keep_blank else "lines"

    def scan(self, path: str) -> ByteRanges:
        spans = line_spans(path)
        if self.keep_blank:
            return spans
        full = spans.stops > spans.starts
        return spans if bool(full.all()) else ByteRanges(spans.starts[full], spans.stops[full])

    def rows(self, block: RowBlock) -> dict[str, Column]:
        raw = block.joined()
        if len(block) and not self.strip and b"\0" not in raw and raw.isascii():
            sizes = block.stops - block.starts
            return {self.column: StringColumn.of_lines(raw, offsets_of(sizes[:-1] + 1))}
        try:
            texts = raw.decode().split("\n")
        except UnicodeDecodeError:
            raise _decode_error(block, self.keep_blank and not self.blank_together) from None
        if self.strip:
            texts = [text.strip() for text in texts]
        return {self.column: text_column(texts, zeros=b"\0" in raw)}


def _decode_error(block: RowBlock, all_counted: bool) -> Exception:
    counted = "" if all_counted else " (empty lines are not counted)"
    for row, piece in enumerate(block.pieces()):
        try:
            piece.decode()
        except UnicodeDecodeError as error:
            failure = block.error(row, f"this is not text in UTF-8{counted}: {error}", "line")
            failure.row_index = int(block.rows[row])  # type: ignore[attr-defined]
            return failure
    return block.error(0, "this is not text in UTF-8", "line")


class BlankLineSeparatedFormat:
    """Each group of lines up to an empty line is a row; the fields of a line are its columns.

    With a space as delimiter, runs of spaces count as one.

    >>> with open("t.txt", "w") as file:
    ...     _ = file.write("a 1\\nb 2\\n\\nc 3\\n")
    >>> groups = BlankLineSeparatedFormat(["word", "tag"], " ")
    >>> len(groups.scan("t.txt"))
    2
    """

    scan_id = "groups of lines, blank ones between"

    def __init__(self, columns: list[str], delimiter: str) -> None:
        self.columns, self.delimiter = columns, delimiter

    def scan(self, path: str) -> ByteRanges:
        spans = line_spans(path)
        full = spans.stops > spans.starts
        short = np.flatnonzero(spans.stops - spans.starts == 1)
        if len(short):  # a line with only a carriage return or a space
            full[short] = ~np.isin(np.memmap(path, np.uint8, "r")[spans.starts[short]], (SPACE, RETURN))
        first = full & ~np.concatenate(([False], full[:-1]))
        last = full & ~np.append(full[1:], False)
        return ByteRanges(spans.starts[first], spans.stops[last])

    def rows(self, block: RowBlock) -> dict[str, Column]:
        columns: dict[str, list[Any]] = {name: [] for name in self.columns}
        for row, piece in enumerate(block.pieces()):
            try:
                fields = [self._fields(line) for line in piece.decode().split("\n")]
            except UnicodeDecodeError as error:
                raise block.error(row, f"this is not text in UTF-8: {error}", "sentence") from None
            for line in fields:
                if len(line) != len(self.columns):
                    wanted = f"{len(self.columns)} fields ({', '.join(self.columns)})"
                    raise block.error(row, f"a line needs {wanted}, but got {line}", "sentence")
            for number, name in enumerate(self.columns):
                columns[name].append(np.array([line[number] for line in fields]))
        return dict(columns)

    def _fields(self, line: str) -> list[str]:
        fields = line.removesuffix("\r").split(self.delimiter)
        return [field for field in fields if field] if self.delimiter == " " else fields
