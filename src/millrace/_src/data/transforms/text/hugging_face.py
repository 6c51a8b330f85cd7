"""Tokenizers of Hugging Face's library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, FormatError
from millrace._src.core.public import public
from millrace._src.core.values.columns import StringColumn
from millrace._src.data.kernels.text import hugging_face
from millrace._src.data.transforms.argument_types import ArgumentRule

from .base import Boolean, TextTensorOperation, single_string

__all__ = ["HuggingFaceTokenizer"]


def _check_length(name: str, value: Any) -> None:
    if value is None or value == "file":
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{name} should be a length, None or 'file', but got {value!r}.")
    if value < 1:
        raise ArgumentValueError(f"{name} should be at least 1, but got {value}.")


Length = Annotated[Any, ArgumentRule(_check_length)]


@public("dataset.text")
class HuggingFaceTokenizer(TextTensorOperation):
    """Tokenize a text with a ``tokenizer.json`` of Hugging Face's library ``tokenizers`` (extra ``text``).

    The file is read once, in the constructor; workers and pickled copies hold its contents. Nothing is downloaded. Two
    columns are tokenized as a pair of texts: ``map(tokenizer, ["question", "context"], ["ids"])``.

    Args:
        tokenizer_file (str): the file.
        outputs (str or list[str]): the outputs, one column each: ``"ids"``, ``"attention_mask"``, ``"type_ids"``,
            ``"special_tokens_mask"`` (all int32), ``"offsets"`` (int32, start and end of each token, in characters),
            ``"tokens"`` (text). Default: ``"ids"``.
        special_tokens (bool): whether to add the special tokens that the file defines. Default: ``True``.
        truncation (int or None): the maximum number of tokens; None for no truncation. Default: ``"file"``, as in the
            file.
        padding (int or None): the length to pad to; None for no padding. Default: ``"file"``, as in the file. Use
            ``padded_batch`` to pad to the longest of a batch: it is not done here even if the file requests it.
        pad_token (str): the padding token, if the file defines none. Default: ``None``.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.WordLevel({"?": 0, "hello": 1, "world": 2}, unk_token="?"))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> tokenizer.save("tokenizer.json")
    >>> import millrace.dataset.text as text
    >>> text.HuggingFaceTokenizer("tokenizer.json")("hello big world")
    array([1, 0, 2], dtype=int32)
    """

    num_inputs = None
    batch_column_types = (StringColumn,)
    holds_gil = False  # the library releases it

    @checked
    def __init__(
        self,
        tokenizer_file: str | os.PathLike[str],
        outputs: str | list[Any] | tuple[Any, ...] = "ids",
        *,
        special_tokens: Boolean = True,
        truncation: Length = "file",
        padding: Length = "file",
        pad_token: str | None = None,
    ) -> None:
        self.tokenizer_file = os.fspath(tokenizer_file)
        self.outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        self.special_tokens = special_tokens
        self.truncation, self.padding, self.pad_token = truncation, padding, pad_token
        for name in self.outputs:
            if name not in hugging_face.OUTPUTS:
                raise ArgumentValueError(
                    f"outputs should be of {list(hugging_face.OUTPUTS)}, but got {name!r}."
                )
        if not self.outputs or len(set(self.outputs)) < len(self.outputs):
            raise ArgumentValueError(f"outputs should name each output once, but got {list(self.outputs)}.")
        self._contents = _read_text(self.tokenizer_file)
        self._open()

    def _open(self) -> None:
        self._tokenizer = hugging_face.load_tokenizer(
            self._contents,
            self.tokenizer_file,
            special_tokens=self.special_tokens,
            truncation=self.truncation,
            padding=self.padding,
            pad_token=self.pad_token,
        )

    def row(self, *texts: Any) -> Any:
        if len(texts) > 2:
            raise DataError(
                f"HuggingFaceTokenizer: input should be one column, or two for pairs, but got {len(texts)} columns."
            )
        strings = [single_string(text, "HuggingFaceTokenizer") for text in texts]
        try:
            encoding = self._tokenizer.encode(*strings, add_special_tokens=self.special_tokens)
        except TypeError as error:  # the library only reports that this is no text
            raise DataError(
                "HuggingFaceTokenizer: the text holds halves of surrogate pairs, which have no UTF-8 form."
            ) from error
        outputs = hugging_face.output_values(encoding, self.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def batch(self, texts: StringColumn) -> Any:
        if texts.rows is not None:
            return None
        columns = hugging_face.encode_columns(
            self._tokenizer, texts.strings, self.special_tokens, self.outputs
        )
        return columns[0] if len(columns) == 1 else columns

    def _identity(self) -> dict[str, Any]:
        """The identity depends on the contents of the file, not on its path."""
        arguments = {name: getattr(self, name) for name in _ARGUMENTS if name != "tokenizer_file"}
        return {**arguments, "contents": self._contents}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_tokenizer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()


_ARGUMENTS = ("tokenizer_file", "outputs", "special_tokens", "truncation", "padding", "pad_token")


def _read_text(file: str) -> str:
    path = Path(file)
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ArgumentValueError(f"The file {file} does not exist or permission denied!")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"HuggingFaceTokenizer: this is not a tokenizer.json: {error}", file=file
        ) from error
