"""Word vectors: a table of words and a row of numbers for each, from a file, shared within a process.

The vectors of a large file are mapped into memory from the cache (see word_vector_cache.py). Workers get the path of
the mapping and share its memory; smaller ones are pickled out of band, once for all workers.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import INT32_MAX, Range, checked
from millrace._src.core.errors import ArgumentValueError, DataError, FormatError
from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

from .vocab_arrays import VocabArrays
from .word_hash_index import WordIndex
from .word_vector_cache import StoredVectors, VectorCacheEntry, compute_digest, open_entry
from .word_vector_file import VectorFile

__all__ = ["CharNGram", "FastText", "GloVe", "Vectors"]

Matrix = npt.NDArray[np.float32]
# Maximum number of words whose rows are cached, where there is no table of all words.
MAX_CACHED_ROWS = 1_000_000


@public("dataset.text", "dataset.text.utils")
@stable_id("text.Vectors")
class Vectors:
    """Word vectors from a text file: in each line a word and its numbers, separated by single spaces.

    A first line of two fields (number of words, dimension) is skipped. Of a word that occurs twice, the first counts. A
    line with too few or too many numbers is an error that names it, and so is one with something other than a number,
    where MindSpore takes 0.

    The parsed vectors of a file of 8 MB and more are cached in ``~/.cache/millrace/vectors`` (``$XDG_CACHE_HOME``), and
    mapped from there into memory the next time, as long as size, time and both ends of the file stay the same.

    >>> with open("vectors.txt", "w") as file:
    ...     _ = file.write("ok 0.5 0.25\\nthe 1 2\\n")
    >>> vectors = Vectors.from_file("vectors.txt")
    >>> vectors
    Vectors(2 words of 2 numbers)
    >>> vectors.matrix[vectors.table["the"]]
    array([1., 2.], dtype=float32)
    """

    def __init__(self) -> None:
        self._index: WordIndex | None = None
        self._table: dict[str, int] | None = None
        self._seen: dict[str, int | None] = {}  # words that were looked up in the index
        self._digest = b""
        self._cache_path = ""  # path of the mapped file
        self._matrix: Matrix = np.zeros((0, 0), np.float32)
        self.file_path = ""
        self.max_vectors = 0

    @classmethod
    @checked
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Self:
        """Load the vectors of a file, or the first ``max_vectors`` of them; None and 0 mean all.

        >>> with open("vectors.txt", "w") as file:
        ...     _ = file.write("2 3\\nok 1 2 3\\nthe 4 5 6\\n")
        >>> len(Vectors.from_file("vectors.txt", max_vectors=1))
        1
        """
        _check_filename(file_path)
        if max_vectors is not None:
            Range(0, INT32_MAX).check("max_vectors", max_vectors)
        vectors = cls()
        vectors.file_path, vectors.max_vectors = file_path, max_vectors or 0
        try:
            entry = VectorCacheEntry(file_path, vectors.max_vectors)
            cls._check_file(file_path)
            vectors._load(entry)
        except OSError as error:
            raise FormatError(
                f"{cls._open_failure_message(file_path)} ({error.strerror})", file=file_path
            ) from error
        if not vectors._matrix.size:
            raise FormatError("Vectors: invalid file, file is empty.", file=file_path)
        return vectors

    def _load(self, entry: VectorCacheEntry) -> None:
        if entry.worth_it:
            stored = entry.load()
            if stored is None:
                source = VectorFile(self.file_path, self.max_vectors)
                stored = entry.save(source.blocks(), source.table)
            if stored is not None:
                self._use_entry(stored, str(entry.path))
                return
        source = VectorFile(self.file_path, self.max_vectors)
        blocks = list(source.blocks())
        if blocks:
            self._matrix = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
            self._matrix.flags.writeable = False
        self._table = source.table

    def _use_entry(self, stored: StoredVectors, cache_path: str = "") -> None:
        self._index, self._matrix, self._digest = stored
        self._cache_path = cache_path

    @classmethod
    def _check_file(cls, file_path: str) -> None:
        """Raise an error for a file name that this format does not have."""

    @classmethod
    def _open_failure_message(cls, file_path: str) -> str:
        return f"Vectors: get real path failed, path: {file_path}"

    # --- lookup -------------------------------------------------------------------------------------

    @property
    def table(self) -> dict[str, int]:
        """The words and their rows in ``matrix``, read-only."""
        if self._table is None:
            self._table = {} if self._index is None else self._index.table()
        return self._table

    @property
    def matrix(self) -> Matrix:
        """All vectors, one in each row, read-only."""
        return self._matrix

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self._matrix.shape[1])

    def find(self, words: Sequence[str], unknown: Matrix, lower: bool) -> Matrix:
        """Vectors of these words, one in each row; ``unknown`` for an unknown word."""
        rows = self._rows(words)
        if lower and None in rows:
            missing = [i for i, row in enumerate(rows) if row is None]
            lower_rows = self._rows([words[i].lower() for i in missing])
            for i, row in zip(missing, lower_rows, strict=True):
                rows[i] = row
        indices = np.array([-1 if row is None else row for row in rows], np.int64)
        vectors = self._matrix[indices]
        vectors[indices < 0] = unknown
        return vectors

    def _rows(self, words: Sequence[str]) -> list[int | None]:
        """Rows of these words: from the table, or from the index, with one lookup per word."""
        if self._table is not None or self._index is None:
            return list(map(self.table.get, words))
        seen = self._seen
        unseen = [word for word in dict.fromkeys(words) if word not in seen]
        if unseen:
            rows = dict(zip(unseen, self._index.find(unseen), strict=True))
            if len(seen) + len(unseen) > MAX_CACHED_ROWS:
                self._seen = seen = {**{word: seen[word] for word in words if word in seen}, **rows}
            else:
                seen.update(rows)
        return [seen[word] for word in words]

    # --- identity -----------------------------------------------------------------------------------

    @property
    def digest(self) -> bytes:
        """Hash of the words and vectors, the same in every process."""
        if not self._digest:
            self._digest = compute_digest(self._matrix, self.table)
        return self._digest

    def _identity(self) -> dict[str, Any]:
        return {"digest": self.digest}

    def to_plain(self) -> dict[str, Any]:
        """The JSON form: the arguments of ``from_file``."""
        return {"file_path": self.file_path, "max_vectors": self.max_vectors}

    @classmethod
    def from_plain(cls, kept: dict[str, Any]) -> Self:
        if not isinstance(kept, dict) or set(kept) != {"file_path", "max_vectors"}:
            raise ArgumentValueError(f"{cls.__name__}: expected a dict of file_path and max_vectors.")
        return cls.from_file(kept["file_path"], kept["max_vectors"])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __len__(self) -> int:
        return len(self._index) if self._index is not None else len(self.table)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._rows([word])[0] is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} words of {self.dim} numbers)"

    def __reduce__(self) -> tuple[Any, ...]:
        source = (self.file_path, self.max_vectors)
        if self._cache_path:
            return _unpickled, (type(self), self.digest, source, self._cache_path, None)
        return _unpickled, (type(self), self.digest, source, "", (*VocabArrays.of(self.table), self._matrix))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


# Vectors unpickled in this process, as long as they are referenced.
_loaded_vectors: weakref.WeakValueDictionary[tuple[type, bytes], Vectors] = weakref.WeakValueDictionary()
_load_lock = threading.Lock()


def _unpickled(
    vectors_class: type[Vectors],
    digest: bytes,
    source: tuple[str, int],
    cache_path: str,
    parts: tuple[Any, ...] | None,
) -> Vectors:
    """The vectors with these contents; an existing equal object of this process, if there is one."""
    with _load_lock:
        vectors = _loaded_vectors.get((vectors_class, digest))
        if vectors is None:
            vectors = vectors_class()
            vectors.file_path, vectors.max_vectors = source
            if parts is not None:
                *packed, vectors._matrix = parts
                vectors._table, vectors._digest = VocabArrays(*packed).table(), digest
            else:
                stored = open_entry(cache_path, digest=digest)
                if stored is None:
                    raise DataError(
                        f"the vectors of {source[0]} are no longer in the cache, where {cache_path} was: load them "
                        f"again with {vectors_class.__name__}.from_file()."
                    )
                vectors._use_entry(stored, cache_path)
            _loaded_vectors[vectors_class, digest] = vectors
        return vectors


@public("dataset.text", "dataset.text.utils")
@stable_id("text.GloVe")
class GloVe(Vectors):
    """GloVe word vectors, from a file named like ``glove.6B.300d.txt``.

    MindSpore accepts only the 6B files; here, as in its documentation, all files named ``glove.*.txt`` are accepted.

    >>> with open("glove.6B.2d.txt", "w") as file:
    ...     _ = file.write("the 1 2\\n")
    >>> GloVe.from_file("glove.6B.2d.txt")
    GloVe(1 words of 2 numbers)
    """

    @classmethod
    def _check_file(cls, file_path: str) -> None:
        if re.fullmatch(r"glove\..*\.txt", os.path.basename(file_path), re.DOTALL) is None:
            raise FormatError(
                f"GloVe: invalid file, can not find file 'glove.*.txt', but got: {file_path}", file=file_path
            )

    @classmethod
    def _open_failure_message(cls, file_path: str) -> str:
        return f"{cls.__name__}: invalid file, failed to open {cls.__name__} file."


@public("dataset.text", "dataset.text.utils")
@stable_id("text.FastText")
class FastText(Vectors):
    """fastText word vectors, from a text file whose name ends in ``.vec``.

    >>> with open("wiki.vec", "w") as file:
    ...     _ = file.write("1 2\\nthe 1 2\\n")
    >>> FastText.from_file("wiki.vec").table
    {'the': 0}
    """

    @classmethod
    def _check_file(cls, file_path: str) -> None:
        if os.path.basename(file_path).rpartition(".")[2] != "vec":
            raise FormatError(
                f"FastText: invalid file, can not find file '*.vec', but got: {file_path}", file=file_path
            )

    @classmethod
    def _open_failure_message(cls, file_path: str) -> str:
        return f"{cls.__name__}: invalid file, failed to open {cls.__name__} file."


@public("dataset.text", "dataset.text.utils")
@stable_id("text.CharNGram")
class CharNGram(Vectors):
    """Character n-gram vectors: the vector of a word is the mean of the vectors of its n-grams.

    The n-grams of "ab" are those of 2, 3 and 4 characters of ``#BEGIN# a b #END#``, and are stored in the file as
    ``2gram-#BEGIN#a``, ``3gram-ab#END#`` and so on. As in MindSpore, a character is a byte of UTF-8. A word is unknown
    when none of its n-grams is known.

    >>> with open("ngrams.txt", "w") as file:
    ...     _ = file.write("2gram-#BEGIN#a 1 2\\n2gram-ab 3 4\\n")
    >>> CharNGram.from_file("ngrams.txt").find(["ab"], np.zeros(2, np.float32), False)
    array([[2., 3.]], dtype=float32)
    """

    def find(self, words: Sequence[str], unknown: Matrix, lower: bool) -> Matrix:
        vectors = np.empty((len(words), self.dim), np.float32)
        for i, word in enumerate(words):
            rows = self._pieces(word)
            if not rows and lower:
                rows = self._pieces(word.lower())
            vectors[i] = self._matrix[rows].sum(0) / np.float32(len(rows)) if rows else unknown
        return vectors

    def _pieces(self, word: str) -> list[int]:
        data = word.encode("utf-8", "surrogateescape")
        characters = [b"#BEGIN#", *[data[i : i + 1] for i in range(len(data))], b"#END#"]
        pieces: list[str] = []
        for n in (2, 3, 4):
            for i in range(len(characters) - n + 1):
                piece = b"".join(characters[i : i + n]).decode("utf-8", "surrogateescape")
                pieces.append(f"{n}gram-{piece}")
        return [row for row in self._rows(pieces) if row is not None]


def _check_filename(path: str) -> None:
    name = os.path.basename(os.path.realpath(path))
    if set(name) & set("\\/:*?\"<>|`&';"):
        raise ArgumentValueError("filename should not contain \\/:*?\\\"<>|`&;\\'")
    if name.startswith(" ") or name.endswith(" "):
        raise ArgumentValueError("filename should not start/end with space.")
