"""N-grams, sliding windows and pair truncation of token sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ngrams", "pair_lengths", "windows"]


def ngrams(
    tokens: Sequence[str],
    sizes: Sequence[int],
    left: tuple[str, int],
    right: tuple[str, int],
    separator: str,
) -> list[str]:
    """The n-grams of the tokens for each n in turn; one empty text where there are too few tokens for an n.

    >>> ngrams(["a", "b", "c"], [2, 4], ("<", 1), ("", 0), "-")
    ['<-a', 'a-b', 'b-c', '<-a-b-c']
    """
    grams: list[str] = []
    for n in sizes:
        padded = [left[0]] * min(left[1], n - 1) + list(tokens) + [right[0]] * min(right[1], n - 1)
        joined = [separator.join(padded[i : i + n]) for i in range(len(padded) - n + 1)]
        grams += joined or [""]
    return grams


def windows(values: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    """Sliding windows of ``width`` values; empty where there are fewer values.

    >>> windows(np.array([1, 2, 3]), 2).tolist()
    [[1, 2], [2, 3]]
    """
    if width > len(values):
        return np.empty((0,), values.dtype)
    return np.lib.stride_tricks.sliding_window_view(values, width).copy()


def pair_lengths(first: Any, second: Any, max_length: int) -> tuple[Any, Any]:
    """Lengths after truncating two sequences to ``max_length`` in total: the longer one is truncated first.

    Of two equally long sequences, the second is truncated first. Takes numbers or arrays of them.

    >>> pair_lengths(3, 2, 4), pair_lengths(1, 4, 2), pair_lengths(2, 2, 1)
    ((2, 2), (1, 1), (1, 0))
    """
    # both are truncated to half the length, unless one is short enough to keep all of it
    half_down, half_up = max_length // 2, max_length - max_length // 2
    fits = first + second <= max_length
    kept_first = np.where(fits, first, np.minimum(first, np.maximum(half_up, max_length - second)))
    kept_second = np.where(fits, second, np.minimum(second, np.maximum(half_down, max_length - first)))
    if np.ndim(kept_first) == 0:
        return int(kept_first), int(kept_second)
    return kept_first, kept_second
