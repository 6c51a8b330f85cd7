"""Windows of signals, and the Fourier transform of a signal window by window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "STFT",
    "BartlettWindow",
    "BlackmanWindow",
    "HammingWindow",
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hamming_window_of",
    "hann_window",
    "kaiser_window",
    "stft",
    "stft_of",
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


def _spectra(
    x: Tensor, window: Tensor, n_fft: int, hop_length: int, win_length: int, normalized: bool, onesided: bool
) -> Tensor:
    """The spectrum of each window: (batch, frequencies, windows), or without the batch."""
    if x.ndim not in (1, 2):
        raise ArgumentValueError(
            f"For 'STFT', 'x' must have one or two axes, but got the shape {list(x.shape)}."
        )
    if not 0 < n_fft <= x.shape[-1]:
        raise ArgumentValueError(
            f"For 'STFT', 'n_fft' must be in (0, {x.shape[-1]}], the length of 'x', but got {n_fft}."
        )
    if hop_length <= 0 or not 0 < win_length <= n_fft:
        raise ArgumentValueError(
            f"For 'STFT', 'hop_length' must be above 0 and 'win_length' in (0, {n_fft}], but got {hop_length} "
            f"and {win_length}."
        )
    if window.shape != (win_length,):
        raise ArgumentValueError(
            f"For 'STFT', 'window' must have the shape ({win_length},), but got {list(window.shape)}."
        )
    before = (n_fft - win_length) // 2
    padded = F.pad(window, (before, n_fft - win_length - before))
    pieces = x.unfold(-1, n_fft, hop_length) * padded
    whole = pieces.is_complex() or not onesided
    made = torch.fft.fft(pieces) if whole else torch.fft.rfft(pieces)
    made = made.transpose(-1, -2)
    return made / n_fft**0.5 if normalized else made


@op("ops", dtype=UNCHECKED)
def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "REFLECT",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """The Fourier transform of each window of a signal, `hop_length` (n_fft / 4) apart. With `center` half a window of
    padding is put at both ends. Real signals give half of each transform and pairs of numbers, unless asked
    otherwise."""
    whole = x.is_complex() or (window is not None and window.is_complex())
    hop = n_fft // 4 if hop_length is None else hop_length
    wide = n_fft if win_length is None else win_length
    if window is None:
        window = torch.ones(wide, dtype=x.real.dtype, device=x.device)
    if center:
        if x.ndim not in (1, 2) or n_fft // 2 >= x.shape[-1]:
            raise ArgumentValueError(
                f"For 'stft', half of 'n_fft' must be less than the length of 'x', but got {n_fft} and {list(x.shape)}."
            )
        modes = {"REFLECT": "reflect", "CONSTANT": "constant"}
        if pad_mode not in modes:
            raise ArgumentValueError(
                f"For 'stft', 'pad_mode' must be REFLECT or CONSTANT, but got {pad_mode!r}."
            )
        rows = x if x.ndim == 2 else x.unsqueeze(0)
        rows = F.pad(rows, (n_fft // 2, n_fft // 2), mode=modes[pad_mode])
        x = rows if x.ndim == 2 else rows.squeeze(0)
    made = _spectra(x, window, n_fft, hop, wide, normalized, not whole if onesided is None else onesided)
    return made if (whole if return_complex is None else return_complex) else torch.view_as_real(made)


@op(dtype=UNCHECKED)
def stft_of(
    x: Tensor,
    window: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    normalized: bool,
    onesided: bool,
    return_complex: bool,
) -> Tensor:
    """The Fourier transform of each window of a signal, `hop_length` apart."""
    made = _spectra(x, window, n_fft, hop_length, win_length, normalized, onesided)
    return made if return_complex else torch.view_as_real(made)


STFT = primitive("STFT", stft_of)
