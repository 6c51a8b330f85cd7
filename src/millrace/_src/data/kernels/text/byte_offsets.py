"""Where tokens stand in a text, in bytes of its UTF-8 form."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["byte_offsets", "empty_spans"]


def byte_offsets(text: str, positions: Sequence[int]) -> list[int]:
    """Places counted in characters, in rising order, as places counted in bytes of UTF-8.

    >>> byte_offsets("aé中b", [0, 1, 2, 3, 4])
    [0, 1, 3, 6, 7]
    """
    if text.isascii():
        return list(positions)
    offsets: list[int] = []
    previous = offset = 0
    for position in positions:
        if position != previous:
            # half of a surrogate pair has no UTF-8; it counts as the three bytes it would take
            offset += len(text[previous:position].encode("utf-8", "surrogatepass"))
            previous = position
        offsets.append(offset)
    return offsets


def empty_spans() -> tuple[list[str], list[int], list[int]]:
    """What a tokenizer gives that finds no token: one, empty, at the beginning."""
    return [""], [0], [0]
