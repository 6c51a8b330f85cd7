"""Prose that nobody wrote: words as often as words are, in lines; and the vocabulary of pieces they are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import folder, kept

__all__ = ["PIECES", "lines", "pieces", "words"]

PIECES = 20_000
LONGEST = 96
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_ENDS = (".", ".", ".", "!", "?", ";", " (so it was).", ", it is said.")


def words(count: int = 30_000) -> list[str]:
    """Words of one to four syllables; one in forty has an accent."""
    choose = np.random.default_rng(11)
    heads = [*"bcdfghjklmnprstvwz", "br", "ch", "st", "th", "tr"]
    hearts = [*"aeiou", "ai", "ea", "ou"]
    made: dict[str, None] = {}
    while len(made) < count:
        parts = [
            heads[choose.integers(len(heads))] + hearts[choose.integers(len(hearts))]
            for _ in range(int(choose.integers(1, 5)))
        ]
        word = "".join(parts) + ("" if choose.random() < 0.5 else "n")
        made["é".join(word.rsplit("e", 1)) if choose.random() < 0.025 else word] = None
    return list(made)


def lines(rows: int) -> Path:
    """A file with so many lines of 5 to 25 words."""
    return kept(folder() / f"prose-{rows}.txt", lambda path: _write_lines(path, rows))


def _write_lines(path: Path, rows: int) -> None:
    known = words()
    choose = np.random.default_rng(12)
    with path.open("w") as file:
        for _ in range(rows):
            # words are as frequent as in a language: the n-th a share of 1/n
            ranks = np.minimum(choose.zipf(1.25, int(choose.integers(5, 26))), len(known)) - 1
            line = [known[rank] for rank in ranks.tolist()]
            line[0] = line[0].capitalize()
            file.write(" ".join(line) + _ENDS[choose.integers(len(_ENDS))] + "\n")


def pieces() -> Path:
    """A vocabulary in BERT's form: a piece per line, those inside a word after ##."""
    return kept(folder() / "prose-pieces.txt", _write_pieces)


def _write_pieces(path: Path) -> None:
    known = words()
    signs = [chr(n) for n in range(33, 127)]
    letters = sorted({letter for word in known for letter in word} | {"e"})
    whole = [word for word in known if word.isascii()][: PIECES // 2]
    inside = sorted({word[i:] for word in known[:6000] for i in range(1, len(word)) if word.isascii()})
    made = dict.fromkeys([*_SPECIAL, *signs, *letters, *(f"##{letter}" for letter in letters), *whole])
    made |= dict.fromkeys(f"##{part}" for part in inside)
    path.write_text("\n".join(list(made)[:PIECES]) + "\n")
