"""Offsets of tokens in the UTF-8 form of a text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["byte_offsets", "empty_spans"]


def byte_offsets(text: str, positions: Sequence[int]) -> list[int]:
    """Convert ascending character offsets to byte offsets of UTF-8.

    >>> byte_offsets("aé中b", [0, 1, 2, 3, 4])
    [0, 1, 3, 6, 7]
    """
    if text.isascii():
        return list(positions)
    offsets: list[int] = []
    previous = offset = 0
    for position in positions:
        if position != previous:
            # a lone surrogate has no UTF-8 form; it counts as three bytes
            offset += len(text[previous:position].encode("utf-8", "surrogatepass"))
            previous = position
        offsets.append(offset)
    return offsets


def empty_spans() -> tuple[list[str], list[int], list[int]]:
    """Result of a tokenizer without tokens: one empty token at offset 0."""
    return [""], [0], [0]
