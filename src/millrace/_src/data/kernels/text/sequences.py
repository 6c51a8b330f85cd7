"""Rows of words made longer, shorter or into pieces."""

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
    """The n-grams of the words for each n in turn; one empty text where there are too few words for any.

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
    """Every run of ``width`` values in turn; nothing where there are fewer.

    >>> windows(np.array([1, 2, 3]), 2).tolist()
    [[1, 2], [2, 3]]
    """
    if width > len(values):
        return np.empty((0,), values.dtype)
    return np.lib.stride_tricks.sliding_window_view(values, width).copy()


def pair_lengths(first: Any, second: Any, max_length: int) -> tuple[Any, Any]:
    """How much of two sequences is kept, so that both together are no longer than ``most``: the longer one gives way.

    Of two that are equally long, the second does. Numbers or arrays of them.

    >>> pair_lengths(3, 2, 4), pair_lengths(1, 4, 2), pair_lengths(2, 2, 1)
    ((2, 2), (1, 1), (1, 0))
    """
    # both are cut down to one length, where one is not short enough to stay whole
    half_down, half_up = max_length // 2, max_length - max_length // 2
    fits = first + second <= max_length
    kept_first = np.where(fits, first, np.minimum(first, np.maximum(half_up, max_length - second)))
    kept_second = np.where(fits, second, np.minimum(second, np.maximum(half_down, max_length - first)))
    if np.ndim(kept_first) == 0:
        return int(kept_first), int(kept_second)
    return kept_first, kept_second
