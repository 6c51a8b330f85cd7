"""Discrete Fourier transforms: fft, ifft, rfft, fft2, fftn, fftshift, fftfreq."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "FFTWithSize",
    "fft",
    "fft2",
    "fft_with_size",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


@op("ops", dtype=UNCHECKED)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Discrete Fourier transform over an axis."""
    return torch.fft.fft(input, n, dim, norm)


@op("ops", dtype=UNCHECKED)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse discrete Fourier transform over an axis."""
    return torch.fft.ifft(input, n, dim, norm)


@op("ops", dtype=UNCHECKED)
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Discrete Fourier transform of real input along an axis, without the redundant half."""
    return torch.fft.rfft(input, n, dim, norm)


@op("ops", dtype=UNCHECKED)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `rfft`: real output along an axis."""
    return torch.fft.irfft(input, n, dim, norm)


@op("ops", dtype=UNCHECKED)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Discrete Fourier transform of a Hermitian-symmetric signal, given by half of it: real output."""
    return torch.fft.hfft(input, n, dim, norm)


@op("ops", dtype=UNCHECKED)
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `hfft`: half of the Hermitian-symmetric signal."""
    return torch.fft.ihfft(input, n, dim, norm)


@op("ops", dtype=UNCHECKED)
def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """Two-dimensional discrete Fourier transform."""
    return torch.fft.fft2(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """Two-dimensional inverse discrete Fourier transform."""
    return torch.fft.ifft2(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """Two-dimensional discrete Fourier transform of real input, without the redundant half."""
    return torch.fft.rfft2(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """Inverse of `rfft2`: real output."""
    return torch.fft.irfft2(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """Two-dimensional discrete Fourier transform of a Hermitian-symmetric signal: real output."""
    return torch.fft.hfft2(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """Inverse of `hfft2`: half of the Hermitian-symmetric signal."""
    return torch.fft.ihfft2(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """N-dimensional discrete Fourier transform."""
    return torch.fft.fftn(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """N-dimensional inverse discrete Fourier transform."""
    return torch.fft.ifftn(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """N-dimensional discrete Fourier transform of real input, without the redundant half."""
    return torch.fft.rfftn(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """Inverse of `rfftn`: real output."""
    return torch.fft.irfftn(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """N-dimensional discrete Fourier transform of a Hermitian-symmetric signal: real output."""
    return torch.fft.hfftn(input, s, dim, norm)


@op("ops", dtype=UNCHECKED)
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """Inverse of `hfftn`: half of the Hermitian-symmetric signal."""
    return torch.fft.ihfftn(input, s, dim, norm)


@op("ops", dtype=SAME)
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Shift the zero-frequency component to the center."""
    return torch.fft.fftshift(input, dim)


@op("ops", dtype=SAME)
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Inverse of `fftshift`."""
    return torch.fft.ifftshift(input, dim)


@op("ops", dtype=UNCHECKED, differentiable=False)
def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """Sample frequencies of a discrete Fourier transform of n elements with spacing `d`."""
    return torch.fft.fftfreq(n, d, dtype=dtype or torch.float32)


@op("ops", dtype=UNCHECKED, differentiable=False)
def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """Sample frequencies of `rfft` of n elements with spacing `d`."""
    return torch.fft.rfftfreq(n, d, dtype=dtype or torch.float32)


@op(dtype=UNCHECKED)
def fft_with_size(
    x: Tensor,
    signal_ndim: int,
    inverse: bool,
    real: bool,
    norm: str = "backward",
    onesided: bool = True,
    signal_sizes: Any = (),
) -> Tensor:
    """Discrete Fourier transform along the last axes: forward or inverse, complex or real."""
    over = tuple(range(-signal_ndim, 0))
    sizes = tuple(signal_sizes) or None
    if not real:
        return torch.fft.ifftn(x, dim=over, norm=norm) if inverse else torch.fft.fftn(x, dim=over, norm=norm)
    if not inverse:
        return torch.fft.rfftn(x, dim=over, norm=norm) if onesided else torch.fft.fftn(x, dim=over, norm=norm)
    if onesided:
        return torch.fft.irfftn(x, sizes, over, norm)
    return torch.fft.ifftn(x, sizes, over, norm).real


FFTWithSize = primitive("FFTWithSize", fft_with_size)
