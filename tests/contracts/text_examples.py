"""One example of every public text transform; see transform_examples.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millrace.dataset.text as T

# what the i-th row holds: strings of many scripts, and of each the words
LINES = (
    "Welcome to Beijing!",
    "北京 in 2008",
    "",
    "  Crème brûlée  ",
    "مرحبا بالعالم",
    "ﬁne ＡＢＣ e\u0301",
    "👨‍👩‍👧 hi",
    "a\tb\nc",
    "नमस्ते",
    "[CLS] x [unused1]",
    "the end",
)

# name -> (how to make it, what it takes: "text" one string, "words" an array of them)
TEXT: dict[str, tuple[Callable[[], Any], str]] = {
    "UnicodeCharTokenizer": (lambda: T.UnicodeCharTokenizer(True), "text"),
    "WhitespaceTokenizer": (lambda: T.WhitespaceTokenizer(), "text"),
}


def text_values(inputs: str, i: int) -> tuple[Any, ...]:
    """The i-th row of this kind of input."""
    line = LINES[i % len(LINES)]
    return (np.array(line.split() or [""]),) if inputs == "words" else (np.array(line),)
