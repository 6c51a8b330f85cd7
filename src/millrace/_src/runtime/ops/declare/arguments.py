"""Arguments of operations: operands that may be numbers, axes, shapes, integers."""

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
    """Two operands as tensors; a Python number is promoted with the other operand's dtype.

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


def _result_dtype(tensor: Tensor, operand: Any) -> torch.dtype | None:
    if not isinstance(operand, (bool, int, float, complex)):
        raise ArgumentTypeError(f"an operand must be a Tensor or a number, but got {operand!r}")
    return torch.result_type(tensor, operand)


def _as_tensor(value: Any) -> Tensor:
    if not isinstance(value, (bool, int, float, complex)):
        raise ArgumentTypeError(f"an operand must be a Tensor or a number, but got {value!r}")
    return torch.as_tensor(value)


def subtract_with_bool(left: Tensor, right: Tensor) -> Tensor:
    """left - right, for bools too: MindSpore subtracts them, and a nonzero result is true."""
    if left.dtype is torch.bool and right.dtype is torch.bool:
        return torch.bitwise_xor(left, right)
    return torch.sub(left, right)


def to_python_list(tensor: Tensor) -> Any:
    """Values of a tensor as Python objects. A capture is notified, since other values would need another graph.
    Tensors from outside the capture, such as attributes, are frozen at the first call.
    """
    for listener in host_read_listeners:
        outside = getattr(getattr(listener, "__self__", None), "is_external", None)
        if outside is None or not outside(tensor):
            listener("the values of a tensor that determines a shape, an axis or an index")
    return tensor.tolist()


def normalize_axes(value: Any, ndim: int) -> tuple[int, ...]:
    """Axes to reduce: None and () mean all of them.

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
    """Check that the axes are in range."""
    for axis in over:
        if not -ndim <= axis < ndim and ndim:
            raise ArgumentValueError(f"the axis value must be in [{-ndim},{ndim}), but got {axis}.")
    return over


def to_shape(value: Any) -> tuple[int, ...]:
    """Shape from an int, a list or tuple of ints, or a tensor of them (whose values are read on the host).

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
    """Whether a value is an integer, or a tensor of one integer."""
    if isinstance(value, Tensor):
        return value.numel() == 1 and not (value.is_floating_point() or value.is_complex())
    return isinstance(value, int) and not isinstance(value, bool)


def unpack_varargs(values: tuple[Any, ...]) -> Any:
    """Arguments given one by one or as one sequence: ``f(2, 3)`` and ``f((2, 3))``.

    >>> unpack_varargs((2, 3)), unpack_varargs(((2, 3),))
    ((2, 3), (2, 3))
    """
    return values[0] if len(values) == 1 and not isinstance(values[0], int) else values


def to_int(value: Any, name: str) -> int:
    """Check that an argument is an integer; a tensor of one integer counts."""
    if not _is_integer(value):
        raise ArgumentTypeError(f"the argument '{name}' must be an int, but got {value!r}")
    return int(value)


def upcast_half(x: Tensor) -> Tensor:
    """float32 tensor for half-precision input, so that sums lose little precision."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
