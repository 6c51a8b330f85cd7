"""Windows of signals, and the Fourier transform of a signal window by window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BartlettWindow",
    "BlackmanWindow",
    "HammingWindow",
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hamming_window_of",
    "hann_window",
    "kaiser_window",
]

_LONGEST = 1_000_000


def _length(name: str, given: Any, periodic: Any, dtype: torch.dtype | None) -> int:
    """How long a window is, once all arguments are as they must be."""
    if not isinstance(periodic, bool):
        raise ArgumentTypeError(f"For '{name}', 'periodic' must be a bool, but got {periodic!r}.")
    if dtype is not None and not dtype.is_floating_point:
        raise ArgumentTypeError(f"For '{name}', 'dtype' must be a type of floating numbers, but got {dtype}.")
    if isinstance(given, Tensor):
        if given.is_floating_point() or given.is_complex() or given.dtype is torch.bool:
            raise ArgumentTypeError(
                f"For '{name}', the length must be of int32 or int64, but got {given.dtype}."
            )
        if given.numel() != 1:
            raise ArgumentValueError(
                f"For '{name}', the length must be one number, but got {given.tolist()}."
            )
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int):
        raise ArgumentTypeError(
            f"For '{name}', the length must be an int or a Tensor of one, but got {given!r}."
        )
    if not 0 <= given <= _LONGEST:
        raise ArgumentValueError(f"For '{name}', the length must be in [0, {_LONGEST}], but got {given}.")
    return given


def _window(
    length: int, periodic: bool, dtype: torch.dtype | None, shape: Callable[[Tensor, float], Tensor]
) -> Tensor:
    """The window whose shape is given as a function of places and of the last place; one point is 1. It is computed in
    float64: a window is short, and made once."""
    kind = dtype or torch.float32
    if length <= 1:
        return torch.ones(length, dtype=kind)
    return shape(torch.arange(length, dtype=torch.float64), length - (not periodic)).to(kind)


@op("ops", dtype=UNCHECKED, differentiable=False)
def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """A window that rises and falls in straight lines."""
    length = _length("BartlettWindow", window_length, periodic, dtype)
    return _window(length, periodic, dtype, lambda n, last: 1 - torch.abs(2 * n / last - 1))


@op("ops", dtype=UNCHECKED, differentiable=False)
def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Blackman's window: 0.42 - 0.5 cos + 0.08 cos of the double."""
    length = _length("BlackmanWindow", window_length, periodic, dtype)

    def shape(n: Tensor, last: float) -> Tensor:
        turn = 2 * torch.pi * n / last
        return (0.42 - 0.5 * torch.cos(turn) + 0.08 * torch.cos(2 * turn)).clamp_min(0)

    return _window(length, periodic, dtype, shape)


@op("ops", dtype=UNCHECKED, differentiable=False)
def hamming_window(
    window_length: Any,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
) -> Tensor:
    """Hamming's window: alpha - beta cos."""
    length = _length("hamming_window", window_length, periodic, dtype)
    for label, value in (("alpha", alpha), ("beta", beta)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentTypeError(f"For 'hamming_window', '{label}' must be a number, but got {value!r}.")
    return _window(length, periodic, dtype, lambda n, last: alpha - beta * torch.cos(2 * torch.pi * n / last))


@op(dtype=UNCHECKED, differentiable=False)
def hamming_window_of(
    length: Tensor, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, dtype: Any = torch.float32
) -> Tensor:
    """Hamming's window: alpha - beta cos. The length is a tensor of one number."""
    if not isinstance(length, Tensor):
        raise ArgumentTypeError(f"For 'HammingWindow', 'length' must be a Tensor, but got {length!r}.")
    if length.ndim != 1:
        raise ArgumentValueError(
            f"For 'HammingWindow', 'length' must have one axis, but got the shape {list(length.shape)}."
        )
    return hamming_window.raw(length, periodic, alpha, beta, dtype=dtype)


@op("ops", dtype=UNCHECKED, differentiable=False)
def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Von Hann's window: half of 1 - cos; float64 where no type is given."""
    length = _length("hann_window", window_length, periodic, dtype)
    kind = dtype or torch.float64
    return _window(length, periodic, kind, lambda n, last: 0.5 - 0.5 * torch.cos(2 * torch.pi * n / last))


@op("ops", dtype=UNCHECKED, differentiable=False)
def kaiser_window(
    window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None
) -> Tensor:
    """Kaiser's window, narrower the larger beta is; float64 where no type is given."""
    length = _length("kaiser_window", window_length, periodic, dtype)
    width = torch.as_tensor(beta, dtype=torch.float64)

    def shape(n: Tensor, last: float) -> Tensor:
        return torch.i0(width * torch.sqrt((1 - (2 * n / last - 1).square()).clamp_min(0))) / torch.i0(width)

    return _window(length, periodic, dtype or torch.float64, shape)


BartlettWindow = primitive("BartlettWindow", bartlett_window, ("periodic", "dtype"), dtype=torch.float32)
BlackmanWindow = primitive("BlackmanWindow", blackman_window, ("periodic", "dtype"), dtype=torch.float32)
HammingWindow = primitive("HammingWindow", hamming_window_of)
