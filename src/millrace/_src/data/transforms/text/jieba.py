"""Chinese word segmentation."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any

from millrace._src.core.args import UINT32_MAX, Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.text.byte_offsets import byte_offsets
from millrace._src.data.kernels.text.enums import JiebaMode
from millrace._src.data.kernels.text.jieba import JiebaSegmenter, load_segmenter
from millrace._src.data.transforms.argument_types import ArgumentRule

from .base import Boolean, Tokenizer

__all__ = ["JiebaTokenizer"]

# a word without white space or stars, then an optional number
_ENTRY = re.compile(r"\s*([^\s*]+?)\s*([0-9]+)?\s*")


def _check_path(name: str, value: Any) -> None:
    what = "HMMSegment" if name == "hmm_path" else "MPSegment"
    if value is None:
        raise ArgumentValueError(f"The dict of {what} in cppjieba is not provided.")
    if not isinstance(value, str):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be string.")
    if not os.path.exists(value):
        raise ArgumentValueError(f" jieba mode file {value} is not exist.")


def _check_mode(name: str, value: Any) -> None:
    if not isinstance(value, JiebaMode):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be JiebaMode.")


File = Annotated[Any, ArgumentRule(_check_path)]


@public("dataset.text", "dataset.text.transforms")
class JiebaTokenizer(Tokenizer):
    """Segment a Chinese text into words like cppjieba, with its dictionary and its hidden Markov model.

    Args:
        hmm_path (str): the hidden Markov model, cppjieba's ``hmm_model.utf8``.
        mp_path (str): the dictionary, cppjieba's ``jieba.dict.utf8``: "word frequency tag" in each line.
        mode (JiebaMode): by the dictionary (``MP``), by the model (``HMM``), or by both. Default: ``JiebaMode.MIX``.
        with_offsets (bool): also return the start and end of each word, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> with open("dict.txt", "w", encoding="utf-8") as file:
    ...     _ = file.write("今天 100 t\\n天气 80 n\\n很 200 d\\n好 150 a\\n")
    >>> with open("hmm.txt", "w", encoding="utf-8") as file:
    ...     _ = file.write(
    ...         "-1 -9 -9 -1\\n" + "-9 -1 -1 -9\\n-1 -9 -9 -1\\n" * 2 + "今:-1\\n天:-1\\n气:-1\\n好:-1\\n"
    ...     )
    >>> tokenizer = text.JiebaTokenizer("hmm.txt", "dict.txt", text.JiebaMode.MP)
    >>> tokenizer("今天天气很好")
    array(['今天', '天气', '很', '好'], dtype='<U2')
    >>> tokenizer.add_word("很好", 500)
    >>> tokenizer("今天天气很好")
    array(['今天', '天气', '很好'], dtype='<U2')
    """

    is_expensive = False

    @checked
    def __init__(
        self,
        hmm_path: File,
        mp_path: File,
        mode: Annotated[Any, ArgumentRule(_check_mode)] = JiebaMode.MIX,
        with_offsets: Boolean = False,
    ) -> None:
        self.hmm_path = hmm_path
        self.mp_path = mp_path
        self.mode = mode
        self.with_offsets = with_offsets
        self.words: list[tuple[str, int]] = []

    @checked
    def add_word(self, word: Any, freq: Any = None) -> None:
        """Add a word to the dictionary, before the tokenizer is used in a pipeline.

        Args:
            word: the word; it is a token wherever that is the most probable segmentation.
            freq: its frequency, on the scale of the dictionary; by default the median frequency.
        """
        if word is None:
            raise ArgumentValueError("word is not provided.")
        check_type(word, (str,), "word")
        if freq is not None:
            check_type(freq, (int,), "freq")
            Range(0, UINT32_MAX).check("freq", freq)
        if word:
            self.words.append((word, freq or 0))

    @checked
    def add_dict(self, user_dict: Any) -> None:
        """Add words from a dict of words and frequencies, or from a file with a word and a frequency in each line.

        Other lines are skipped.
        """
        if isinstance(user_dict, dict):
            for word, times in user_dict.items():
                self.add_word(word, times)
            return
        if not isinstance(user_dict, str):
            raise ArgumentTypeError("The type of user_dict must str or dict.")
        if not os.path.exists(user_dict):
            raise ArgumentValueError(f"user dict file {user_dict} is not exist.")
        try:
            with open(user_dict, encoding="utf-8-sig") as file:
                entries = [_ENTRY.fullmatch(line.strip()) for line in file]
        except UnicodeDecodeError as error:
            raise ArgumentValueError("user dict file must be utf8 format.") from error
        for entry in entries:
            if entry is not None:
                self.add_word(entry[1], int(entry[2] or 0))

    @property
    def _segmenter(self) -> JiebaSegmenter:
        # cached until words are added
        num_words, segmenter = self.__dict__.get("_segmenter_cache", (-1, None))
        if segmenter is None or num_words != len(self.words):
            segmenter = load_segmenter(self.mp_path, self.hmm_path, self.mode, self.words)
            self._segmenter_cache = (len(self.words), segmenter)
        return segmenter

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> JiebaTokenizer:
        """Rebuild a tokenizer from its arguments and added words; its files are read again."""
        arguments = dict(fields)
        words = arguments.pop("words", ())
        tokenizer = super().from_fields(arguments)
        assert isinstance(tokenizer, JiebaTokenizer)
        for word, times in words:
            tokenizer.add_word(word, times)
        return tokenizer

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_segmenter_cache"}

    def tokens(self, text: str) -> list[str]:
        return [text[start:stop] for start, stop in self._segmenter.spans(text)]

    def spans(self, text: str) -> tuple[list[str], list[int], list[int]]:
        spans = self._segmenter.spans(text)
        words = [text[start:stop] for start, stop in spans]
        starts, stops = zip(*spans, strict=True)
        return words, byte_offsets(text, starts), byte_offsets(text, stops)
