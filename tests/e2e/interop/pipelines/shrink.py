"""Find the smallest pipeline that still shows the same kind of difference."""

from __future__ import annotations

from collections.abc import Callable

from tests.e2e.interop.pipelines.tree import Case, smaller

TRIES = 120


def shrink(case: Case, what: str, differs: Callable[[Case], str | None]) -> tuple[Case, str]:
    """Return a simpler case, and its difference, of the same kind (the word before the colon)."""
    kind, tries = _kind(what), 0
    progress = True
    while progress and tries < TRIES:
        progress = False
        for less in smaller(case):
            tries += 1
            found = differs(less)
            if found is not None and _kind(found) == kind:
                case, what, progress = less, found, True
                break
            if tries >= TRIES:
                break
    return case, what


def _kind(what: str) -> str:
    """Return the part of a difference that must stay: its word, and on which side there was no error."""
    side = ("here no error", "MindSpore no error")
    return what.partition(":")[0] + "".join(word for word in side if word in what)
