"""Other sample rates: a product with a matrix of shifted sincs per ratio."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from millrace._src.core.errors import DataError

from .window_functions import pad

__all__ = ["resample"]

Array = np.ndarray[Any, Any]
# a ratio with more phases than this many taps in all has its zeros left out
_DENSE = 1 << 20


def resample(
    x: Array,
    old: float,
    new: float,
    method: str,
    width: int,
    rolloff: float,
    beta: float,
    op: str = "Resample",
) -> Array:
    """A waveform (..., time) of floats at another rate."""
    common = math.gcd(int(old), int(new))
    if common == 0:
        raise DataError(f"{op}: the sample rates must be 1 or more, but got {old} and {new}.")
    ups, downs = int(new) // common, int(old) // common
    if not (ups and downs):
        raise DataError(f"{op}: the sample rates must be 1 or more, but got {old} and {new}.")
    ratio = (downs, ups, method, width, rolloff, beta, x.dtype.name)
    length = math.ceil(ups * x.shape[-1] / downs)
    return (_by_matrix if ups * downs <= _DENSE else _by_taps)(x, length, ratio)


def _by_matrix(x: Array, length: int, ratio: tuple[Any, ...]) -> Array:
    """All phases of a stretch of samples at once."""
    matrix, side = _matrix(*ratio)
    size, ups = matrix.shape
    downs = ratio[0]
    count = -(-length // ups)
    x = pad(x, side, max((count - 1) * downs + size - side - x.shape[-1], 0), "constant")
    step = x.strides[-1]
    cut = as_strided(x, (*x.shape[:-1], count, size), (*x.strides[:-1], step * downs, step), writeable=False)
    with np.errstate(invalid="ignore"):
        made = np.matmul(np.ascontiguousarray(cut), matrix)
    return made.reshape(*x.shape[:-1], -1)[..., :length]


def _by_taps(x: Array, length: int, ratio: tuple[Any, ...]) -> Array:
    """Each new sample from the few old ones around it."""
    taps, side = _taps(*ratio)
    downs, ups = ratio[:2]
    number = np.arange(length)
    starts = number * downs // ups
    x = pad(x, side, side + 2, "constant")
    cut = x.take(starts[:, None] + np.arange(taps.shape[1]), -1)
    with np.errstate(invalid="ignore"):
        cut *= taps[number % ups]
        # not einsum: its order of adding depends on how many waveforms there are
        made: Array = cut.sum(-1)
    return made


def _sincs(t: Array, base: Any, downs: int, method: str, width: int, beta: float) -> Array:
    """What samples at a distance t (in periods of the old rate) count for, in the type of t."""
    t = np.clip(t * base, -width, width)
    if method == "kaiser_window":
        shape = np.i0(beta * np.sqrt(1 - np.square(t / width, dtype=np.float64))) / np.i0(beta)
    else:
        shape = np.square(np.cos(t * (math.pi / width / 2)))
    t = t * t.dtype.type(math.pi)
    with np.errstate(invalid="ignore"):
        sinc = np.where(t == 0, 1, np.sin(t) / t)
    made = (sinc * shape * (base / downs)).astype(t.dtype)
    made.flags.writeable = False
    return made


@functools.lru_cache(maxsize=16)
def _matrix(
    downs: int, ups: int, method: str, width: int, rolloff: float, beta: float, dtype: str
) -> tuple[Array, int]:
    """(old sample, phase), and how many samples lie before the first. Computed in its type, as MindSpore has it."""
    base, side = _reach(downs, ups, width, rolloff)
    real = np.dtype(dtype).type
    t = np.arange(-side, side + downs, dtype=dtype)[:, None] / real(downs) - np.arange(
        ups, dtype=dtype
    ) / real(ups)
    return _sincs(t, real(base), downs, method, width, beta), side


@functools.lru_cache(maxsize=4)
def _taps(
    downs: int, ups: int, method: str, width: int, rolloff: float, beta: float, dtype: str
) -> tuple[Array, int]:
    """(phase, old sample around it), and how many samples lie before it."""
    base, side = _reach(downs, ups, width, rolloff)
    past = np.arange(ups) * downs % ups / ups  # of a sample of the old rate, from the one before
    t = np.arange(-side, side + 2) / downs - (past / downs)[:, None]
    return _sincs(t, base, downs, method, width, beta).astype(dtype), side


def _reach(downs: int, ups: int, width: int, rolloff: float) -> tuple[float, int]:
    """Where frequencies are cut off, and how many samples that takes on either side."""
    base = np.float32(min(downs, ups)) * np.float32(rolloff)
    return float(base), math.ceil(np.float32(width * downs) / base)
