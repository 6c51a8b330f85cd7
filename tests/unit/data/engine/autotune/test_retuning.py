"""Numbers that change in the middle of an epoch change no row, no order and no position, on threads and processes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from millrace._src.core import settings
from millrace._src.data.engine.autotune.knobs import Knobs
from tests.contracts.pipelines.pipelines import PIPELINES
from tests.contracts.pipelines.test_same_rows import EPOCHS, assert_same, rows_of, run

# Each with a segment on workers: rows, batches, barriers between, streams, filters, mixes, random numbers.
APART = (
    "random map",
    "filter",
    "shuffle of repeat",
    "stream random map",
    "mix of batches, repeated",
    "repeat",
)


def shake(knobs: Knobs, chosen: random.Random) -> None:
    """Other numbers for some of them."""
    values = dict(knobs.values)
    for knob in knobs.knobs:
        if chosen.random() < 0.7:
            most = 3 if knob.parameter == "workers" else 9
            values[knob.name] = chosen.randint(knob.minimum, min(knob.maximum, knob.minimum + most))
    knobs.apply(values)


def shaken(
    name: str, seed: int, keep: set[tuple[int, int]], state: Any = None, epochs: int = EPOCHS
) -> tuple[list[list[Any]], dict[tuple[int, int], Any]]:
    """The rows of a pipeline whose numbers change all the time, and its states after some steps."""
    chosen = random.Random(seed)
    iterator = PIPELINES[name]().create_dict_iterator(num_epochs=EPOCHS, output_numpy=True, state=state)
    tuner = iterator._run.tuner
    rows: list[list[Any]] = []
    states = {}
    for epoch in range(EPOCHS - epochs, EPOCHS):
        rows.append([])
        for step, row in enumerate(iterator):
            rows[-1].append(row)
            if (epoch, step) in keep:
                states[epoch, step] = json.loads(json.dumps(iterator.state()))
            if tuner is not None and chosen.random() < 0.5:
                shake(tuner.knobs, chosen)
    iterator.stop()
    return rows, states


def check(name: str, seed: int, executor: str) -> None:
    wanted = run(name, executor="inline", chunk_rows=1)
    settings.update(executor=executor, chunk_rows=None, enable_autotune=True, autotune_interval=10**6)
    chosen = random.Random(seed)
    places = [(epoch, step) for epoch in range(EPOCHS) for step in range(len(wanted[epoch]))]
    keep = set(chosen.sample(places, min(2, len(places))))
    got, states = shaken(name, seed, keep)
    assert_same(got, wanted)
    for (epoch, step), state in states.items():
        rest, _ = shaken(name, seed + 1, set(), state, EPOCHS - epoch)
        assert_same(rest, [wanted[epoch][step + 1 :], *wanted[epoch + 1 :]])


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=() if s == 1 else pytest.mark.nightly) for s in range(1, 6)]
)
@pytest.mark.parametrize("name", PIPELINES)
def test_threads(name: str, seed: int, no_leaks: None) -> None:
    check(name, seed * 1000 + sum(name.encode()), "threads")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in APART[:3] else pytest.mark.nightly) for n in APART]
)
def test_processes(name: str) -> None:
    settings.update(num_parallel_workers=2)
    check(name, sum(name.encode()), "processes")


def test_the_tuner_itself_changes_no_row(no_leaks: None) -> None:
    """With numbers that are decided as they come, after every few steps."""
    wanted = run("random map", executor="inline")
    settings.update(executor=None, enable_autotune=True, autotune_interval=1, num_parallel_workers=1)
    data = PIPELINES["random map"]()
    iterator = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True)
    assert_same(rows_of(iterator), wanted)
