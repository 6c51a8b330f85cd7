"""Q04: why there is no difference between shuffle=True and shuffle=False of GeneratorDataset when data is yielded."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import log

ROWS = 200


class RandomAccess:
    """The user-defined Dataset has the getitem method."""

    def __getitem__(self, index):
        return (np.int64(index),)

    def __len__(self):
        return ROWS


def yielding():
    """Data is returned in yield mode."""
    for i in range(ROWS):
        yield (np.int64(i),)


class Iterable:
    def __iter__(self):
        return yielding()


@pytest.fixture
def fresh_warnings(monkeypatch):
    """What is said once per process may be said again in this test."""
    monkeypatch.setattr(log, "_warned_keys", set())


def orders(data: ds.Dataset, epochs: int = 2) -> list[list[int]]:
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    return [[int(row[0]) for row in iterator] for _ in range(epochs)]


def test_random_access_gives_a_true_permutation() -> None:
    ds.config.set_seed(4)
    first, second = orders(ds.GeneratorDataset(RandomAccess(), ["data"], shuffle=True))
    assert sorted(first) == sorted(second) == list(range(ROWS))
    assert first != second
    assert first != list(range(ROWS))
    # every row may come first and any row may go anywhere: no window
    firsts, moves = set(), []
    for seed in range(60):
        ds.config.set_seed(seed)
        [order] = orders(ds.GeneratorDataset(RandomAccess(), ["data"], shuffle=True), 1)
        firsts.add(order[0])
        moves += [abs(at - row) for at, row in enumerate(order)]
    assert len(firsts) > 35
    assert max(firsts) > ROWS * 3 // 4
    assert abs(np.mean(moves) - ROWS / 3) < 3  # the mean distance in a uniform permutation


def test_random_access_is_shuffled_unless_told_otherwise() -> None:
    assert orders(ds.GeneratorDataset(RandomAccess(), ["data"]), 1) != [list(range(ROWS))]
    assert orders(ds.GeneratorDataset(RandomAccess(), ["data"], shuffle=False), 1) == [list(range(ROWS))]


@pytest.mark.parametrize("source", [yielding, Iterable()], ids=["function", "iterable"])
def test_one_pass_source_is_shuffled_through_a_buffer_and_says_so_once(source, fresh_warnings) -> None:
    ds.config.set_seed(4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = ds.GeneratorDataset(source, ["data"], shuffle=True)
        first, second = orders(data)
        orders(ds.GeneratorDataset(source, ["data"], shuffle=True), 1)
    [said] = [str(warning.message) for warning in caught]
    assert re.search(r"one pass .*shuffles within a window of \d+ rows", said)
    assert "__getitem__" in said
    assert ".shuffle(buffer_size)" in said
    assert sorted(first) == sorted(second) == list(range(ROWS))
    assert first != second
    assert first != list(range(ROWS))
    assert data.is_shuffled()


@pytest.mark.parametrize("shuffle", [None, False])
def test_one_pass_source_keeps_its_order_otherwise_and_says_nothing(shuffle, fresh_warnings) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert orders(ds.GeneratorDataset(yielding, ["data"], shuffle=shuffle), 1) == [list(range(ROWS))]


@pytest.mark.parametrize(
    "sampler", [ds.SequentialSampler(), ds.RandomSampler()], ids=["sequential", "random"]
)
def test_shuffle_beside_a_sampler_is_an_error_that_says_why(sampler) -> None:
    with pytest.raises((ValueError, RuntimeError)) as caught:
        list(ds.GeneratorDataset(RandomAccess(), ["data"], shuffle=True, sampler=sampler))
    assert "shuffle" in str(caught.value)
    assert "the sampler already fixes the order" in str(caught.value)


@pytest.mark.parametrize("sampler", [[3, 1, 2], range(5)], ids=["list", "range"])
def test_shuffle_beside_a_scripts_own_sampler_is_a_warning_that_says_why(sampler) -> None:
    """MindSpore takes both, and scripts give both: the order is the sampler's."""
    with pytest.warns(UserWarning, match=r"shuffle=True.*has no effect.*the sampler already fixes the order"):
        data = ds.GeneratorDataset(RandomAccess(), ["data"], shuffle=True, sampler=sampler)
    assert orders(data, 1) == [list(sampler)]
