"""Translation of PyTorch's errors into MindSpore's error classes, with arguments, user source line and
advice.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, MillraceError, OperationError
from millrace._src.core.values.tensor import Tensor

from .backend.memory import memory_limit
from .out_of_memory import is_out_of_memory, out_of_memory_report
from .source_location import is_internal_file, source_line_of_error, user_source_line

__all__ = ["describe_value", "translate_error", "add_cell_path", "translate_call_error", "user_source_line"]

# (pattern of PyTorch's text, MindSpore's error class, advice). The first match applies.
_ERROR_PATTERNS: list[tuple[str, type[MillraceError], str]] = [
    (
        r"^Target -?\d+ is out of bounds",
        ArgumentValueError,
        "labels count from 0 to the number of classes less 1, and the classes are the second axis of the scores",
    ),
    (
        r"[Ee]xpected target dtype",
        ArgumentTypeError,
        "labels are integers: transforms.TypeCast(mindspore.int32) in the pipeline, or y.astype(mindspore.int32)",
    ),
    (
        r"multi-target not supported|to match target batch_size",
        ArgumentValueError,
        "each row of scores has one label: y.reshape(-1) where they are [[1], [2]], y.argmax(1) where they are one-hot",
    ),
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
            r"|argument 'ord'|invalid norm order|[Oo]rder .* not supported|inconsistent input_size|must be of size"
            r"|input channel size"
        ),
        ArgumentValueError,
        "compare the shapes above; reshape, expand_dims or broadcast_to bring them together",
    ),
    (
        (
            r"not implemented for|scalar type|[Pp]romot|dtype|data type|must be (a )?(Tensor|Number|int|float|bool)"
            r"|not supported (on|for)|can't be cast|cannot be cast|only Tensors of floating|bool tensors? is not"
            r"|cannot be converted to type"
        ),
        ArgumentTypeError,
        "convert with x.astype(mindspore.float32), or another type that the operation takes",
    ),
]


def describe_value(value: Any) -> str:
    """A short description of a value for error messages.

    >>> describe_value(Tensor([1.0, 2.0])), describe_value([1, "a"])
    ('Tensor(shape=[2], dtype=Float32)', "[1, 'a']")
    """
    if isinstance(value, Tensor):
        return f"Tensor(shape={list(value.shape)}, dtype={value.dtype})"
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        return "(" + ", ".join(describe_value(part) for part in value) + ")"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def translate_error(
    name: str, error: BaseException, args: Iterable[Any] = (), kwargs: dict[str, Any] | None = None
) -> BaseException:
    """The error to raise in place of one of PyTorch's. Errors of Millrace and of user code are returned
    unchanged.
    """
    if isinstance(error, MillraceError) or not isinstance(
        error,
        (
            RuntimeError,
            TypeError,
            ValueError,
            IndexError,
            AttributeError,
            NotImplementedError,
            MemoryError,
            AssertionError,  # PyTorch's attention checks shapes so
        ),
    ):
        return error
    got = [describe_value(value) for value in args] + [
        f"{key}={describe_value(v)}" for key, v in (kwargs or {}).items()
    ]
    text = str(error).split("\nException raised from")[0].strip()
    if is_out_of_memory(error):
        return _out_of_memory(name, error, got)
    error_class, hint = _match_error_class(error, text)
    lines = [f"For '{name}', {text[:1].lower()}{text[1:]}", f"  got: {', '.join(got)}"]
    if where := user_source_line():
        lines.append(f"  called at: {where}")
    if hint:
        lines.append(f"  what helps: {hint}")
    return error_class("\n".join(lines))


def _match_error_class(error: BaseException, text: str) -> tuple[type[MillraceError], str]:
    rank = isinstance(error, NotImplementedError) and re.search(r"\dD input", text)
    if isinstance(error, (TypeError, AttributeError, NotImplementedError)) and not rank:
        return ArgumentTypeError, "see the types that the operation takes in its documentation"
    for pattern, error_class, hint in _ERROR_PATTERNS:
        if re.search(pattern, text):
            return error_class, hint
    if isinstance(error, (ValueError, IndexError, AssertionError)):
        return ArgumentValueError, ""
    return OperationError, ""


def _out_of_memory(name: str, error: BaseException, got: list[str]) -> OperationError:
    lines = [f"For '{name}', out of memory.", f"  got: {', '.join(got)}"]
    if where := user_source_line():
        lines.append(f"  called at: {where}")
    return OperationError("\n".join(lines + out_of_memory_report(error, memory_limit())))


def translate_call_error(
    error: Exception, cell: Any, args: Iterable[Any], kwargs: dict[str, Any]
) -> Exception:
    """The error to raise in place of a Python error caused by the arguments of a Cell.

    These are a wrong number of arguments, and values that are no tensors where a built-in layer needs
    tensors. All other errors, and those of user code, are returned unchanged.

    >>> translate_call_error(KeyError("mine"), Tensor([1.0]), (), {})
    KeyError('mine')
    """
    if isinstance(error, MillraceError) or not isinstance(error, (TypeError, AttributeError, AssertionError)):
        return error
    step, construct = error.__traceback__, getattr(type(cell), "construct", None)
    while step is not None:
        if not is_internal_file(step.tb_frame.f_code.co_filename):
            return error  # it was raised in user code
        step = step.tb_next
    if construct is None or str(error).startswith("For '"):  # already translated
        return error
    name, text = type(cell).__name__, str(error)
    is_binding_error = isinstance(error, TypeError) and f"{construct.__qualname__}()" in text
    if not is_binding_error and not is_internal_file(construct.__code__.co_filename):
        return error
    signature = ", ".join(
        str(parameter.replace(annotation=parameter.empty))
        for parameter in list(inspect.signature(construct).parameters.values())[1:]
    )
    got = [describe_value(value) for value in args] + [
        f"{key}={describe_value(v)}" for key, v in kwargs.items()
    ]
    error_class = ArgumentValueError if isinstance(error, AssertionError) else ArgumentTypeError
    message = (
        text.replace(f"{construct.__qualname__}()", "construct")
        if is_binding_error
        else f"wrong inputs: {text}"
    )
    lines = [f"For '{name}', {message}", f"  got: {', '.join(got[:8]) or 'no arguments'}"]
    if where := source_line_of_error(error):
        lines.append(f"  called at: {where}")
    suffix = getattr(construct, "what_helps", "") if is_binding_error else ", with tensors"
    lines.append(f"  what helps: call it as {name}({signature}){suffix}")
    return error_class("\n".join(lines))


def add_cell_path(error: BaseException, cell: Any) -> None:
    """Add to an error which Cell it came from; the innermost Cell is added first.

    >>> error = OperationError("too large")
    >>> add_cell_path(error, Tensor([1.0]))
    >>> print(error)
    too large
      called at: ...
      in cell: Tensor
    """
    trail: list[Any] = error.__dict__.setdefault("_cells", [])
    if trail and trail[-1] is cell:
        return
    trail.append(cell)
    line = f"  in cell: {_format_cell_path(trail)}"
    if isinstance(error, MillraceError) and len(error.args) == 1 and isinstance(error.args[0], str):
        text = error.args[0].split("\n  in cell: ")[0]
        if "  called at: " not in text and (where := source_line_of_error(error)):
            text += f"\n  called at: {where}"
        error.args = (f"{text}\n{line}",)
        return
    notes = [note for note in getattr(error, "__notes__", []) if not note.startswith("  in cell: ")]
    error.__notes__ = [*notes, line]


def _format_cell_path(trail: list[Any]) -> str:
    """``Net.block.fc1 (Dense)``: from the outermost Cell, by attribute names."""
    names = [type(trail[-1]).__name__]
    for outer, inner in zip(reversed(trail), reversed(trail[:-1]), strict=False):
        children = getattr(outer, "_cells", {})
        names.append(next((name for name, child in children.items() if child is inner), type(inner).__name__))
    path = ".".join(names)
    return path if len(trail) == 1 else f"{path} ({type(trail[0]).__name__})"
