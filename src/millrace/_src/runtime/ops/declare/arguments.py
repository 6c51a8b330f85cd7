"""What bodies of operations share: operands that may be numbers, axes under any of their spellings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.tensor.storage import host_read_listeners

__all__ = [
    "normalize_axes",
    "promote_operands",
    "subtract_with_bool",
    "to_int",
    "to_python_list",
    "to_shape",
    "unpack_varargs",
    "upcast_half",
    "check_axes",
]


def promote_operands(left: Any, right: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; a number takes the type in which it meets the other.

    >>> promote_operands(torch.ones(2, dtype=torch.int8), 2)[1].dtype
    torch.int8
    """
    if isinstance(left, Tensor):
        if isinstance(right, Tensor):
            return left, right
        return left, torch.as_tensor(right, dtype=_result_dtype(left, right), device=left.device)
    if isinstance(right, Tensor):
        return torch.as_tensor(left, dtype=_result_dtype(right, left), device=right.device), right
    return _as_tensor(left), _as_tensor(right)


def _result_dtype(tensor: Tensor, other: Any) -> torch.dtype | None:
    if not isinstance(other, (bool, int, float, complex)):
        raise ArgumentTypeError(f"an operand must be a Tensor or a number, but got {other!r}")
    return torch.result_type(tensor, other)


def _as_tensor(value: Any) -> Tensor:
    if not isinstance(value, (bool, int, float, complex)):
        raise ArgumentTypeError(f"an operand must be a Tensor or a number, but got {value!r}")
    return torch.as_tensor(value)


def subtract_with_bool(left: Tensor, right: Tensor) -> Tensor:
    """left - right, for truth values too: MindSpore subtracts them and what is not 0 is true."""
    if left.dtype is torch.bool and right.dtype is torch.bool:
        return torch.bitwise_xor(left, right)
    return torch.sub(left, right)


def to_python_list(tensor: Tensor) -> Any:
    """The values of a tensor in Python. A recording is told, since with other values another step would be recorded;
    what stands outside of it, as attributes do, is frozen at the first call."""
    for told in host_read_listeners:
        outside = getattr(getattr(told, "__self__", None), "is_external", None)
        if outside is None or not outside(tensor):
            told("the values of a tensor that says a shape, an axis or a place")
    return tensor.tolist()


def normalize_axes(value: Any, ndim: int) -> tuple[int, ...]:
    """The axes to reduce: None and () mean all of them.

    >>> normalize_axes(None, 2), normalize_axes(-1, 2), normalize_axes([0, 1], 2)
    ((0, 1), (-1,), (0, 1))
    """
    if value is None or (isinstance(value, Sequence) and not value):
        return tuple(range(ndim))
    if isinstance(value, Tensor):
        value = to_python_list(value)
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple)):
        raise ArgumentTypeError(f"an axis must be an int, or a list or tuple of ints, but got {value!r}")
    return (value,) if isinstance(value, int) else tuple(value)


def check_axes(over: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """The axes, or an error where one is outside."""
    for axis in over:
        if not -ndim <= axis < ndim and ndim:
            raise ArgumentValueError(f"the axis value must be in [{-ndim},{ndim}), but got {axis}.")
    return over


def to_shape(value: Any) -> tuple[int, ...]:
    """A shape: an int, a list or tuple of ints, or a tensor of them (whose values leave for Python).

    >>> to_shape(3), to_shape([2, -1]), to_shape(torch.tensor([2, 3]))
    ((3,), (2, -1), (2, 3))
    """
    if value.__class__ is tuple:
        for part in value:
            if part.__class__ is not int:
                break
        else:
            return value
    if isinstance(value, Tensor):
        value = to_python_list(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, (list, tuple)) and all(_is_integer(part) for part in value):
        return tuple(map(int, value))
    raise ArgumentTypeError(f"a shape must be an int, or a tuple, list or Tensor of ints, but got {value!r}")


def _is_integer(value: Any) -> bool:
    """Whether a value is an integer, or a tensor of one."""
    if isinstance(value, Tensor):
        return value.numel() == 1 and not (value.is_floating_point() or value.is_complex())
    return isinstance(value, int) and not isinstance(value, bool)


def unpack_varargs(values: tuple[Any, ...]) -> Any:
    """Arguments that come one by one or as one sequence: ``f(2, 3)`` and ``f((2, 3))``.

    >>> unpack_varargs((2, 3)), unpack_varargs(((2, 3),))
    ((2, 3), (2, 3))
    """
    return values[0] if len(values) == 1 and not isinstance(values[0], int) else values


def to_int(value: Any, name: str) -> int:
    """An argument that must be an integer; a tensor of one counts."""
    if not _is_integer(value):
        raise ArgumentTypeError(f"the argument '{name}' must be an int, but got {value!r}")
    return int(value)


def upcast_half(x: Tensor) -> Tensor:
    """A tensor in which sums lose little: float32 in place of the short types."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
