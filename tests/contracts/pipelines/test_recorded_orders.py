"""Orders and random numbers, recorded: a state that was saved must find its rows in every later release.

A change here is a change of what users get for a seed, and makes saved states useless: it wants a new version of the
cursor and a line in the changelog. Then record anew: ``python -m tests.contracts.pipelines.test_recorded_orders``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.random.rng import RandomPermutation, RandomStream, derive_row_ids, hash_integers
from millrace._src.data.plan.fingerprint.plan_fingerprint import compute_fingerprint

FILE = Path(__file__).with_name("recorded_orders.json")
SEED = 20261116


def draws() -> RandomStream:
    return RandomStream.for_rows(np.array([0, 1, 7, 1 << 40], np.uint64), seed=5, epoch=2, op=9)


def stream() -> Iterator[tuple[Any, ...]]:
    for index in range(30):
        yield (np.int64(index),)


def numbers(**options: Any) -> Any:
    return ds.NumpySlicesDataset({"x": np.arange(30)}, **options)


def labelled(sampler: Any) -> Any:
    return ds.NumpySlicesDataset({"x": np.arange(30), "label": np.arange(30) % 3}, sampler=sampler)


def order(data: Any, epochs: int = 2) -> list[list[int]]:
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    return [[int(n) for row in iterator for n in np.atleast_1d(row["x"]).ravel()] for _ in range(epochs)]


def picture() -> Any:
    return (np.arange(24 * 20 * 3, dtype=np.uint32).reshape(24, 20, 3) * 2654435761 >> 24).astype(np.uint8)


def cropped() -> list[int]:
    data = ds.NumpySlicesDataset({"x": np.stack([picture()] * 6)}, shuffle=False)
    data = data.map([vision.RandomCrop(9), vision.RandomHorizontalFlip(), vision.RandomVerticalFlip()], "x")
    return [int(row["x"].astype(np.int64).sum()) for row in data.create_dict_iterator(1, output_numpy=True)]


def resumable() -> Any:
    return numbers().map(ds.transforms.TypeCast(np.float32), "x").batch(4)


def windowed() -> Any:
    return numbers(shuffle=False).repeat(2).shuffle(8).batch(4)


def state_of(data: Any, steps: int) -> Any:
    """Where it stands after some steps; rows per chunk are fixed, since a state leads back to a chunk's first row."""
    with settings.override(chunk_rows=4, executor="inline"):
        iterator = data.create_dict_iterator(num_epochs=2, output_numpy=True)
        for _ in range(steps):
            next(iterator)
        state = json.loads(json.dumps(iterator.state()))
        iterator.stop()
    return state


MADE: dict[str, Callable[[], Any]] = {
    "mix": lambda: [hash_integers(1, 2), hash_integers(2, 1), hash_integers(0), hash_integers(-1, 1 << 63)],
    "mix_into": lambda: derive_row_ids(np.arange(3, dtype=np.uint64), 4, 5).tolist(),
    "bits": lambda: draws().bits(3).tolist(),
    "uniform": lambda: draws().uniform(1, -1, 2).tolist(),
    "uniforms": lambda: draws().uniforms(range(3)).tolist(),
    "integers": lambda: draws().integers(2, 10, 10_000).tolist(),
    "chance": lambda: draws().bernoulli(0, 0.5).tolist(),
    "normal": lambda: draws().normal(4).tolist(),
    "child": lambda: draws().split(2).bits(0).tolist(),
    "generator": lambda: draws().generator(1, 3).bit_generator.random_raw(3).tolist(),
    "permutation": lambda: RandomPermutation(17, key=99).at(0, 17).tolist(),
    "large permutation": lambda: RandomPermutation(10_000_000, key=99).at(4_999_998, 5_000_006).tolist(),
    "shuffled source": lambda: order(numbers()),
    "shuffle of a source": lambda: order(numbers(shuffle=False).shuffle(5)),
    "shuffle of a stream": lambda: order(ds.GeneratorDataset(stream, ["x"]).shuffle(8)),
    "shuffle of repeats": lambda: order(numbers(shuffle=False).take(9).repeat(2).shuffle(6)),
    "shuffle of batches": lambda: order(numbers(shuffle=False).batch(4).shuffle(3)),
    "RandomSampler": lambda: order(numbers(sampler=ds.RandomSampler(num_samples=11))),
    "with replacement": lambda: order(numbers(sampler=ds.RandomSampler(True, 11))),
    "DistributedSampler": lambda: order(numbers(sampler=ds.DistributedSampler(4, 1))),
    "WeightedRandomSampler": lambda: order(
        numbers(sampler=ds.WeightedRandomSampler([float(n) for n in range(30)], 12))
    ),
    "SubsetRandomSampler": lambda: order(numbers(sampler=ds.SubsetRandomSampler(range(3, 20, 2)))),
    "PKSampler": lambda: order(labelled(ds.PKSampler(3, shuffle=True))),
    "split": lambda: order(numbers(shuffle=False).split([20, 10])[0]),
    "random crops and flips": cropped,
    "cursor": lambda: state_of(resumable(), 3),
    "cursor of a window": lambda: state_of(windowed(), 3),
    "fingerprint": lambda: compute_fingerprint(resumable()._node, settings.Settings()).text,
    "marks": lambda: compute_fingerprint(resumable()._node, settings.Settings()).marks(),
}


def made(name: str) -> Any:
    ds.config.set_seed(SEED)
    return MADE[name]()


@pytest.mark.parametrize("name", MADE)
def test_as_recorded(name: str) -> None:
    recorded = json.loads(FILE.read_text())
    assert made(name) == (pytest.approx(recorded[name], rel=1e-12) if name == "normal" else recorded[name])


@pytest.mark.parametrize(("name", "make"), [("cursor", resumable), ("cursor of a window", windowed)])
def test_a_recorded_state_finds_its_rows(name: str, make: Callable[[], Any]) -> None:
    """As a later release would be given it: the file is all that is left of the run that saved it."""
    state = json.loads(FILE.read_text())[name]
    ds.config.set_seed(SEED)
    whole = [row["x"].tolist() for row in make().create_dict_iterator(num_epochs=1, output_numpy=True)]
    ds.config.set_seed(1)
    rest = make().create_dict_iterator(num_epochs=2, output_numpy=True, state=state)
    assert [row["x"].tolist() for row in rest] == whole[state["step"] :]
    rest.stop()


def test_everything_recorded_is_looked_at() -> None:
    assert json.loads(FILE.read_text()).keys() == MADE.keys()


def record() -> None:
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(made(name))}" for name in MADE)
    FILE.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    record()
