"""Python operators on tensors.

This is the hot path of eager code: each method unwraps, calls PyTorch and wraps. Type promotion is PyTorch's,
which equals MindSpore's (Python numbers never change the dtype within their category). Other operands, such
as arrays, lists and unsupported values, take a slower path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from millrace._src.core.values.tensor import Tensor

from .backend.torch_private import torch_functions
from .device_placement import align_devices, cast_to_compute_dtype
from .error_translation import translate_error
from .storage import as_torch_tensor, new_instance, wrap

__all__ = ["OPERATORS"]

Function = Callable[..., torch.Tensor]

OPERATORS: dict[str, Callable[..., Any]] = {}


def _operand(value: Any) -> Any:
    """The right-hand operand for PyTorch, or NotImplemented."""
    if isinstance(value, Tensor):
        return value._torch
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return value
    if isinstance(value, (np.ndarray, np.generic, list, tuple, torch.Tensor)):
        return as_torch_tensor(value)
    return NotImplemented


def _as_tensor(number: Any, like: torch.Tensor) -> Any:
    """A Python number as a tensor of the promoted dtype."""
    if isinstance(number, torch.Tensor):
        return number
    return torch.tensor(number, dtype=torch.result_type(like, number), device=like.device)


def _binary(name: str, function: Function, spare: Function | None = None) -> Callable[[Any, Any], Any]:
    """Define the method for ``self <op> other``; `spare` is the fallback if the function raises."""

    def method(self: Tensor, right: Any) -> Any:
        right_type = right.__class__
        try:
            tensor = new_instance(Tensor)
            if right_type is Tensor:
                tensor._torch = function(self._torch, right._torch)
            elif right_type is float or right_type is int:
                tensor._torch = function(self._torch, right)
            else:
                operand = _operand(right)
                if operand is NotImplemented:
                    return NotImplemented
                tensor._torch = function(self._torch, operand)
            return tensor
        except Exception as error:
            return _retry_binary(name, error, spare, self, right)

    method.__name__ = method.__qualname__ = f"__{name}__"
    OPERATORS[method.__name__] = method
    return method


def _reflected(name: str, function: Function, spare: Function | None = None) -> None:
    """Define the method for ``other <op> self``."""

    def method(self: Tensor, left: Any) -> Any:
        operand = _operand(left)
        if operand is NotImplemented:
            return NotImplemented
        right = self._torch
        try:
            return wrap(function(_as_tensor(operand, right), right))
        except Exception as error:
            return _retry_binary(name, error, spare, left, self)

    method.__name__ = method.__qualname__ = f"__{name}__"
    OPERATORS[method.__name__] = method


def _retry_binary(name: str, error: Exception, spare: Function | None, left: Any, right: Any) -> Tensor:
    if align_devices(error, (left, right)):
        method = name.removeprefix("r") if name.startswith("r") and name != "round" else name
        return OPERATORS[f"__{method}__"](left, right)
    if (lower := cast_to_compute_dtype((left, right))) is not None:
        return OPERATORS[f"__{name}__"](*(reversed(lower) if name.startswith("r") else lower))
    if spare is not None:
        both = _operand(left), _operand(right)
        like = next(part for part in both if isinstance(part, torch.Tensor))
        try:
            return wrap(spare(_as_tensor(both[0], like), _as_tensor(both[1], like)))
        except Exception as second:
            raise translate_error(name, second, (left, right)) from None
    raise translate_error(name, error, (left, right)) from None


def _subtract_bool(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """MindSpore subtracts bool tensors (exclusive or); PyTorch raises an error."""
    if left.dtype is torch.bool and right.dtype is torch.bool:
        return torch.bitwise_xor(left, right)
    return torch.sub(left, right)


def _unary(name: str, function: Function) -> None:
    def method(self: Tensor) -> Tensor:
        try:
            return wrap(function(self._torch))
        except Exception as error:
            raise translate_error(name, error, (self,)) from None

    method.__name__ = method.__qualname__ = f"__{name}__"
    OPERATORS[method.__name__] = method


def _equality(name: str, function: Function, different: bool) -> None:
    """Define == or !=: operands that no tensor can equal (None, text, a list) compare as different."""
    of_text = vars(Tensor)[f"__{name}__"]  # core's implementation for string tensors

    def method(self: Tensor, right: Any) -> Any:
        if not isinstance(right, (Tensor, bool, int, float, complex, np.ndarray, torch.Tensor, str, bytes)):
            return different
        if self.dtype.python is str or isinstance(right, (str, bytes)) or _is_text(right):
            return of_text(self, right)
        operand = _operand(right)
        try:
            return wrap(function(self._torch, operand))
        except Exception as error:
            raise translate_error(name, error, (self, right)) from None

    method.__name__ = method.__qualname__ = f"__{name}__"
    OPERATORS[method.__name__] = method


def _is_text(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.python is str


for _name, _function in {
    "add": torch_functions.add,
    "mul": torch_functions.mul,
    "truediv": torch_functions.true_divide,
    "floordiv": torch_functions.floor_divide,
    "mod": torch_functions.remainder,
    "pow": torch_functions.pow,
    "matmul": torch_functions.matmul,
    "and": torch_functions.bitwise_and,
    "or": torch_functions.bitwise_or,
    "xor": torch_functions.bitwise_xor,
}.items():
    _binary(_name, _function)
    _reflected(f"r{_name}", _function)
_binary("sub", torch_functions.sub, _subtract_bool)
_reflected("rsub", torch_functions.sub, _subtract_bool)
for _name, _function in {
    "lt": torch_functions.lt,
    "le": torch_functions.le,
    "gt": torch_functions.gt,
    "ge": torch_functions.ge,
}.items():
    _binary(_name, _function)
_equality("eq", torch_functions.eq, different=False)
_equality("ne", torch_functions.ne, different=True)
for _name, _function in {
    "neg": torch_functions.neg,
    "pos": torch_functions.positive,
    "abs": torch_functions.abs,
    "invert": torch_functions.logical_not,  # ~ is logical not in MindSpore, for numbers too
    "round": torch_functions.round,
}.items():
    _unary(_name, _function)
OPERATORS["__hash__"] = object.__hash__
