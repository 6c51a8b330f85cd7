"""BERT's tokenizers: basic, WordPiece, and both in sequence."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import UINT32_MAX, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.public import public
from millrace._src.core.values.columns import StringColumn
from millrace._src.data.kernels.text import basic_tokenizer as basic
from millrace._src.data.kernels.text.byte_offsets import empty_spans
from millrace._src.data.kernels.text.unicode_normalization import NormalizeForm
from millrace._src.data.kernels.text.unicode_tokenizers import Spans
from millrace._src.data.kernels.text.vocab import Vocab
from millrace._src.data.kernels.text.wordpiece import MemoDict, WordpieceModel
from millrace._src.data.transforms.argument_types import ArgumentRule, check_interval
from millrace._src.data.transforms.tensor_operation import register_json_type

from .base import Boolean, Text, TextTensorOperation, Tokenizer, non_text_hint, token_offset_columns
from .unicode_normalization import Form

__all__ = ["BasicTokenizer", "BertTokenizer", "WordpieceTokenizer"]

register_json_type(Vocab)


def _check_vocab(name: str, value: Any) -> None:
    if value is None:
        raise ArgumentValueError("vocab is not provided.")
    if not isinstance(value, Vocab):
        raise ArgumentTypeError("Wrong input type for vocab, should be text.Vocab object.")


def _check_max_bytes(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    check_interval(value, 0, UINT32_MAX)


def _check_max_bytes_of_bert(name: str, value: Any) -> None:
    if not isinstance(value, int):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be int.")
    _check_max_bytes(name, value)


VocabArgument = Annotated[Any, ArgumentRule(_check_vocab)]
MaxBytes = Annotated[Any, ArgumentRule(_check_max_bytes)]
MaxBytesOfBert = Annotated[Any, ArgumentRule(_check_max_bytes_of_bert)]


def _read_scalar(value: np.ndarray[Any, Any], op: str) -> str:
    if value.ndim:
        raise DataError(
            f"{op}: the input should be a scalar, but got a tensor with rank: {value.ndim}, of shape {value.shape}."
        )
    if value.dtype.kind != "U":
        raise DataError(
            f"{op}: the input should be of type string, but got {value.dtype}.{non_text_hint(value)}"
        )
    return str(value.item())


@public("dataset.text", "dataset.text.transforms")
class BasicTokenizer(Tokenizer):
    """Split a text into words, punctuation marks and ideographs: the first step of BERT's tokenizer.

    Control characters become spaces. Offsets refer to the text after folding and normalization, as in MindSpore.

    Args:
        lower_case (bool): fold case (`CaseFold`) and drop accents; `normalization_form` is not used then.
            Default: ``False``.
        keep_whitespace (bool): keep runs of white space as tokens. Default: ``False``.
        normalization_form (NormalizeForm): Unicode's normal form to use first. Default: ``NormalizeForm.NONE``.
        preserve_unused_token (bool): keep ``[CLS]``, ``[SEP]``, ``[UNK]``, ``[PAD]``, ``[MASK]`` and ``[unused0]``
            unchanged as one token. With `lower_case`, MindSpore 2.7.0 repeats the text before such a token after
            it; here it occurs once. Default: ``True``.
        with_offsets (bool): also return the start and end of each token, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.BasicTokenizer(lower_case=True)("[CLS] Crème brûlée, 北京!")
    array(['[CLS]', 'creme', 'brulee', ',', '北', '京', '!'], dtype='<U6')
    """

    _one_column = "input only support one column data"
    _read = staticmethod(_read_scalar)

    @checked
    def __init__(
        self,
        lower_case: Boolean = False,
        keep_whitespace: Boolean = False,
        normalization_form: Form = NormalizeForm.NONE,
        preserve_unused_token: Boolean = True,
        with_offsets: Boolean = False,
    ) -> None:
        self.lower_case = lower_case
        self.keep_whitespace = keep_whitespace
        self.normalization_form = NormalizeForm(normalization_form)
        self.preserve_unused_token = preserve_unused_token
        self.with_offsets = with_offsets

    def tokens(self, text: str) -> list[str]:
        return basic.basic_tokens(self._cleaned(text), self.keep_whitespace, self.preserve_unused_token) or [
            ""
        ]

    def spans(self, text: str) -> tuple[list[str], list[int], list[int]]:
        return basic.basic_spans(self._cleaned(text), self.keep_whitespace, self.preserve_unused_token)

    def _cleaned(self, text: str) -> str:
        form = NormalizeForm(self.normalization_form)
        return basic.clean_text(text, self.lower_case, form, self.preserve_unused_token)


class _WordpieceMixin:
    """Word pieces by a vocabulary. The segmentation model is built on first use, and not pickled."""

    vocab: Any
    suffix_indicator: str
    max_bytes_per_token: int
    unknown_token: str
    _model: WordpieceModel | None = None
    _known: MemoDict | None = None

    @property
    def _pieces(self) -> WordpieceModel:
        if self._model is None:
            self._model = WordpieceModel(
                self.vocab.table, self.suffix_indicator, self.max_bytes_per_token, self.unknown_token
            )
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


@public("dataset.text", "dataset.text.transforms")
class WordpieceTokenizer(_WordpieceMixin, TextTensorOperation):
    """Split words into word pieces of a vocabulary, longest match first: the second step of BERT's tokenizer.

    It takes one word, an array of words, or the result of `BasicTokenizer` with offsets: words, starts and ends. A word
    without pieces is one token. With offsets, MindSpore 2.7.0 keeps the offsets of the pieces that it had matched in
    such a word, and ends one that is too long after the length of the unknown token; here every such token has the
    offsets of the whole word.

    Args:
        vocab (Vocab): the vocabulary.
        suffix_indicator (str): prefix of a piece that does not begin a word. Default: ``'##'``.
        max_bytes_per_token (int): a longer word is not split, but unknown. Default: ``100``.
        unknown_token (str): the token for an unknown word; ``''`` for the word itself. Default: ``'[UNK]'``.
        with_offsets (bool): also return the start and end of each token within the word, in bytes of UTF-8.
            Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> vocab = text.Vocab.from_list(["book", "fav", "##ori", "##te", "my", "[UNK]"])
    >>> text.WordpieceTokenizer(vocab)(["my", "favorite", "film"])
    array(['my', 'fav', '##ori', '##te', '[UNK]'], dtype='<U5')
    """

    num_inputs = None
    batch_column_types = (StringColumn,)

    @checked
    def __init__(
        self,
        vocab: VocabArgument,
        suffix_indicator: Text = "##",
        max_bytes_per_token: MaxBytes = 100,
        unknown_token: Text = "[UNK]",
        with_offsets: Boolean = False,
    ) -> None:
        self.vocab = vocab
        self.suffix_indicator = suffix_indicator
        self.max_bytes_per_token = max_bytes_per_token
        self.unknown_token = unknown_token
        self.with_offsets = with_offsets

    def row(self, *values: Any) -> Any:
        words = self._check_words(values)
        if not self.with_offsets:
            return np.array(self._pieces.pieces_of.lookup_all(words) or [""])
        starts = [0] * len(words) if len(values) == 1 else values[1].ravel().tolist()
        tokens, begins, ends = _split_words(self._pieces, words, starts)
        return np.array(tokens), np.array(begins, np.uint32), np.array(ends, np.uint32)

    def batch(self, xs: StringColumn, *offsets: Any) -> Any:
        if offsets:
            return None
        lists = xs.lists()
        if not self.with_offsets:
            all_of = self._pieces.pieces_of.lookup_all
            return StringColumn.of_lists([all_of(words) or [""] for words in lists])
        return token_offset_columns([_split_words(self._pieces, words, [0] * len(words)) for words in lists])

    def _check_words(self, values: tuple[Any, ...]) -> list[str]:
        if len(values) not in (1, 3):
            raise DataError(
                f"WordpieceTokenizer: it takes one column of words, or three: words, starts and limits, but got "
                f"{len(values)}."
            )
        value = values[0]
        if value.dtype.kind != "U" or value.ndim > 1:
            raise DataError(
                "WordpieceTokenizer: The input shape should be 1D scalar the input datatype should be string, but got "
                f"shape {value.shape} of type {value.dtype}.{non_text_hint(value)}"
            )
        words: list[str] = value.reshape(-1).tolist()
        if len(values) == 3 and values[1].size != len(words):
            raise DataError(
                f"WordpieceTokenizer: {len(words)} words and {values[1].size} starts: there must be as many."
            )
        return words


def _split_words(model: WordpieceModel, words: list[str], starts: list[int]) -> Spans:
    """Pieces of words that start at these bytes, with their offsets."""
    tokens: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    for word, start in zip(words, starts, strict=True):
        if word:
            pieces, first, last = model.spans(word, start)
            tokens += pieces
            begins += first
            ends += last
    return (tokens, begins, ends) if tokens else empty_spans()


@public("dataset.text", "dataset.text.transforms")
class BertTokenizer(_WordpieceMixin, BasicTokenizer, ours=True):
    """Tokenize a text like BERT: `BasicTokenizer`, then `WordpieceTokenizer`, with the same arguments.

    Args:
        vocab (Vocab): the vocabulary.
        suffix_indicator (str): prefix of a piece that does not begin a word. Default: ``'##'``.
        max_bytes_per_token (int): a longer word is not split, but unknown. Default: ``100``.
        unknown_token (str): the token for an unknown word; ``''`` for the word itself. Default: ``'[UNK]'``.
        lower_case (bool): fold case and drop accents. Default: ``False``.
        keep_whitespace (bool): keep runs of white space as tokens. Default: ``False``.
        normalization_form (NormalizeForm): Unicode's normal form to use first. Default: ``NormalizeForm.NONE``.
        preserve_unused_token (bool): keep ``[CLS]`` and similar tokens unchanged. Default: ``True``.
        with_offsets (bool): also return the start and end of each token, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> vocab = text.Vocab.from_list(["[UNK]", "[CLS]", "bei", "##jing", "welcome", "to", "!"])
    >>> text.BertTokenizer(vocab, lower_case=True)("[CLS] Welcome to Beijing today!")
    array(['[CLS]', 'welcome', 'to', 'bei', '##jing', '[UNK]', '!'],
          dtype='<U7')
    """

    @checked
    def __init__(
        self,
        vocab: VocabArgument,
        suffix_indicator: Text = "##",
        max_bytes_per_token: MaxBytesOfBert = 100,
        unknown_token: Text = "[UNK]",
        lower_case: Boolean = False,
        keep_whitespace: Boolean = False,
        normalization_form: Form = NormalizeForm.NONE,
        preserve_unused_token: Boolean = True,
        with_offsets: Boolean = False,
    ) -> None:
        super().__init__(lower_case, keep_whitespace, normalization_form, preserve_unused_token, with_offsets)
        self.vocab = vocab
        self.suffix_indicator = suffix_indicator
        self.max_bytes_per_token = max_bytes_per_token
        self.unknown_token = unknown_token

    def tokens(self, text: str) -> list[str]:
        if self.keep_whitespace:
            return self._pieces.pieces_of.lookup_all(super().tokens(text)) or [""]
        return self._pieces_by_word.lookup_all(text.split()) or [""]

    @property
    def _pieces_by_word(self) -> MemoDict:
        """Cache of the pieces of a text between white space: they do not depend on its neighbours."""
        if self._known is None:
            pieces, basic_tokens = self._pieces, super().tokens
            self._known = MemoDict(lambda word: tuple(pieces.pieces_of.lookup_all(basic_tokens(word))))
        return self._known

    def lists(self, texts: list[str]) -> list[list[str]]:
        if self.keep_whitespace:
            return super().lists(texts)
        all_of = self._pieces_by_word.lookup_all
        return [all_of(words) or [""] for words in map(str.split, texts)]

    def spans(self, text: str) -> Spans:
        words, starts, _ = super().spans(text)
        return _split_words(self._pieces, words, starts)
