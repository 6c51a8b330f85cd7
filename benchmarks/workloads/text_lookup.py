"""Words: a text file split at spaces, and looked up."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import prose, seconds
from benchmarks.measure import Again, loop

from . import STREAM, Bar
from .text_bert import BATCH, beside, count, like

TITLE = "Text to words"
QUESTION = (
    "50,000 lines of 5 to 25 words, split at spaces, vocabulary of 30,000 words, padded to 32, batch 64"
)
NOTE = (
    "Millrace and MindSpore run the same lines: TextFileDataset, WhitespaceTokenizer, Lookup, PadEnd, batch, each with "
    "two workers a map and with its defaults. PyTorch: an IterableDataset over the file, str.split and a dict. A batch "
    "is an int32 array in all."
)
WHY = {"torch": "it is str.split and a dict in a bare loop, with nothing beside it."}
FILES = ("millrace",)
METRICS = STREAM
BARS = (Bar("at least 5 times MindSpore", "rows_per_s", ratio=5),)

LENGTH = 32


def _steps(text: Any, kind: Any) -> list[Any]:
    vocab = text.Vocab.from_list(prose.words(), special_tokens=["<pad>", "<unk>"])
    return [text.WhitespaceTokenizer(), text.Lookup(vocab, "<unk>", kind)]


def torch(quick: bool) -> dict[str, Any]:
    from torch.utils.data import DataLoader, IterableDataset

    known = {word: n for n, word in enumerate(["<pad>", "<unk>", *prose.words()])}
    file = prose.lines(count(quick))

    class File(IterableDataset):  # type: ignore[type-arg,misc]
        def __iter__(self) -> Any:
            with file.open() as opened:
                for line in opened:
                    yield [known.get(word, 1) for word in line.split()]

    def collate(rows: list[list[int]]) -> Any:
        made = np.zeros((len(rows), LENGTH), np.int32)
        for place, row in enumerate(rows):
            made[place, : len(row)] = row
        return (made,)

    return loop(
        lambda: Again(lambda: iter(DataLoader(File(), BATCH, collate_fn=collate))),
        seconds(quick),
        rows=count(quick),
        like=like(LENGTH),
    )


VARIANTS = beside(_steps, LENGTH) | {"torch": {"no workers": torch}}
