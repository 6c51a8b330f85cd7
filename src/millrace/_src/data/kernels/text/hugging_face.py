"""Tokenizers of Hugging Face's library ``tokenizers``, from the text of a ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.optional import require
from millrace._src.core.values.columns import RaggedColumn, StringColumn, offsets_of

__all__ = ["OUTPUTS", "encode_columns", "load_tokenizer", "output_values"]


def _token_output(encoding: Any) -> Any:
    return np.array(encoding.tokens) if encoding.tokens else np.zeros(0, "<U1")


def _int_output(name: str) -> Callable[[Any], Any]:
    return lambda encoding: np.array(getattr(encoding, name), np.int32)


# the available outputs, and how each is read from the library's encoding of one text
OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "ids": _int_output("ids"),
    "attention_mask": _int_output("attention_mask"),
    "type_ids": _int_output("type_ids"),
    "special_tokens_mask": _int_output("special_tokens_mask"),
    "offsets": lambda encoding: np.array(encoding.offsets, np.int32).reshape(-1, 2),
    "tokens": _token_output,
}


def load_tokenizer(
    contents: str,
    file: str,
    *,
    special_tokens: bool,
    truncation: int | str | None,
    padding: int | str | None,
    pad_token: str | None,
) -> Any:
    """Create the library's tokenizer and set truncation and padding: as in the file ("file"), none, or a length."""
    library = require("tokenizers", extra="text", purpose="HuggingFaceTokenizer")
    try:
        tokenizer = library.Tokenizer.from_str(contents)
    except Exception as error:  # the library raises no narrower class
        raise FormatError(
            f"HuggingFaceTokenizer: this is not a tokenizer that the library 'tokenizers' "
            f"{library.__version__} can read: {error}",
            file=file,
        ) from error
    if truncation != "file":
        _truncate(tokenizer, truncation, special_tokens)
    _pad(tokenizer, padding, pad_token, file)
    return tokenizer


def _truncate(tokenizer: Any, length: Any, special_tokens: bool) -> None:
    previous = tokenizer.truncation or {}
    tokenizer.no_truncation()
    if length is None:
        return
    num_special = tokenizer.num_special_tokens_to_add(True) if special_tokens else 0
    if length < num_special:  # the library would not truncate at all
        raise ArgumentValueError(
            f"truncation={length} is too short: this tokenizer adds up to {num_special} special tokens."
        )
    options = {name: previous[name] for name in ("strategy", "direction") if name in previous}
    tokenizer.enable_truncation(length, **options)


def _pad(tokenizer: Any, length: Any, token: str | None, file: str) -> None:
    previous = tokenizer.padding or {}
    if length == "file":
        length = previous.get("length")
        # padding to the longest of a batch is left to the batch: a call here may hold any rows
    tokenizer.no_padding()
    if length is None:
        return
    options = {
        name: previous[name]
        for name in ("direction", "pad_id", "pad_type_id", "pad_token")
        if name in previous
    }
    if token is not None:
        token_id = tokenizer.token_to_id(token)
        if token_id is None:
            raise ArgumentValueError(f"pad_token={token!r} is not in the vocabulary of {file}.")
        options |= {"pad_id": token_id, "pad_token": token}
    elif not previous:
        raise ArgumentValueError(
            f"{file} defines no padding token. Set pad_token as well as padding={length}."
        )
    tokenizer.enable_padding(length=length, **options)


def output_values(encoding: Any, outputs: Sequence[str]) -> tuple[Any, ...]:
    """The requested outputs for one text."""
    return tuple([OUTPUTS[name](encoding) for name in outputs])


def encode_columns(
    tokenizer: Any, texts: list[str], special_tokens: bool, outputs: Sequence[str]
) -> tuple[Any, ...]:
    """The requested outputs for many texts, as columns; the library releases the GIL."""
    # encode_batch_fast computes no offsets
    encode = tokenizer.encode_batch if "offsets" in outputs else tokenizer.encode_batch_fast
    encodings = encode(texts, add_special_tokens=special_tokens)
    return tuple([_column(encodings, name) for name in outputs])


def _column(encodings: list[Any], name: str) -> Any:
    if name == "offsets":
        return [OUTPUTS[name](encoding) for encoding in encodings]
    lists = [getattr(encoding, name) for encoding in encodings]
    if name == "tokens":
        return StringColumn.of_lists(lists)
    lengths = list(map(len, lists))
    flat = np.fromiter(chain.from_iterable(lists), np.int32, sum(lengths))
    return RaggedColumn(flat, offsets_of(lengths))
