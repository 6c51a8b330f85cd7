"""A random order may be asked for its beginning before all of it is sorted: that changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from millrace._src.core.random import rng
from millrace._src.core.random.rng import HEAD, SORT_LIMIT, RandomPermutation

SIZES = [0, 1, 2, 4 * HEAD, 4 * HEAD + 1, 5 * HEAD, 60_000]


def whole(size: int, key: int) -> np.ndarray:
    numbers = np.arange(size, dtype=np.uint64)
    return np.argsort(rng._scramble(numbers ^ np.uint64(key)), kind="stable")


@pytest.mark.parametrize("size", SIZES)
def test_the_beginning_is_that_of_the_whole(size):
    order, wanted = RandomPermutation(size, 12345), whole(size, 12345)
    for start, stop in [
        (0, 64),
        (64, 300),
        (900, HEAD + 500),
        (0, 64),
        (HEAD * 3, size),
        (size - 1, size + 9),
    ]:
        assert order.at(max(0, start), stop).tolist() == wanted[max(0, start) : stop].tolist()


@pytest.mark.parametrize("size", SIZES[1:])
def test_positions_anywhere(size):
    positions = np.array([size - 1, 0, size // 2])
    assert RandomPermutation(size, 7).take(positions).tolist() == whole(size, 7)[positions].tolist()


def test_the_first_rows_need_no_sort_of_all(monkeypatch):
    monkeypatch.setattr(RandomPermutation, "_all", lambda self: pytest.fail("sorted"))
    order = RandomPermutation(SORT_LIMIT, 3)
    assert len(set(order.at(0, HEAD // 2).tolist())) == HEAD // 2
