"""BERT: a text file to batches of token numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import prose, seconds
from benchmarks.measure import Again, Column, loop

from . import STREAM, Bar, Variants, with_defaults_and_two

TITLE = "Text to BERT tokens"
QUESTION = (
    "50,000 lines of 5 to 25 words, BERT tokenizer, vocabulary of 20,000 pieces, padded to 96, batch 64"
)
NOTE = (
    "Millrace and MindSpore run the same lines: TextFileDataset, BertTokenizer, Lookup, PadEnd, batch, each with two "
    "workers a map and with its defaults. Hugging Face `tokenizers`: BERT's normalizer, splitter and pieces, fed by a "
    "loop over the file, 64 or 960 lines to a call of encode_batch_fast, which uses both cores itself. A batch is an "
    "int32 array in all."
)
FILES = ("millrace",)
METRICS = STREAM
BARS = (
    Bar("at least 5 times MindSpore", "rows_per_s", ratio=5),
    Bar("at least level with Hugging Face tokenizers", "rows_per_s", ratio=1, peer="tokenizers"),
)

BATCH, LENGTH = 64, prose.LONGEST


def count(quick: bool) -> int:
    return 600 if quick else 50_000


def like(length: int) -> tuple[Column, ...]:
    return (((length,), "int32"),)


def like_mindspore(
    ds: Any, transforms: Any, steps: list[Any], length: int, quick: bool, **workers: int
) -> dict[str, Any]:
    file = str(prose.lines(count(quick)))

    def build() -> Any:
        data = ds.TextFileDataset(file, shuffle=False)
        for step in (*steps, transforms.PadEnd([length], 0)):
            data = data.map(step, "text", **workers)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), rows=count(quick), like=like(length))


def beside(steps: Callable[[Any, Any], list[Any]], length: int) -> Variants:
    """Both of them: ``steps`` of a text module with MindSpore's names, for a type of number, and padding."""

    def millrace(quick: bool, **workers: int) -> dict[str, Any]:
        import millrace
        import millrace.dataset as ds
        from millrace.dataset import text, transforms

        return like_mindspore(ds, transforms, steps(text, millrace.int32), length, quick, **workers)

    def mindspore(quick: bool, **workers: int) -> dict[str, Any]:
        import mindspore
        import mindspore.dataset as ds
        from mindspore.dataset import text, transforms

        return like_mindspore(ds, transforms, steps(text, mindspore.int32), length, quick, **workers)

    return {"millrace": with_defaults_and_two(millrace), "mindspore": with_defaults_and_two(mindspore)}


def _steps(text: Any, kind: Any) -> list[Any]:
    vocab = text.Vocab.from_file(str(prose.pieces()))
    return [text.BertTokenizer(vocab, lower_case=True), text.Lookup(vocab, "[UNK]", kind)]


def tokenizers(quick: bool, at_once: int = BATCH) -> dict[str, Any]:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    file, rows = prose.lines(count(quick)), count(quick)
    known = {piece: n for n, piece in enumerate(prose.pieces().read_text().split("\n")[:-1])}
    tokenizer = Tokenizer(models.WordPiece(known, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.enable_padding(length=LENGTH)
    tokenizer.enable_truncation(LENGTH)

    def epoch() -> Any:
        held: list[str] = []
        with file.open() as opened:
            for line in opened:
                held.append(line.rstrip("\n"))
                if len(held) == at_once:
                    yield from batches(held)
                    held = []
        yield from batches(held)

    def batches(held: list[str]) -> Any:
        made = tokenizer.encode_batch_fast(held, add_special_tokens=False) if held else []
        for start in range(0, len(made), BATCH):
            yield (np.array([one.ids for one in made[start : start + BATCH]], np.int32),)

    return loop(lambda: Again(epoch), seconds(quick), rows=rows, like=like(LENGTH))


VARIANTS = beside(_steps, LENGTH) | {
    "tokenizers": {
        "64 lines to a call": tokenizers,
        "960 lines to a call": lambda quick: tokenizers(quick, BATCH * 15),
    },
}
