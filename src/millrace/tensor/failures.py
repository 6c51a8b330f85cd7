"""What PyTorch raises, as MindSpore raises it: its class, what was got, where in the user's file, and what helps."""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Iterable
from typing import Any

import torch

from millrace.core.errors import ArgumentTypeError, ArgumentValueError, MillraceError, OperationError
from millrace.core.tensor import Tensor

from .private import out_of_memory

__all__ = ["describe", "explain", "user_line"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))

# (words of PyTorch's text, the class that MindSpore has for it, what helps). The first that fits counts.
_KINDS: list[tuple[str, type[MillraceError], str]] = [
    (
        r"index -?\d+ is out of bounds|index out of range|indices? .*out of range",
        OperationError,
        "indices count from 0 to the length of the axis less 1",
    ),
    (
        (
            r"must match the size of tensor|not broadcastable|shape mismatch|expanded size|Dimension out of range"
            r"|invalid for input of size|[Ss]izes of tensors must match|dim \d+ appears multiple|must match except"
            r"|expected.*(dim|size|shape)|dimension|size mismatch|shape|\bdims\b|equal size|\d-?D\b"
            r"|square matri|number of columns|inconsistent tensor size|argument ord"
            r"|argument 'ord'|invalid norm order|[Oo]rder .* not supported"
        ),
        ArgumentValueError,
        "compare the shapes above; reshape, expand_dims or broadcast_to bring them together",
    ),
    (
        (
            r"not implemented for|scalar type|[Pp]romot|dtype|data type|must be (a )?(Tensor|Number|int|float|bool)"
            r"|not supported (on|for)|can't be cast|cannot be cast|only Tensors of floating"
        ),
        ArgumentTypeError,
        "convert with x.astype(mindspore.float32), or another type that the operation takes",
    ),
]


def user_line() -> str:
    """The file and line of the first frame outside of Millrace and PyTorch, or nothing."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_PACKAGE, _TORCH)) and not name.startswith("<frozen"):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def describe(value: Any) -> str:
    """A value in a few words.

    >>> describe(Tensor([1.0, 2.0])), describe([1, "a"])
    ('Tensor(shape=[2], dtype=Float32)', "[1, 'a']")
    """
    if isinstance(value, Tensor):
        return f"Tensor(shape={list(value.shape)}, dtype={value.dtype})"
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        return "(" + ", ".join(describe(part) for part in value) + ")"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def explain(
    name: str, error: BaseException, args: Iterable[Any] = (), kwargs: dict[str, Any] | None = None
) -> BaseException:
    """The error to raise in place of one of PyTorch's. Errors of ours, and a user's own, are left alone."""
    if isinstance(error, MillraceError) or not isinstance(
        error, (RuntimeError, TypeError, ValueError, IndexError, AttributeError, NotImplementedError)
    ):
        return error
    got = [describe(value) for value in args] + [f"{key}={describe(v)}" for key, v in (kwargs or {}).items()]
    text = str(error).split("\nException raised from")[0].strip()
    kind, helps = _kind(error, text)
    lines = [f"For '{name}', {text[:1].lower()}{text[1:]}", f"  got: {', '.join(got)}"]
    if where := user_line():
        lines.append(f"  called at: {where}")
    if helps:
        lines.append(f"  what helps: {helps}")
    return kind("\n".join(lines))


def _kind(error: BaseException, text: str) -> tuple[type[MillraceError], str]:
    if isinstance(error, out_of_memory):
        return (
            OperationError,
            "a smaller batch, float16, or recompute; runtime.memory_summary() shows what is held",
        )
    if isinstance(error, (TypeError, AttributeError, NotImplementedError)):
        return ArgumentTypeError, "see the types that the operation takes in its documentation"
    for words, kind, helps in _KINDS:
        if re.search(words, text):
            return kind, helps
    if isinstance(error, (ValueError, IndexError)):
        return ArgumentValueError, ""
    return OperationError, ""
