"""Tokenizers of Hugging Face's library ``tokenizers``, from the text of a ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.optional import require
from millrace._src.core.values.columns import RaggedColumn, StringColumn, offsets_of

__all__ = ["OUTPUTS", "columns", "load", "values"]


def _tokens(encoding: Any) -> Any:
    return np.array(encoding.tokens) if encoding.tokens else np.zeros(0, "<U1")


def _numbers(name: str) -> Callable[[Any], Any]:
    return lambda encoding: np.array(getattr(encoding, name), np.int32)


# what can be asked for, and how it is taken from the library's encoding of one text
OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "ids": _numbers("ids"),
    "attention_mask": _numbers("attention_mask"),
    "type_ids": _numbers("type_ids"),
    "special_tokens_mask": _numbers("special_tokens_mask"),
    "offsets": lambda encoding: np.array(encoding.offsets, np.int32).reshape(-1, 2),
    "tokens": _tokens,
}


def load(
    contents: str,
    file: str,
    *,
    special_tokens: bool,
    truncation: int | str | None,
    padding: int | str | None,
    pad_token: str | None,
) -> Any:
    """The library's tokenizer, told what to cut and to pad: as the file says ("file"), not at all, or to a length."""
    library = require("tokenizers", extra="text", purpose="HuggingFaceTokenizer")
    try:
        made = library.Tokenizer.from_str(contents)
    except Exception as error:  # the library knows no other class of error
        raise FormatError(
            f"HuggingFaceTokenizer: this is not a tokenizer that the library 'tokenizers' "
            f"{library.__version__} can read: {error}",
            file=file,
        ) from error
    if truncation != "file":
        _truncate(made, truncation, special_tokens)
    _pad(made, padding, pad_token, file)
    return made


def _truncate(made: Any, length: Any, special_tokens: bool) -> None:
    before = made.truncation or {}
    made.no_truncation()
    if length is None:
        return
    special = made.num_special_tokens_to_add(True) if special_tokens else 0
    if length < special:  # the library would not cut at all
        raise ArgumentValueError(
            f"truncation={length} leaves no room for text: this tokenizer adds up to {special} special tokens."
        )
    kept = {name: before[name] for name in ("strategy", "direction") if name in before}
    made.enable_truncation(length, **kept)


def _pad(made: Any, length: Any, token: str | None, file: str) -> None:
    before = made.padding or {}
    if length == "file":
        length = before.get("length")
        # to the longest of a batch: which rows share a call here is nobody's business, so that is left to the batch
    made.no_padding()
    if length is None:
        return
    kept = {
        name: before[name] for name in ("direction", "pad_id", "pad_type_id", "pad_token") if name in before
    }
    if token is not None:
        number = made.token_to_id(token)
        if number is None:
            raise ArgumentValueError(f"pad_token={token!r} is not in the vocabulary of {file}.")
        kept |= {"pad_id": number, "pad_token": token}
    elif not before:
        raise ArgumentValueError(
            f"{file} names no token to pad with: give pad_token as well as padding={length}."
        )
    made.enable_padding(length=length, **kept)


def values(encoding: Any, outputs: Sequence[str]) -> tuple[Any, ...]:
    """What was asked for, of one text."""
    return tuple([OUTPUTS[name](encoding) for name in outputs])


def columns(made: Any, texts: list[str], special_tokens: bool, outputs: Sequence[str]) -> tuple[Any, ...]:
    """What was asked for, of many texts, as columns; the library works on them without the GIL."""
    # the fast one does not look where tokens stand
    encode = made.encode_batch if "offsets" in outputs else made.encode_batch_fast
    encodings = encode(texts, add_special_tokens=special_tokens)
    return tuple([_column(encodings, name) for name in outputs])


def _column(encodings: list[Any], name: str) -> Any:
    if name == "offsets":
        return [OUTPUTS[name](encoding) for encoding in encodings]
    lists = [getattr(encoding, name) for encoding in encodings]
    if name == "tokens":
        return StringColumn.of_lists(lists)
    lengths = list(map(len, lists))
    values = np.fromiter(chain.from_iterable(lists), np.int32, sum(lengths))
    return RaggedColumn(values, offsets_of(lengths))
