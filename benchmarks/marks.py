"""Pages that are partly made: what stands between two marks is filled in, everything around them stays."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["filled"]


def filled(text: str, begin: str, end: str, inside: Sequence[str]) -> str:
    """The text with these lines between the marks, in place of what was there."""
    before, mark, rest = text.partition(begin)
    _, other, after = rest.partition(end)
    if not mark or not other:
        raise SystemExit(f"the page has no place for results: it needs the lines {begin} and {end}")
    return "\n".join([before + begin, "", *inside, "", end + after])
