"""Vocab: an immutable mapping of words to ids, shared within a process.

A pickled Vocab is one buffer of text and two arrays. The engine sends them to workers out of band: they are written
once and mapped by each worker. The table is built from them at the first lookup, and two equal vocabularies that reach
one process become one object there. The fingerprint of a pipeline uses a hash of the contents, which is computed once.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np

from millrace._src.core.args import INT32_MAX, Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, PlanError
from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

from .vocab_arrays import VocabArrays
from .vocab_builder import (
    Count,
    PositiveCount,
    WordIds,
    WordList,
    as_column_names,
    as_frequency_range,
    count_words,
    raise_duplicate_word,
    read_words,
)

__all__ = ["Vocab"]

_UNBUILT = (
    "The Vocab has not built yet, got type <class 'NoneType'>. Use Vocab.from_dataset(), Vocab.from_list(), "
    "Vocab.from_file() or Vocab.from_dict() to build a Vocab."
)


@public("dataset.text", "dataset.text.utils")
@stable_id("text.Vocab")
class Vocab:
    """Vocabulary: an immutable mapping of words to ids, from a list, a dict, a file or a dataset.

    It is compared, hashed and pickled by its contents. Workers share one copy.

    >>> vocab = Vocab.from_list(["we", "the", "world"], special_tokens=["<pad>", "<unk>"])
    >>> vocab
    Vocab(5 words)
    >>> vocab.tokens_to_ids(["the", "world", "moon"]), vocab.ids_to_tokens([0, 2])
    ([3, 4, -1], ['<pad>', 'we'])
    """

    def __init__(self) -> None:
        self._table: dict[str, int] | None = None
        self._packed: VocabArrays | None = None
        self._tokens: dict[int, str] | None = None
        self._digest = b""

    # --- construction -------------------------------------------------------------------------------

    @classmethod
    @checked
    def from_list(
        cls, word_list: WordList, special_tokens: WordList = None, special_first: bool = True
    ) -> Self:
        """Vocabulary of these words, with ids in their order; special tokens come before or after them.

        >>> Vocab.from_list(["a", "b"], ["<pad>"], special_first=False).vocab()
        {'a': 0, 'b': 1, '<pad>': 2}
        """
        shared = set(word_list).intersection(special_tokens or ())
        if shared:
            raise ArgumentValueError(f"special_tokens and word_list contain duplicate word :{shared}.")
        return cls._numbered(word_list, special_tokens, special_first)

    @classmethod
    @checked
    def from_dict(cls, word_dict: Annotated[dict[str, int], WordIds()]) -> Self:
        """Vocabulary with these ids. Gaps are allowed; of two words with one id, the later one is its token.

        >>> Vocab.from_dict({"home": 3, "behind": 2}).ids_to_tokens([2, 3, 4])
        ['behind', 'home', '']
        """
        return cls._from_table(dict(word_dict))

    @classmethod
    @checked
    def from_file(
        cls,
        file_path: str,
        delimiter: str = "",
        vocab_size: Count = None,
        special_tokens: WordList = None,
        special_first: bool = True,
    ) -> Self:
        """Vocabulary from a text file in UTF-8, a word in each line.

        Args:
            file_path: the file. Lines end with a newline; all else in them, a carriage return too, belongs to the word.
            delimiter: the word ends where this begins; without it the whole line is the word.
            vocab_size: the maximum number of words; special tokens are not counted.
            special_tokens: words that the file must not hold.
            special_first: whether they come before the words of the file.

        >>> with open("vocab.txt", "w") as file:
        ...     _ = file.write("we,17\\nthe,12\\n")
        >>> Vocab.from_file("vocab.txt", ",", None, ["<unk>"]).vocab()
        {'<unk>': 0, 'we': 1, 'the': 2}
        """
        words = read_words(file_path, delimiter, vocab_size)
        special = set(special_tokens or ())
        if len(set(words)) < len(words) or not special.isdisjoint(words):
            raise_duplicate_word(file_path, words, special)
        return cls._numbered(words, special_tokens, special_first)

    @classmethod
    @checked
    def from_dataset(
        cls,
        dataset: Any,
        columns: Any = None,
        freq_range: Any = None,
        top_k: Any = None,
        special_tokens: WordList = None,
        special_first: bool = True,
    ) -> Self:
        """Vocabulary of the words in a dataset, by descending frequency; equally frequent words in alphabetical order.

        Args:
            dataset: it is read once, to its end.
            columns: a text column or a list of text columns; None for all.
            freq_range: (minimum, maximum) frequency of a word, both included; None for no limit.
            top_k: the maximum number of words that are kept, after ``freq_range``.
            special_tokens: words that the dataset must not hold.
            special_first: whether they come before the words of the dataset.

        >>> import millrace.dataset as ds
        >>> words = ds.NumpySlicesDataset({"text": [["b", "a", "c"], ["c", "d", "c"]]}, shuffle=False)
        >>> Vocab.from_dataset(words, "text", top_k=2, special_tokens=["<unk>"]).vocab()
        {'<unk>': 0, 'c': 1, 'a': 2}
        """
        column_names = as_column_names(columns)
        least, most = as_frequency_range(freq_range)
        check_type(top_k, (int, type(None)), "top_k")
        if top_k is not None:
            PositiveCount().check("top_k", top_k)
        if not hasattr(dataset, "create_tuple_iterator"):
            raise ArgumentTypeError(
                f"Argument dataset is not a dataset, but got {type(dataset)}: give from_dataset() what "
                "TextFileDataset and its like, or .map() of one, return."
            )
        counts = count_words(dataset, column_names)
        known = [word for word in special_tokens or () if word in counts]
        if known:
            listed = " ".join(known)
            raise DataError(f"Invalid special words, these special words are already in the vocab: {listed}.")
        kept = [(-times, word) for word, times in counts.items() if least <= times <= most]
        words = [word for _, word in sorted(kept)[:top_k]]
        return cls._numbered(words, special_tokens, special_first)

    @classmethod
    def _numbered(cls, words: Sequence[str], special: Sequence[str] | None, special_first: bool) -> Self:
        order = [*(special or ()), *words] if special_first else [*words, *(special or ())]
        return cls._from_table(dict(zip(order, range(len(order)), strict=True)))

    @classmethod
    def _from_table(cls, table: dict[str, int]) -> Self:
        vocab = cls()
        vocab._table = table
        return vocab

    # --- lookup -------------------------------------------------------------------------------------

    @property
    def is_built(self) -> bool:
        """Whether the vocabulary was built by one of the ``from_`` methods."""
        return self._table is not None or self._packed is not None

    @property
    def table(self) -> dict[str, int]:
        """The words and their ids, read-only: the vocabulary's table itself, not a copy."""
        if self._table is None:
            if self._packed is None:
                raise PlanError(_UNBUILT)
            self._table = self._packed.table()
            self._packed = None
        return self._table

    def vocab(self) -> dict[str, int]:
        """All words and their ids, as a new dict.

        >>> Vocab.from_list(["word_1", "word_2"]).vocab()
        {'word_1': 0, 'word_2': 1}
        """
        return dict(self.table)

    @checked
    def tokens_to_ids(self, tokens: str | list[str] | np.ndarray[Any, Any]) -> int | list[int]:
        """Ids of these words, -1 for an unknown word; a single word gives a single id.

        >>> Vocab.from_list(["w1", "w2", "w3"]).tokens_to_ids(["w1", "w3"])
        [0, 2]
        """
        words: Any = _as_list(tokens)
        if not isinstance(tokens, np.ndarray):
            for i, word in enumerate(words):
                if not isinstance(word, str):
                    check_type(word, (str, np.str_), f"tokens[{i}]")
        elif not all(isinstance(word, (str, bytes)) for word in words):
            raise ArgumentTypeError(
                f"tokens_to_ids() takes a word or a list of words, but got an array of {tokens.dtype} with shape "
                f"{tokens.shape}."
            )
        get = self.table.get
        ids = [get(word.decode() if isinstance(word, bytes) else word, -1) for word in words]
        return ids[0] if len(ids) == 1 else ids

    @checked
    def ids_to_tokens(self, ids: int | list[int] | np.ndarray[Any, Any]) -> str | list[str]:
        """Words with these ids, an empty text for an unknown id; a single id gives a single word.

        >>> Vocab.from_list(["w1", "w2", "w3"]).ids_to_tokens(0)
        'w1'
        """
        numbers: Any = _as_list(ids)
        if not isinstance(ids, np.ndarray):
            for i, number in enumerate(numbers):
                name = f"ids[{i}]" if isinstance(ids, list) else "ids"
                check_type(number, (int, np.int64), name)
                Range(0, INT32_MAX).check(name, number)
        elif not all(isinstance(number, int) for number in numbers):
            raise ArgumentTypeError(
                f"ids_to_tokens() takes a number or a list of numbers, but got an array of {ids.dtype} with shape "
                f"{ids.shape}."
            )
        if self._tokens is None:
            self._tokens = {number: word for word, number in self.table.items()}
        get = self._tokens.get
        tokens = [get(number, "") for number in numbers]
        return tokens[0] if len(tokens) == 1 else tokens

    # --- identity -----------------------------------------------------------------------------------

    @property
    def digest(self) -> bytes:
        """Hash of the words and their ids, the same in every process."""
        if not self._digest and self.is_built:
            self._digest = (self._packed or VocabArrays.of(self.table)).digest()
        return self._digest

    def _identity(self) -> dict[str, Any]:
        return {"digest": self.digest}

    def to_plain(self) -> dict[str, int] | None:
        """The JSON form: a dict, or None where nothing was built."""
        return self.vocab() if self.is_built else None

    @classmethod
    def from_plain(cls, kept: dict[str, int] | None) -> Self:
        return cls() if kept is None else cls.from_dict(kept)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocab) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __len__(self) -> int:
        return len(self._packed.ids) if self._packed is not None else len(self._table or ())

    def __bool__(self) -> bool:
        return True

    def __contains__(self, word: object) -> bool:
        return word in self.table

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} words)"

    def __reduce__(self) -> tuple[Any, ...]:
        packed = self._packed
        if packed is None and self._table is not None:
            packed = VocabArrays.of(self._table)
        return _unpickled, (type(self), self.digest, None if packed is None else tuple(packed))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


# Vocabularies unpickled in this process, as long as they are referenced.
_loaded_vocabs: weakref.WeakValueDictionary[tuple[type, bytes], Vocab] = weakref.WeakValueDictionary()
_load_lock = threading.Lock()


def _unpickled(vocab_class: type[Vocab], digest: bytes, parts: tuple[Any, ...] | None) -> Vocab:
    """The vocabulary with these contents; an existing equal one of this process, if there is one."""
    if parts is None:
        return vocab_class()
    with _load_lock:
        vocab = _loaded_vocabs.get((vocab_class, digest))
        if vocab is None:
            vocab = vocab_class()
            vocab._packed, vocab._digest = VocabArrays(*parts), digest
            _loaded_vocabs[vocab_class, digest] = vocab
        return vocab


def _as_list(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return values if isinstance(values, list) else [values]
