"""Short-time Fourier transform."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["STFT", "stft", "stft_of"]


def _compute_spectra(
    x: Tensor, window: Tensor, n_fft: int, hop_length: int, win_length: int, normalized: bool, onesided: bool
) -> Tensor:
    """Spectrum of each window: (batch, frequencies, windows), or without the batch."""
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
    spectra = torch.fft.fft(pieces) if whole else torch.fft.rfft(pieces)
    spectra = spectra.transpose(-1, -2)
    return spectra / n_fft**0.5 if normalized else spectra


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
    """Short-time Fourier transform: the transform of windows `hop_length` (n_fft / 4) apart. With `center` half a
    window of padding is added at both ends. Real signals give half of each transform, as pairs of real numbers by
    default.
    """
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
    spectra = _compute_spectra(
        x, window, n_fft, hop, wide, normalized, not whole if onesided is None else onesided
    )
    return spectra if (whole if return_complex is None else return_complex) else torch.view_as_real(spectra)


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
    """Short-time Fourier transform with windows `hop_length` apart."""
    spectra = _compute_spectra(x, window, n_fft, hop_length, win_length, normalized, onesided)
    return spectra if return_complex else torch.view_as_real(spectra)


STFT = primitive("STFT", stft_of)
