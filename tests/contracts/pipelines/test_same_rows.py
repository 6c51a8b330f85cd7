"""The same batches, bit for bit and in order, whatever the executor, workers and chunk size, and after a resume."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.executor_traits import EXECUTORS

from .pipelines import PIPELINES

EPOCHS = 2
SEED = 20261115
WORKERS = (1, 2, 4, 8)
CHUNKS = (1, 7, 64, None)
APART = [name for name, traits in EXECUTORS.items() if not traits.same_process and name != "ray"]
ON_RAY = ("random map", "stream random map", "text and dicts")


def cells(each: int) -> list[Any]:
    """Pipeline x workers x rows per chunk. Of each pipeline's 16 cells some run every day, the others at night.

    The daily ones lie on diagonals, another one for each pipeline: every number of workers and every chunk size comes
    up with each pipeline (``each`` = 4), and every pair of them many times in the whole suite.
    """
    made = []
    for number, name in enumerate(PIPELINES):
        for (i, workers), (j, chunk_rows) in product(enumerate(WORKERS), enumerate(CHUNKS)):
            daily = (j - i - number) % 4 == 0 and (i - number // 4) % 4 < each
            made.append(pytest.param(name, workers, chunk_rows, marks=() if daily else pytest.mark.nightly))
    return made


def same(one: Any, two: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(two, dict) and one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, np.ndarray):
        return isinstance(two, np.ndarray) and one.dtype == two.dtype and np.array_equal(one, two)
    return bool(one == two)


def rows_of(iterator: Any, epochs: int = EPOCHS) -> list[list[Any]]:
    return [list(iterator) for _ in range(epochs)]


def run(name: str, **changes: Any) -> list[list[Any]]:
    ds.config.set_seed(SEED)
    settings.update(**changes)
    return rows_of(PIPELINES[name]().create_dict_iterator(num_epochs=EPOCHS, output_numpy=True))


def assert_same(got: list[list[Any]], wanted: list[list[Any]]) -> None:
    assert [len(epoch) for epoch in got] == [len(epoch) for epoch in wanted]
    for got_epoch, wanted_epoch in zip(got, wanted, strict=True):
        for step, (one, two) in enumerate(zip(got_epoch, wanted_epoch, strict=True)):
            assert same(one, two), f"step {step}: {one} is not {two}"


@pytest.fixture(scope="module")
def reference() -> dict[str, list[list[Any]]]:
    before = settings.snapshot()
    try:
        return {name: run(name, executor="inline", chunk_rows=1) for name in PIPELINES}
    finally:
        settings.restore(before)


@pytest.mark.parametrize("chunk_rows", CHUNKS)
@pytest.mark.parametrize("name", PIPELINES)
def test_inline(name: str, chunk_rows: int | None, reference: dict[str, Any], no_leaks: None) -> None:
    assert_same(run(name, executor="inline", chunk_rows=chunk_rows), reference[name])


@pytest.mark.parametrize(("name", "workers", "chunk_rows"), cells(each=4))
def test_threads(
    name: str, workers: int, chunk_rows: int | None, reference: dict[str, Any], no_leaks: None
) -> None:
    got = run(name, executor="threads", num_parallel_workers=workers, chunk_rows=chunk_rows)
    assert_same(got, reference[name])


@pytest.mark.parametrize(("name", "workers", "chunk_rows"), cells(each=1))
@pytest.mark.parametrize("executor", APART)
def test_workers_outside_this_process(
    name: str, executor: str, workers: int, chunk_rows: int | None, reference: dict[str, Any]
) -> None:
    got = run(name, executor=executor, num_parallel_workers=workers, chunk_rows=chunk_rows)
    assert_same(got, reference[name])


@pytest.mark.parametrize(
    "name", [name if name in ON_RAY else pytest.param(name, marks=pytest.mark.nightly) for name in PIPELINES]
)
def test_on_ray(name: str, reference: dict[str, Any], ray_instance: Any, no_leaks: None) -> None:
    """Starting a worker takes a second there: some pipelines a day, the others at night."""
    assert_same(run(name, executor="ray", num_parallel_workers=2), reference[name])


@pytest.mark.parametrize("name", PIPELINES)
def test_resume_at_every_step(name: str, reference: dict[str, Any]) -> None:
    ds.config.set_seed(SEED)
    settings.update(executor="threads", num_parallel_workers=2)
    data = PIPELINES[name]()
    iterator = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True)
    states = [(0, 0, iterator.state())]
    for epoch in range(EPOCHS):
        for step, _ in enumerate(iterator):
            states.append((epoch, step + 1, iterator.state()))
        states.append((epoch + 1, 0, iterator.state()))
    # another number of workers, another chunk size and another seed in force: the state decides
    settings.update(executor="inline", num_parallel_workers=1, chunk_rows=3)
    ds.config.set_seed(1)
    for epoch, step, state in states[:-1]:
        saved = json.loads(json.dumps(state))
        resumed = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True, state=saved)
        wanted = [reference[name][epoch][step:], *reference[name][epoch + 1 :]]
        got = rows_of(resumed, EPOCHS - epoch)
        resumed.stop()
        assert_same(got, wanted)


def test_state_is_small(reference: dict[str, Any]) -> None:
    ds.config.set_seed(SEED)
    iterator = PIPELINES["random map"]().create_dict_iterator(num_epochs=1)
    next(iterator)
    assert len(json.dumps(iterator.state())) < 400


def test_reference_is_random(reference: dict[str, Any]) -> None:
    """The suite would prove nothing if the rows were the same in every epoch."""
    first, second = reference["random map"]
    assert not same(first[0], second[0])
