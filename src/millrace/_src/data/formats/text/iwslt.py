"""Text segments of IWSLT's tagged and XML files, by byte offset."""

from __future__ import annotations

import html
import re

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.files.byte_ranges import ByteRanges, RowBlock

from .lines import line_spans, text_column

__all__ = ["SegmentTagFormat", "UntaggedLineFormat"]

MOST_BYTES = 1 << 30
# The tags that MindSpore skips; any other line is text, even if it begins with "<".
_TAGS = tuple(b"<url <keywords <talkid <description <reviewer <translator <title <speaker <doc </doc".split())
_SEGMENT = re.compile(rb"<seg\b[^<>]{0,200}>([^<]*)</seg>")


class UntaggedLineFormat:
    """Lines that do not begin with a tag, stripped; line n of one language is the translation of line n of the other.

    >>> with open("t.txt", "w") as file:
    ...     _ = file.write("<title>x</title>\\n one \\n")
    >>> len(UntaggedLineFormat("text").scan("t.txt"))
    1
    """

    scan_id = "untagged lines, blank too"
    blank_together = True

    def __init__(self, column: str) -> None:
        self.column = column

    def scan(self, path: str) -> ByteRanges:
        spans = line_spans(path)
        full = spans.stops > spans.starts
        if not full.any():
            return spans
        data = np.memmap(path, np.uint8, "r")
        first = data[np.where(full, spans.starts, 0)]
        keep = np.ones(len(spans), bool)
        for row in np.flatnonzero(full & ((first == ord("<")) | (first == ord(" ")) | (first == ord("\t")))):
            line = data[spans.starts[row] : spans.stops[row]].tobytes()
            keep[row] = not line.lstrip().startswith(_TAGS)
        return ByteRanges(spans.starts[keep], spans.stops[keep])

    def rows(self, block: RowBlock) -> dict[str, Column]:
        return {self.column: text_column([text.strip() for text in _decode_rows(block)])}


class SegmentTagFormat:
    """The stripped text of every ``<seg>`` element of a file, with entities resolved.

    >>> with open("t.xml", "w") as file:
    ...     _ = file.write('<doc><seg id="1"> one &amp; two </seg></doc>')
    >>> len(SegmentTagFormat("text").scan("t.xml"))
    1
    """

    scan_id = "segments"

    def __init__(self, column: str) -> None:
        self.column = column

    def scan(self, path: str) -> ByteRanges:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise FormatError(
                f"{path}: an XML file of more than {MOST_BYTES} bytes cannot be read", file=path
            )
        spans = [match.span(1) for match in _SEGMENT.finditer(data)]
        if not spans:
            raise FormatError(f"Invalid file, failed to load xml file: {path} has no <seg>", file=path)
        both = np.array(spans, np.int64)
        return ByteRanges(both[:, 0].copy(), both[:, 1].copy())

    def rows(self, block: RowBlock) -> dict[str, Column]:
        return {self.column: text_column([html.unescape(text).strip() for text in _decode_rows(block)])}


def _decode_rows(block: RowBlock) -> list[str]:
    texts = []
    for row, piece in enumerate(block.pieces()):
        try:
            texts.append(piece.decode())
        except UnicodeDecodeError as error:
            raise block.error(row, f"this is not text in UTF-8: {error}") from None
    return texts
