"""skip(n): the rows that are left out are not made, in any epoch, wherever places tell which they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds

SKIPPED = 9
EPOCHS = 3


class Made:
    """A map that notes which rows it was given."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def __call__(self, x: Any) -> Any:
        self.rows += np.ravel(x).tolist()
        return x


def rows(start: int, stop: int, name: str = "x") -> ds.Dataset:
    return ds.NumpySlicesDataset({name: np.arange(start, stop)}, shuffle=False)


def stream(stop: int) -> ds.Dataset:
    return ds.GeneratorDataset(lambda: (np.array(i) for i in range(stop)), ["x"])


def same(x: Any) -> Any:
    return x


Make = Callable[[Any], ds.Dataset]

# what stands below the skip, how many rows its rows are (a batch has several), and the rows that are left
PIPELINES: dict[str, tuple[Make, int, list[int]]] = {
    "concat": (lambda made: rows(0, 6).map(made) + rows(6, 20).map(made), 9, [*range(9, 20)]),
    "concat, map": (lambda made: (rows(0, 6) + rows(6, 20)).map(made), 9, [*range(9, 20)]),
    "concat of three": (
        lambda made: rows(0, 4).map(made).concat([rows(4, 9).map(made), rows(9, 12).map(made)]),
        9,
        [9, 10, 11],
    ),
    "concat, repeat": (
        lambda made: (rows(0, 3).map(made) + rows(3, 7).map(made)).repeat(2),
        9,
        [*range(2, 7)],
    ),
    "zip": (lambda made: ds.zip((rows(0, 12).map(made), rows(0, 12, "y"))), 9, [9, 10, 11]),
    "zip, map": (
        lambda made: ds.zip((rows(0, 20), rows(0, 12, "y"))).map(made, ["x"]),
        9,
        [9, 10, 11],
    ),
    "filter, map": (lambda made: rows(0, 40).filter(lambda x: x % 2 == 0).map(made), 9, [*range(18, 40, 2)]),
    "stream, map": (lambda made: stream(14).map(made), 9, [*range(9, 14)]),
    "batch": (lambda made: rows(0, 40).map(made).batch(4), 9, [*range(36, 40)]),
    "stream, map, batch": (lambda made: stream(40).map(made).batch(4), 9, [*range(36, 40)]),
    "concat, batch": (lambda made: (rows(0, 15) + rows(15, 40)).map(made).batch(4), 9, [*range(36, 40)]),
    "per_batch_map": (
        lambda made: rows(0, 40).map(made).batch(4, per_batch_map=lambda x, info: (x,)),
        9,
        [*range(36, 40)],
    ),
    "fewer rows than are left out": (lambda made: stream(5).map(made), 9, []),
    "fewer in a concatenation": (lambda made: rows(0, 3).map(made) + rows(3, 8).map(made), 9, []),
    "fewer in a repeat": (lambda made: rows(0, 3).map(made).repeat(2), 9, []),
    "stream in a concatenation, batch": (
        lambda made: (rows(0, 15).map(made) + stream(25).map(made)).batch(4),
        9,
        [*range(21, 25)],
    ),
}
# the map is below what has no known number of rows
MAKES_SOME = ["stream in a concatenation, batch"]


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("name", PIPELINES)
def test_rows_left_out_are_not_made(name: str, executor: str, no_leaks: None) -> None:
    ds.config.set_executor(executor)
    made = Made()
    make, skipped, left = PIPELINES[name]
    data = make(made).skip(skipped)
    iterator = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True)
    got = [np.ravel(row["x"]).tolist() for _ in range(EPOCHS) for row in iterator]
    assert list(itertools.chain(*got)) == left * EPOCHS
    if name not in MAKES_SOME and executor == "inline":
        assert made.rows == left * EPOCHS
    # threads run ahead into an epoch before its skip is asked for, by a few rows


@pytest.mark.parametrize("name", PIPELINES)
def test_resume_after_a_skip(name: str, no_leaks: None) -> None:
    make, skipped, _ = PIPELINES[name]
    data = make(same).skip(skipped)
    iterator = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True)
    states, whole = [iterator.state()], []
    for _ in range(EPOCHS):
        for row in iterator:
            whole.append(np.ravel(row["x"]).tolist())
            states.append(iterator.state())
    for at, state in enumerate(states):
        resumed = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True, state=state)
        got = [np.ravel(row["x"]).tolist() for _ in range(EPOCHS - state["epoch"]) for row in resumed]
        assert got == whole[at:]


def test_rows_that_failed_do_not_count() -> None:
    """Under SKIP only running tells which rows are the first nine."""
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)

    def odd(x: Any) -> Any:
        if x % 2:
            raise ValueError("odd")
        return x

    ds.config.set_error_samples_limit(1)
    for data in (rows(0, 10) + rows(10, 40), stream(40), rows(0, 20).repeat(2)):
        data = data.map(odd).skip(9)
        got = [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        assert got[0] == 18
        assert len(got) == 11
