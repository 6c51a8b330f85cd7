"""Q21: "the data pipeline is not a tree (i.e., one node has 2 consumers)". Here one dataset may feed two."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import millrace.dataset as ds
from tests.contracts.pipelines.pipelines import Noise


class XX:
    def __getitem__(self, index):
        return np.full(3, index, np.float32), np.int32(index)

    def __len__(self):
        return 30


def xx_dataset(**options) -> ds.Dataset:
    return ds.GeneratorDataset(XX(), ["x", "label"], **options).map(Noise(), "x")


def batches(data: ds.Dataset, epochs: int = 1) -> list[bytes]:
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    return [b"".join(value.tobytes() for value in row.values()) for _ in range(epochs) for row in iterator]


def plus(x):
    return x + 1


def times(x):
    return x * 3


@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_two_consumers_are_as_if_built_twice(executor) -> None:
    """dataset1 -> dataset2 -> map, dataset1 -> dataset3 -> map: the page's exception scenario."""
    ds.config.set_seed(8)
    ds.config.set_executor(executor)
    dataset1 = xx_dataset(shuffle=True)
    dataset2 = dataset1.map(plus, "x").batch(4)
    dataset3 = dataset1.map(times, "x").shuffle(7).batch(3)
    assert batches(dataset2, 2) == batches(xx_dataset(shuffle=True).map(plus, "x").batch(4), 2)
    assert batches(dataset3, 2) == batches(xx_dataset(shuffle=True).map(times, "x").shuffle(7).batch(3), 2)
    # and the first is untouched by what was built on it
    assert batches(dataset1) == batches(xx_dataset(shuffle=True))


def test_they_may_run_in_turns_and_at_the_same_time(no_leaks) -> None:
    ds.config.set_seed(8)
    dataset1 = xx_dataset(shuffle=True)
    dataset2, dataset3 = dataset1.map(plus, "x").batch(4), dataset1.map(times, "x").batch(5)
    alone = batches(dataset2), batches(dataset3)
    one = dataset2.create_dict_iterator(num_epochs=1, output_numpy=True)
    two = dataset3.create_dict_iterator(num_epochs=1, output_numpy=True)
    turns: tuple[list[bytes], list[bytes]] = ([], [])
    for _ in range(6):  # 8 and 6 batches
        for iterator, into in ((one, turns[0]), (two, turns[1])):
            into.append(b"".join(value.tobytes() for value in next(iterator).values()))
    one.stop()
    two.stop()
    assert (turns[0], turns[1]) == (alone[0][:6], alone[1])
    found: dict[int, list[bytes]] = {}
    threads = [
        threading.Thread(target=lambda k=k, d=d: found.update({k: batches(d)}))
        for k, d in enumerate((dataset2, dataset3))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found[0], found[1]) == alone


def test_they_may_be_joined_again() -> None:
    dataset1 = xx_dataset(shuffle=False)
    left, right = dataset1.rename(["x", "label"], ["a", "b"]), dataset1.map(times, "x")
    both = ds.zip((left, right))
    for row in both.create_dict_iterator(num_epochs=1, output_numpy=True):
        assert row["b"] == row["label"]
    assert len(batches(dataset1 + dataset1)) == 60
