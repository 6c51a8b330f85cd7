"""Window functions: hann_window, hamming_window, kaiser_window."""

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

_MAX_LENGTH = 1_000_000


def _check_length(name: str, window_length: Any, periodic: Any, dtype: torch.dtype | None) -> int:
    """Length of a window, after the arguments are checked."""
    if not isinstance(periodic, bool):
        raise ArgumentTypeError(f"For '{name}', 'periodic' must be a bool, but got {periodic!r}.")
    if dtype is not None and not dtype.is_floating_point:
        raise ArgumentTypeError(f"For '{name}', 'dtype' must be a type of floating numbers, but got {dtype}.")
    if isinstance(window_length, Tensor):
        if (
            window_length.is_floating_point()
            or window_length.is_complex()
            or window_length.dtype is torch.bool
        ):
            raise ArgumentTypeError(
                f"For '{name}', the length must be of int32 or int64, but got {window_length.dtype}."
            )
        if window_length.numel() != 1:
            raise ArgumentValueError(
                f"For '{name}', the length must be one number, but got {window_length.tolist()}."
            )
        window_length = int(window_length)
    if isinstance(window_length, bool) or not isinstance(window_length, int):
        raise ArgumentTypeError(
            f"For '{name}', the length must be an int or a Tensor of one, but got {window_length!r}."
        )
    if not 0 <= window_length <= _MAX_LENGTH:
        raise ArgumentValueError(
            f"For '{name}', the length must be in [0, {_MAX_LENGTH}], but got {window_length}."
        )
    return window_length


def _window(
    length: int, periodic: bool, dtype: torch.dtype | None, shape: Callable[[Tensor, float], Tensor]
) -> Tensor:
    """Window with a shape given as a function of the positions and the last position; a single point is 1. It is
    computed in float64.
    """
    window_dtype = dtype or torch.float32
    if length <= 1:
        return torch.ones(length, dtype=window_dtype)
    return shape(torch.arange(length, dtype=torch.float64), length - (not periodic)).to(window_dtype)


@op("ops", dtype=UNCHECKED, differentiable=False)
def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Bartlett window: triangular."""
    length = _check_length("BartlettWindow", window_length, periodic, dtype)
    return _window(length, periodic, dtype, lambda n, last: 1 - torch.abs(2 * n / last - 1))


@op("ops", dtype=UNCHECKED, differentiable=False)
def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Blackman window: 0.42 - 0.5 cos(x) + 0.08 cos(2 x)."""
    length = _check_length("BlackmanWindow", window_length, periodic, dtype)

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
    """Hamming window: alpha - beta cos(x)."""
    length = _check_length("hamming_window", window_length, periodic, dtype)
    for label, value in (("alpha", alpha), ("beta", beta)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentTypeError(f"For 'hamming_window', '{label}' must be a number, but got {value!r}.")
    return _window(length, periodic, dtype, lambda n, last: alpha - beta * torch.cos(2 * torch.pi * n / last))


@op(dtype=UNCHECKED, differentiable=False)
def hamming_window_of(
    length: Tensor, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, dtype: Any = torch.float32
) -> Tensor:
    """Hamming window: alpha - beta cos(x). The length is a tensor of one number."""
    if not isinstance(length, Tensor):
        raise ArgumentTypeError(f"For 'HammingWindow', 'length' must be a Tensor, but got {length!r}.")
    if length.ndim != 1:
        raise ArgumentValueError(
            f"For 'HammingWindow', 'length' must have one axis, but got the shape {list(length.shape)}."
        )
    return hamming_window.raw(length, periodic, alpha, beta, dtype=dtype)


@op("ops", dtype=UNCHECKED, differentiable=False)
def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Hann window: 0.5 (1 - cos(x)); float64 by default."""
    length = _check_length("hann_window", window_length, periodic, dtype)
    window_dtype = dtype or torch.float64
    return _window(
        length, periodic, window_dtype, lambda n, last: 0.5 - 0.5 * torch.cos(2 * torch.pi * n / last)
    )


@op("ops", dtype=UNCHECKED, differentiable=False)
def kaiser_window(
    window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None
) -> Tensor:
    """Kaiser window, narrower for larger `beta`; float64 by default."""
    length = _check_length("kaiser_window", window_length, periodic, dtype)
    width = torch.as_tensor(beta, dtype=torch.float64)

    def shape(n: Tensor, last: float) -> Tensor:
        return torch.i0(width * torch.sqrt((1 - (2 * n / last - 1).square()).clamp_min(0))) / torch.i0(width)

    return _window(length, periodic, dtype or torch.float64, shape)


BartlettWindow = primitive("BartlettWindow", bartlett_window, ("periodic", "dtype"), dtype=torch.float32)
BlackmanWindow = primitive("BlackmanWindow", blackman_window, ("periodic", "dtype"), dtype=torch.float32)
HammingWindow = primitive("HammingWindow", hamming_window_of)
