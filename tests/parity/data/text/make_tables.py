"""Query MindSpore for every code point and write kernels/text/unicode_data.py. From the root of the repository:

    /path/to/python-with-mindspore -m tests.parity.data.text.make_tables

What Python knows of Unicode depends on its release; MindSpore's ICU 74 has Unicode 15.1. So the properties that decide
where a text is cut are measured once and kept, and no Python and no library changes a token.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[4] / "src/millrace/_src/data/kernels/text/unicode_data.py"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HEAD = '''"""Properties of Unicode 15.1, as MindSpore 2.7.0 has them. Made by tests/parity/data/text/make_tables.py."""

from __future__ import annotations

__all__ = ["FORMATS", "IGNORED", "MARKS", "PUNCTUATION", "SCRIPTS"]
'''


def base36(number: int) -> str:
    made = DIGITS[number % 36]
    while number := number // 36:
        made = DIGITS[number % 36] + made
    return made


def ranges(points: Iterable[int]) -> list[int]:
    """How many code points are left out, how many are in, how many are left out ..., up to the last that is in."""
    runs, at = [], 0
    for point in sorted(points):
        if runs and point == at:
            runs[-1] += 1
        else:
            runs += [point - at, 1]
        at = point + 1
    return runs


def scripts(tokenize: Any) -> list[int]:
    """The length and the class of each run of code points. Two are of one class if a text is not cut between them."""
    tokens = tokenize("".join(map(chr, POINTS[1:]))).tolist()
    known: list[str] = []
    found = []
    for token in tokens:
        # the token's first character, in turn with one of each known class: it hangs together with its own
        mixed = "".join(token[0] + one for one in known) + token[0]
        parts = tokenize(mixed).tolist()
        ends = [0]
        for part in parts:
            ends.append(ends[-1] + len(part))
        place = next(((a + b) // 4 for a, b in pairwise(ends) if b - a > 1), None)
        if place is None:
            place = len(known)
            known.append(token[0])
        found.append(place)
    runs = []
    for token, place in zip(tokens, found, strict=True):
        runs += [len(token), place]
    runs[0] += 1  # U+0000, which an array of text cannot end with
    return runs


def written(name: str, runs: list[int]) -> str:
    lines = textwrap.wrap(" ".join(map(base36, runs)), 106)
    return f"{name} = (\n" + "\n".join(f'    "{line} "' for line in lines) + "\n)\n"


def main() -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore.dataset.text as text
    import numpy as np

    whole = "".join(map(chr, POINTS[1:]))

    def matched(pattern: str) -> list[int]:
        left = set(str(text.RegexReplace(pattern, "")(whole)))
        return [c for c in POINTS[1:] if chr(c) not in left]

    folded = text.CaseFold()(np.array(list(whole))).tolist()
    parts = {
        "FORMATS": ranges(matched(r"\p{Cf}")),
        "IGNORED": ranges(c for c, made in zip(POINTS[1:], folded, strict=True) if made == ""),
        "MARKS": ranges(matched(r"\p{Mn}")),
        "PUNCTUATION": ranges(matched(r"\p{P}")),
        "SCRIPTS": scripts(text.UnicodeScriptTokenizer(True)),
    }
    TABLE.write_text(HEAD + "\n" + "\n".join(written(name, runs) for name, runs in parts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
