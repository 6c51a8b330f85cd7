"""One example of every public text transform; see transform_examples.py."""

from __future__ import annotations

import atexit
import functools
import importlib
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import millrace.dataset.text as T
from tests.contracts.transforms.tokenizer_examples import TOKENIZERS
from tests.parity.data.text.inputs import FILES

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


@functools.cache
def tokenizer_file() -> str:
    """A ``tokenizer.json`` over bytes, made and saved by the library; it goes when the tests are over."""
    library: Any = importlib.import_module("tokenizers")
    made = library.Tokenizer(library.models.BPE())
    made.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = library.pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        LINES, library.trainers.BpeTrainer(vocab_size=300, initial_alphabet=letters, show_progress=False)
    )
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made.save(f"{folder}/tokenizer.json")
    return f"{folder}/tokenizer.json"


# name -> (how to make it, what it takes: "text" one string, "words" an array of them, "digits" one of numbers as text,
# "pairs" two of words)
TEXT: dict[str, tuple[Callable[[], Any], str]] = {
    "AddToken": (lambda: T.AddToken("[CLS]"), "words"),
    "HuggingFaceTokenizer": (lambda: T.HuggingFaceTokenizer(tokenizer_file()), "text"),
    "JiebaTokenizer": (
        lambda: T.JiebaTokenizer(f"{FILES}/hmm.txt", f"{FILES}/jieba.txt", with_offsets=True),
        "text",
    ),
    "Lookup": (lambda: T.Lookup(T.Vocab.from_list(["<unk>", "the", "北京"]), "<unk>"), "words"),
    "Ngram": (lambda: T.Ngram([2, 3], ("_", 1), ("_", 2), "-"), "words"),
    "SentencePieceTokenizer": (
        lambda: T.SentencePieceTokenizer(f"{FILES}/pieces.model", T.SPieceTokenizerOutType.INT),
        "text",
    ),
    "SlidingWindow": (lambda: T.SlidingWindow(2), "words"),
    "ToNumber": (lambda: T.ToNumber(np.int32), "digits"),
    "ToVectors": (
        lambda: T.ToVectors(T.Vectors.from_file(f"{FILES}/vectors.txt"), lower_case_backup=True),
        "words",
    ),
    "Truncate": (lambda: T.Truncate(2), "words"),
    "TruncateSequencePair": (lambda: T.TruncateSequencePair(3), "pairs"),
    **TOKENIZERS,
}


def text_values(inputs: str, i: int) -> tuple[Any, ...]:
    """The i-th row of this kind of input."""
    line = LINES[i % len(LINES)]
    if inputs == "digits":
        return (np.array([str(i), str(-i), f" {i}.5"]),)
    words = np.array(line.split() or [""])
    return {"words": (words,), "pairs": (words, words[::-1]), "text": (np.array(line),)}[inputs]
