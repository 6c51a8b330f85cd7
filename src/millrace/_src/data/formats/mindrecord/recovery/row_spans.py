"""Validation of row byte spans inside a page of a damaged file.

A run is the part of a row group in one page: length-prefixed rows from its first to its last byte. Without other
evidence, the lengths prove the rows only if all of them are consistent: the expected number of rows, with the last one
ending at the end of the run. After one damaged length (zeros read as empty rows) no later offset can be trusted. If
the offsets are known from another source (an index, rows of equal size), a row is valid if the lengths before and
after it match: damage next to a row may extend into it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.mindrecord.row_scan import scan_rows
from millrace._src.data.formats.mindrecord.schema import RecordSchema

__all__ = ["PageRun", "Span", "fixed_size", "validate_spans"]

Ints = npt.NDArray[np.int64]
Span = tuple[int, int] | str  # byte range of a payload, or the reason why it is lost


@dataclasses.dataclass(frozen=True)
class PageRun:
    """The rows of one group in one page, according to the header."""

    page: int | None
    start: int
    end: int
    rows: int


def fixed_size(schema: RecordSchema) -> int | None:
    """Size of every blob row in bytes if the schema fixes it, else None.

    >>> fixed_size(RecordSchema.parse({"x": {"type": "float32", "shape": [2, 2]}, "n": {"type": "int32"}}))
    16
    >>> fixed_size(RecordSchema.parse({"n": {"type": "int32"}}))
    4
    """
    if not schema.blob:
        return 4
    total = 0
    for field in schema.blob:
        if field.type == "bytes" or not field.is_float or field.fixed_size is None:
            return None
        total += field.fixed_size * field.dtype.itemsize
    return total + (8 * len(schema.blob) if len(schema.blob) > 1 else 0)


def validate_spans(
    data: Any, size: int, run: PageRun, known: tuple[Ints, Ints] | None
) -> tuple[list[Span], bool]:
    """Validate the rows of a run; return their spans, and whether the lengths alone prove all of them.

    ``known`` has start and end of each row, including its length prefix, from other evidence.
    """
    if run.page is None:
        return ["its row group has no page of scalars"] * run.rows, False
    reason = "the file is cut short"
    if run.end <= size:
        try:
            begins, ends = scan_rows(data, run.start, run.end, run.rows)
            if int(ends[-1]) == run.end:
                return list(zip(begins.tolist(), ends.tolist())), True
            reason = f"the lengths of the rows in its page end {run.end - int(ends[-1])} bytes too early"
        except FormatError as error:
            number = error.context.get("row", 0)
            reason = f"the lengths of the rows in its page go wrong at row {number} or before"
    if known is None:
        text = f"{reason}, and without an index or checksums no row of the page can be proven whole"
        return [text] * run.rows, False
    return _validate_known_spans(data, size, known, reason), False


def _validate_known_spans(data: Any, size: int, known: tuple[Ints, Ints], reason: str) -> list[Span]:
    starts, ends = known
    in_bounds = (starts >= 0) & (ends - starts >= 8) & (ends <= size)
    length_offsets = np.where(in_bounds, starts, 0)
    lengths = np.array(
        [int.from_bytes(data[at : at + 8], "little") for at in length_offsets.tolist()], np.uint64
    )
    length_matches = in_bounds & (lengths == np.maximum(ends - starts - 8, 0).astype(np.uint64))
    next_matches = np.append(length_matches[1:], True)
    spans: list[Span] = []
    for good, next_good, start, end in zip(
        length_matches.tolist(), next_matches.tolist(), starts.tolist(), ends.tolist()
    ):
        if end > size:
            spans.append("the file is cut short before its end")
        elif not good:
            spans.append("its length is damaged")
        elif not next_good:
            spans.append("the length behind it is damaged, and the damage may reach into it")
        else:
            spans.append((start + 8, end))
    return spans
