"""SentencePieceVocab: a trained SentencePiece model that can be pickled, and its processor."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Self

from millrace._src.core.args import UINT32_MAX, Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, FormatError, PlanError
from millrace._src.core.optional import require
from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

from .enums import SentencePieceModel
from .vocab_builder import as_texts

__all__ = ["SentencePieceVocab", "load_vocab_file"]

# Settings that have separate arguments; MindSpore ignores these in `params`, too.
_EXPLICIT_SETTINGS = {
    "input",
    "model_prefix",
    "vocab_size",
    "character_coverage",
    "model_type",
    "model_writer",
    "sentence_iterator",
}


class _VocabSize:
    def check(self, name: str, value: Any) -> None:
        if value is None:
            raise ArgumentTypeError(f"{name} must be provided.")
        check_type(value, (int,), name)
        Range(0, UINT32_MAX).check(name, value)


class _ModelType:
    def check(self, name: str, value: Any) -> None:
        check_type(value, (str, SentencePieceModel), name)
        if isinstance(value, str) and value.upper() not in SentencePieceModel.__members__:
            raise ArgumentValueError(
                f"Input {name} is not within the valid set of {list(SentencePieceModel.__members__)}."
            )


VocabSize = Annotated[Any, _VocabSize()]
ModelType = Annotated[Any, _ModelType()]


@public("dataset.text", "dataset.text.utils")
@stable_id("text.SentencePieceVocab")
class SentencePieceVocab:
    """Vocabulary of word pieces that SentencePiece learns from text.

    It is pickled and compared by its model. Models of the types BPE, CHAR and WORD are the same as in MindSpore, piece
    by piece; UNIGRAM models are not, since MindSpore trains with an older release of SentencePiece, which weighs other
    pieces. A model that is loaded from a file tokenizes text alike in both.

    >>> with open("corpus.txt", "w") as file:
    ...     _ = file.write("the mill turns\\nthe wheel turns\\n" * 20)
    >>> vocab = SentencePieceVocab.from_file(["corpus.txt"], 20, 1.0, SentencePieceModel.BPE, {})
    >>> vocab
    SentencePieceVocab(20 pieces)
    """

    def __init__(self) -> None:
        self._model = b""

    @classmethod
    @checked
    def from_file(
        cls,
        file_path: list[str],
        vocab_size: VocabSize,
        character_coverage: float,
        model_type: ModelType,
        params: dict[str, Any],
    ) -> Self:
        """Train a model on text files, a sentence in each line.

        Args:
            file_path: the files.
            vocab_size: number of pieces.
            character_coverage: share of all characters that must be covered: 1.0, or 0.9995 for Chinese.
            model_type: algorithm of the model.
            params: further settings of SentencePiece's trainer, such as ``{"max_sentencepiece_length": "8"}``.
        """
        if not file_path:
            raise ArgumentValueError("Input file_path should not be empty: give a list of text files.")
        for i, path in enumerate(file_path):
            check_type(path, (str,), f"file_path[{i}]")
            if not os.path.isfile(path):
                raise FormatError(f'SentencePieceVocab: "{path}": No such file or directory', file=path)
        return cls._train({"input": list(file_path)}, vocab_size, character_coverage, model_type, params)

    @classmethod
    @checked
    def from_dataset(
        cls,
        dataset: Any,
        col_names: list[str] | tuple[str, ...],
        vocab_size: VocabSize,
        character_coverage: float,
        model_type: ModelType,
        params: dict[str, Any],
    ) -> Self:
        """Train a model on text columns of a dataset (an empty list: all columns); other arguments as ``from_file``."""
        for i, name in enumerate(col_names):
            check_type(name, (str,), f"col_names[{i}]")
        if not hasattr(dataset, "create_tuple_iterator"):
            raise ArgumentTypeError(f"Argument dataset is not a dataset, but got {type(dataset)}.")
        sentences = _Sentences(dataset.project(list(col_names)) if col_names else dataset)
        try:
            vocab = cls._train(
                {"sentence_iterator": iter(sentences)}, vocab_size, character_coverage, model_type, params
            )
        finally:
            if sentences.error is not None:
                raise sentences.error
        return vocab

    @classmethod
    def _train(
        cls, source: dict[str, Any], size: int, coverage: float, model_type: Any, params: dict[str, Any]
    ) -> Self:
        library = _load_library()
        name = model_type.name if isinstance(model_type, SentencePieceModel) else model_type
        settings = {str(key): value for key, value in params.items() if key not in _EXPLICIT_SETTINGS}
        out = io.BytesIO()
        try:
            library.SentencePieceTrainer.train(
                model_writer=out,
                vocab_size=size,
                character_coverage=coverage,
                model_type=name.lower(),
                **{"minloglevel": 2, **settings},
                **source,
            )
        except (RuntimeError, OSError, ValueError, TypeError) as error:
            raise DataError(f"SentencePieceVocab: {_explain(str(error), size)}") from error
        return cls.of(out.getvalue())

    @classmethod
    def of(cls, model: bytes) -> Self:
        """The vocabulary with this model: the contents of a model file."""
        vocab = cls()
        vocab._model = model
        return vocab

    @classmethod
    @checked
    def save_model(cls, vocab: Any, path: str, filename: str) -> None:
        """Save the model to a file for `SentencePieceTokenizer` or SentencePiece itself.

        Args:
            vocab: the vocabulary.
            path: an existing folder.
            filename: the name of the file in it.

        >>> with open("corpus.txt", "w") as file:
        ...     _ = file.write("the mill turns\\nthe wheel turns\\n" * 20)
        >>> vocab = SentencePieceVocab.from_file(["corpus.txt"], 20, 1.0, SentencePieceModel.BPE, {})
        >>> SentencePieceVocab.save_model(vocab, ".", "mill.model")
        """
        check_type(vocab, (SentencePieceVocab,), "vocab")
        if not os.path.isdir(path):
            raise FormatError(f"save_model: Get real path failed, path={path}. It is a folder.", file=path)
        target = os.path.join(path, filename)
        try:
            descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target) or ".")
            with os.fdopen(descriptor, "wb") as file:
                file.write(vocab.model)
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
        except OSError as error:
            raise FormatError(
                f"save_model: {target} cannot be written: {error.strerror}", file=target
            ) from error

    @property
    def model(self) -> bytes:
        """The contents of a model file."""
        if not self._model:
            raise PlanError(
                "The SentencePieceVocab has not built yet. Use SentencePieceVocab.from_dataset() or "
                "SentencePieceVocab.from_file() to build one."
            )
        return self._model

    @functools.cached_property
    def processor(self) -> Any:
        """SentencePiece's processor, which tokenizes text; safe to use from several threads."""
        model = self.model
        processor = _load_library().SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise FormatError("SentencePieceTokenizer: this is no model of SentencePiece.") from error
        return processor

    def _identity(self) -> dict[str, Any]:
        return {"model": hashlib.blake2b(self._model, digest_size=20).digest()}

    def to_plain(self) -> str:
        """The JSON form: the model as base64."""
        return base64.b64encode(self._model).decode()

    @classmethod
    def from_plain(cls, kept: str) -> Self:
        check_type(kept, (str,), "model")
        try:
            return cls.of(base64.b64decode(kept, validate=True))
        except ValueError as error:
            raise ArgumentValueError(
                f"SentencePieceVocab: expected a model as base64, got {error}."
            ) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SentencePieceVocab) and self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def __getstate__(self) -> dict[str, Any]:
        return {"_model": self._model}

    def __repr__(self) -> str:
        pieces = self.processor.get_piece_size() if self._model else 0
        return f"{type(self).__name__}({pieces} pieces)"


# What SentencePiece reports: status, source file and line, the condition that failed, and sometimes a sentence.
_REPORT = re.compile(r"(?:\w+: )?\S+\.cc\(\d+\) \[(?P<condition>.*?)\] ?(?P<text>[^]]*)$", re.DOTALL)
_TOO_HIGH = re.compile(r"Vocabulary size too high.*<= (\d+)", re.DOTALL)
_TOO_LOW = re.compile(r"Vocabulary size is smaller than required_chars\. \d+ vs (\d+)")


def _explain(message: str, size: int) -> str:
    """Describe an error of the trainer, with the limit of ``vocab_size`` where the library reports one.

    >>> _explain(
    ...     "INTERNAL: a.cc(7) [(x) == (y)] Vocabulary size too high (9). Please set it to a value <= 8.", 9
    ... )
    'Vocabulary size too high: expected at most 8 for this text, got 9. Reduce vocab_size, or train on more text.'
    """
    report = _REPORT.match(message)
    condition, text = (report["condition"], report["text"].strip()) if report else ("", message)
    if limit := _TOO_HIGH.search(text):
        return (
            f"Vocabulary size too high: expected at most {limit[1]} for this text, got {size}. "
            "Reduce vocab_size, or train on more text."
        )
    if limit := _TOO_LOW.search(text):
        return (
            f"Vocabulary size too low: expected at least {limit[1]} for the characters of this text, got {size}. "
            "Increase vocab_size, or reduce character_coverage."
        )
    if size == 0 or "insert_id" in condition:
        return (
            f"Vocabulary size too low: expected at least one id for each control symbol (unk, bos, eos), got {size}. "
            "Increase vocab_size."
        )
    if not report:
        text = message.partition(": ")[2] or message
    return text or f"the trainer refused its settings: {condition}"


class _Sentences:
    """Iterates over the texts of a dataset. It stores an error, which must not pass through the trainer, and stops."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            with self.dataset.create_tuple_iterator(num_epochs=1, output_numpy=True) as rows:
                for row in rows:
                    for value in row:
                        yield from _texts(value)
        except Exception as error:
            self.error = error


def _texts(value: Any) -> Iterable[str]:
    return as_texts(value, "build_sentencepiece_vocab")


def load_vocab_file(path: str) -> SentencePieceVocab:
    """The vocabulary in a model file, cached while the file does not change."""
    try:
        state = os.stat(path)
        return _cached_vocab(os.path.realpath(path), state.st_size, state.st_mtime_ns)
    except OSError as error:
        text = f"SentencePieceTokenizer: load vocab model file: {path} failed ({error.strerror})."
        raise FormatError(text, file=path) from error


@functools.lru_cache(maxsize=16)
def _cached_vocab(path: str, size: int, mtime_ns: int) -> SentencePieceVocab:
    with open(path, "rb") as file:
        vocab = SentencePieceVocab.of(file.read())
    try:
        _ = vocab.processor
    except (FormatError, PlanError) as error:
        text = (
            f"SentencePieceTokenizer: load vocab model file: {path} failed. It is no model of SentencePiece."
        )
        raise FormatError(text, file=path) from error
    return vocab


def _load_library() -> Any:
    return require("sentencepiece", extra="text", purpose="SentencePiece")
