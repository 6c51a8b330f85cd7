"""Text between tags, as the TED talks of IWSLT have it, found by its offsets; no XML is interpreted."""

from __future__ import annotations

import html
import re

import numpy as np

from millrace.core.chunk import Column
from millrace.core.errors import FormatError

from .lines import line_spans, text_column
from .spans import Block, Spans

__all__ = ["Segments", "Untagged"]

MOST_BYTES = 1 << 30
_SEGMENT = re.compile(rb"<seg\b[^<>]{0,200}>([^<]*)</seg>")


class Untagged:
    """Lines that do not begin with a tag, without the space around them.

    >>> with open("t.txt", "w") as file:
    ...     _ = file.write("<title>x</title>\\n one \\n")
    >>> len(Untagged("text").scan("t.txt"))
    1
    """

    kind = "untagged lines"

    def __init__(self, column: str) -> None:
        self.column = column

    def scan(self, path: str) -> Spans:
        spans = line_spans(path)
        with open(path, "rb") as file:
            data = np.frombuffer(file.read(), np.uint8)
        full = spans.stops > spans.starts
        starts, stops = spans.starts[full], spans.stops[full]
        keep = data[starts] != ord("<") if len(starts) else full[:0]
        return Spans(starts[keep], stops[keep])

    def rows(self, block: Block) -> dict[str, Column]:
        return {self.column: text_column([text.strip() for text in _decoded(block)])}


class Segments:
    """The text of every ``<seg>`` of a file, entities resolved, without the space around it.

    >>> with open("t.xml", "w") as file:
    ...     _ = file.write('<doc><seg id="1"> one &amp; two </seg></doc>')
    >>> len(Segments("text").scan("t.xml"))
    1
    """

    kind = "segments"

    def __init__(self, column: str) -> None:
        self.column = column

    def scan(self, path: str) -> Spans:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise FormatError(f"{path}: an XML file of more than {MOST_BYTES} bytes is not read", file=path)
        found = [match.span(1) for match in _SEGMENT.finditer(data)]
        if not found:
            raise FormatError(f"Invalid file, failed to load xml file: {path} has no <seg>", file=path)
        both = np.array(found, np.int64)
        return Spans(both[:, 0].copy(), both[:, 1].copy())

    def rows(self, block: Block) -> dict[str, Column]:
        return {self.column: text_column([html.unescape(text).strip() for text in _decoded(block)])}


def _decoded(block: Block) -> list[str]:
    made = []
    for row, piece in enumerate(block.pieces()):
        try:
            made.append(piece.decode())
        except UnicodeDecodeError as error:
            raise block.error(row, f"this is no text in UTF-8: {error}") from None
    return made
