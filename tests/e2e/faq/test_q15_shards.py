"""Q15: how does the user-defined dataset transfer data to different chips? num_shards=..., shard_id=device_id."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millrace.dataset as ds


class Numbers:
    """``__getitem__`` and ``__len__`` are processed as full datasets."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __getitem__(self, index):
        return (np.int64(index),)

    def __len__(self):
        return self.size


def stream(size: int):
    def rows():
        for i in range(size):
            yield (np.int64(i),)

    return rows


SOURCES = {
    "random access": lambda size, **kw: ds.GeneratorDataset(Numbers(size), ["x"], **kw),
    "stream": lambda size, **kw: ds.GeneratorDataset(stream(size), ["x"], **kw),
    "slices": lambda size, **kw: ds.NumpySlicesDataset(np.arange(size), ["x"], **kw),
}


def rows(data: ds.Dataset) -> list[int]:
    return [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def check(shards: list[list[int]], size: int) -> None:
    """Equal steps; every row somewhere; doubled only what equal steps need; and no shard has a row twice."""
    world = len(shards)
    assert {len(shard) for shard in shards} == {-(-size // world)}
    counts = Counter(row for shard in shards for row in shard)
    assert set(counts) == set(range(size))
    assert sum(counts.values()) - size == -size % world
    if size >= world:
        assert max(counts.values()) <= 2
        assert all(len(set(shard)) == len(shard) for shard in shards)


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=25)
@given(
    size=st.integers(1, 60), world=st.integers(1, 9), shuffle=st.booleans(), seed=st.integers(0, 2**32 - 1)
)
def test_any_size_on_any_number_of_devices(name, size, world, shuffle, seed) -> None:
    ds.config.set_seed(seed)
    options = {"num_shards": world, "shuffle": None if name == "stream" else shuffle}
    shards = [rows(SOURCES[name](size, shard_id=device, **options)) for device in range(world)]
    check(shards, size)


@settings(max_examples=10)
@given(size=st.integers(8, 60), world=st.integers(1, 8), batch=st.integers(1, 5))
def test_equal_steps_after_map_and_batch(size, world, batch) -> None:
    ds.config.set_seed(1)
    steps = {
        len(
            list(
                ds.GeneratorDataset(Numbers(size), ["x"], num_shards=world, shard_id=k)
                .map(abs, ["x"])
                .batch(batch)
            )
        )
        for k in range(world)
    }
    assert len(steps) == 1


def test_code_of_the_page() -> None:
    """Device 0 ... device 7, each with its own shard_id."""
    ds.config.set_seed(3)
    data = [ds.GeneratorDataset(Numbers(64), ["data"], num_shards=8, shard_id=device) for device in range(8)]
    assert {one.get_dataset_size() for one in data} == {8}
    assert sorted(row for one in data for row in rows(one)) == list(range(64))


def test_disjoint_in_every_epoch_with_one_seed_on_all_devices() -> None:
    ds.config.set_seed(3)
    iterators = [
        ds.GeneratorDataset(Numbers(40), ["x"], num_shards=4, shard_id=k, shuffle=True).create_tuple_iterator(
            num_epochs=3, output_numpy=True
        )
        for k in range(4)
    ]
    epochs = []
    for _ in range(3):
        shards = [[int(row[0]) for row in iterator] for iterator in iterators]
        check(shards, 40)
        epochs.append(shards)
    assert epochs[0] != epochs[1] != epochs[2]


@pytest.mark.parametrize("name", SOURCES)
def test_padding_is_reported(name, caplog) -> None:
    """10 rows on 4 devices: 12 steps, so two shards get a row that another one has too, and say so."""
    said = []
    for device in range(4):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="millrace"):
            data = SOURCES[name](
                10, num_shards=4, shard_id=device, shuffle=None if name == "stream" else False
            )
            rows(data)
        text = f"{caplog.text}\n{data.report()}"
        said.append(any(word in text for word in ("repeats", "padd", "filled")))
    assert said == [False, False, True, True]


@pytest.mark.parametrize("options", [{"num_shards": 4}, {"shard_id": 0}, {"num_shards": 4, "shard_id": 4}])
def test_half_an_answer_is_an_error(options) -> None:
    with pytest.raises((ValueError, RuntimeError), match="shard"):
        list(ds.GeneratorDataset(Numbers(8), ["x"], **options))
