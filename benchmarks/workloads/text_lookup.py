"""Words: a text file split at spaces, and looked up."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import prose, seconds
from benchmarks.measure import Again, loop

from . import STREAM, Bar

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

BATCH, LENGTH = 64, 32
LIKE = (((LENGTH,), "int32"),)


def count(quick: bool) -> int:
    return 600 if quick else 50_000


def like_mindspore(
    ds: Any, text: Any, transforms: Any, kind: Any, quick: bool, **workers: int
) -> dict[str, Any]:
    file = str(prose.lines(count(quick)))
    vocab = text.Vocab.from_list(prose.words(), special_tokens=["<pad>", "<unk>"])

    def build() -> Any:
        data = ds.TextFileDataset(file, shuffle=False)
        data = data.map(text.WhitespaceTokenizer(), "text", **workers)
        data = data.map(text.Lookup(vocab, "<unk>", kind), "text", **workers)
        data = data.map(transforms.PadEnd([LENGTH], 0), "text", **workers)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), rows=count(quick), like=LIKE)


def millrace(quick: bool, **workers: int) -> dict[str, Any]:
    import millrace
    import millrace.dataset as ds
    from millrace.dataset import text, transforms

    return like_mindspore(ds, text, transforms, millrace.int32, quick, **workers)


def mindspore(quick: bool, **workers: int) -> dict[str, Any]:
    import mindspore
    import mindspore.dataset as ds
    from mindspore.dataset import text, transforms

    return like_mindspore(ds, text, transforms, mindspore.int32, quick, **workers)


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
        like=LIKE,
    )


VARIANTS = {
    "millrace": {
        "defaults": lambda quick: millrace(quick),
        "2 workers": lambda quick: millrace(quick, num_parallel_workers=2),
    },
    "mindspore": {
        "defaults": lambda quick: mindspore(quick),
        "2 workers": lambda quick: mindspore(quick, num_parallel_workers=2),
    },
    "torch": {"no workers": torch},
}
