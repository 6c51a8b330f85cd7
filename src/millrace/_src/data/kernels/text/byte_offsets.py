"""Where tokens stand in a text, in bytes of its UTF-8 form."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["byte_offsets", "nothing"]


def byte_offsets(text: str, places: Sequence[int]) -> list[int]:
    """Places counted in characters, in rising order, as places counted in bytes of UTF-8.

    >>> byte_offsets("aé中b", [0, 1, 2, 3, 4])
    [0, 1, 3, 6, 7]
    """
    if text.isascii():
        return list(places)
    made: list[int] = []
    past = at = 0
    for place in places:
        if place != past:
            # half of a surrogate pair has no UTF-8; it counts as the three bytes it would take
            at += len(text[past:place].encode("utf-8", "surrogatepass"))
            past = place
        made.append(at)
    return made


def nothing() -> tuple[list[str], list[int], list[int]]:
    """What a tokenizer gives that finds no token: one, empty, at the beginning."""
    return [""], [0], [0]
