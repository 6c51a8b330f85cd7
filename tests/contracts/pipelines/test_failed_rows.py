"""One path for a failed row: skipped or replaced alike whatever the op, the workers, the chunks, and after a resume."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings

from .pipelines import Noise
from .test_same_rows import assert_same, rows_of

ROWS = 26
EPOCHS = 2
MODES = {"skip": ds.config.ErrorSamplesMode.SKIP, "replace": ds.config.ErrorSamplesMode.REPLACE}
# rows that fail: none before them, at chunk borders, many in a row, at the end
BAD = {
    "first": (0, 1, 2),
    "borders": (3, 6, 7, 8, 13, 14),
    "long runs": (2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 21, 22),
    "last": (11, 24, 25),
    "most": tuple(range(20)),
}


class Rows:
    def __init__(self, bad: tuple[int, ...] = ()) -> None:
        self.bad = bad

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        if index in self.bad:
            raise OSError(f"row {index} cannot be read")
        return np.full(index % 3 + 1, index), index

    def __len__(self) -> int:
        return ROWS


class Numbers(Rows):
    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return super().__getitem__(index)[1:]


class Blocks:
    """A batch_sampler."""

    def __iter__(self) -> Any:
        return iter([list(range(at, min(at + 4, ROWS))) for at in range(0, ROWS, 4)])

    def __len__(self) -> int:
        return -(-ROWS // 4)


class Count(ds.DSCallback):
    def ds_step_begin(self, ds_run_context: Any) -> None: ...


def source(bad: tuple[int, ...] = ()) -> ds.Dataset:
    return ds.GeneratorDataset(Rows(bad), ["x", "n"], shuffle=False)


def stream(bad: tuple[int, ...]) -> ds.Dataset:
    """Rows in one pass, some of them without the value of a column."""
    return ds.GeneratorDataset(
        lambda: ((np.full(i % 3 + 1, i), None if i in bad else i) for i in range(ROWS)), ["x", "n"]
    )


def refuse(bad: tuple[int, ...]) -> Callable[[Any], Any]:
    def work(n: Any) -> Any:
        if int(n) in bad:
            raise ValueError(f"row {int(n)} is bad")
        return n * 10

    return work


def judge(bad: tuple[int, ...]) -> Callable[[Any], bool]:
    def work(n: Any) -> bool:
        if int(n) in bad:
            raise ValueError(f"row {int(n)} is bad")
        return int(n) % 4 != 1

    return work


def whole(bad: tuple[int, ...]) -> Callable[..., Any]:
    def work(n: Any, info: Any) -> Any:
        if int(n[0]) in bad:
            raise ValueError(f"batch {int(n[0])} is bad")
        return ([row * 10 for row in n],)

    return work


def length(bad: tuple[int, ...]) -> Callable[..., int]:
    def work(x: Any) -> int:
        if int(x[0]) in bad:
            raise ValueError(f"row {int(x[0])} has no length")
        return len(x)

    return work


def opened(bad: tuple[int, ...]) -> Callable[..., Any]:
    def work(x: Any, n: Any) -> Any:
        if int(n) in bad:
            raise ValueError(f"row {int(n)} is bad")
        return ds.NumpySlicesDataset({"x": x, "i": np.arange(len(x))}, shuffle=False)

    return work


def odd_rank(bad: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda x: x.reshape(1, -1) if int(x[0]) in bad else x


Make = Callable[[tuple[int, ...]], ds.Dataset]

PIPELINES: dict[str, Make] = {
    "source": source,
    "stream": stream,
    "stream, map, batch": lambda bad: (
        stream(bad[1:]).map(refuse(bad[:1]), "n").map(Noise(), "n").project("n").batch(3)
    ),
    "source, batch": lambda bad: source(bad).project("n").batch(4),
    "batch_sampler": lambda bad: ds.GeneratorDataset(Numbers(bad), ["n"], batch_sampler=Blocks()),
    "shuffled": lambda bad: ds.GeneratorDataset(Rows(bad), ["x", "n"]).project("n").batch(3),
    "map": lambda bad: source().map(refuse(bad), "n"),
    "map, random map": lambda bad: source().map(refuse(bad), "n").map(Noise(), "n").project("n").batch(4),
    "two maps": lambda bad: (
        source(bad[:1]).map(refuse(bad), "n").map(refuse(tuple(b * 10 + 10 for b in bad)), "n").project("n")
    ),
    "map, repeat, shuffle": lambda bad: (
        source().map(refuse(bad), "n").repeat(2).shuffle(5).project("n").batch(4)
    ),
    "filter": lambda bad: source().filter(judge(bad), "n").project("n").batch(3),
    "batch": lambda bad: source().project("n").batch(2, per_batch_map=whole(bad)),
    "padded_batch": lambda bad: source().map(odd_rank(bad), "x").padded_batch(2, pad_info={"x": ([4], 0)}),
    "bucket": lambda bad: source().bucket_batch_by_length(
        ["x"], [2, 3], [3, 2, 4], length(bad), pad_info={"x": ([None], 0)}
    ),
    "bucket of odd rows": lambda bad: (
        source()
        .map(odd_rank(bad), "x")
        .bucket_batch_by_length(["x"], [2], [3, 2], pad_info={"x": ([None], 0)})
    ),
    "pack": lambda bad: source().map(odd_rank(bad), "x").pack(7, "x", bins=3).batch(2),
    "pack that splits": lambda bad: source().map(odd_rank(bad), "x").pack(5, "x", split=True),
    "batch by tokens": lambda bad: source().project("x").batch(max_tokens=8, length_of=length(bad)),
    "flat_map": lambda bad: source().flat_map(opened(bad)).batch(4),
    "zip": lambda bad: ds.zip((source().map(refuse(bad), "n"), source().rename(["x", "n"], ["y", "m"]))),
    "concat": lambda bad: source(bad) + source().map(refuse(bad), "n"),
    "mix": lambda bad: ds.mix([source(bad), source().map(refuse(bad), "n")], [1, 2], exhausted="drop"),
    "callbacks": lambda bad: source().map(refuse(bad), "n", callbacks=[Count()]).project("n").batch(4),
}
# where the number of rows (or batches) without errors is known
LOSES_COUNT = (
    "filter",
    "bucket",
    "bucket of odd rows",
    "pack",
    "pack that splits",
    "batch by tokens",
    "flat_map",
)
KEEPS_COUNT = [n for n in PIPELINES if n not in LOSES_COUNT]


def run(name: str, mode: str, bad: tuple[int, ...], **changes: Any) -> tuple[list[list[Any]], list[Any]]:
    ds.config.set_seed(7)
    ds.config.set_error_samples_mode(MODES[mode])
    settings.update(**changes)
    data = PIPELINES[name](bad)
    rows = rows_of(data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True), EPOCHS)
    return rows, [(entry.row, entry.action, entry.replacement) for entry in data.skipped()]


def one_by_one(name: str, mode: str, bad: tuple[int, ...]) -> tuple[list[list[Any]], list[Any]]:
    before = settings.snapshot()
    try:
        return run(name, mode, bad, executor="inline", chunk_rows=1)
    finally:
        settings.restore(before)


@pytest.mark.parametrize("where", BAD)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PIPELINES)
def test_any_chunks_and_threads(name: str, mode: str, where: str) -> None:
    rows, ledger = one_by_one(name, mode, BAD[where])
    assert sum(map(len, rows)) > 0
    assert ledger
    for changes in (
        {"executor": "inline", "chunk_rows": 7},
        {"executor": "threads", "num_parallel_workers": 3, "chunk_rows": 3},
        {"executor": "threads", "num_parallel_workers": 2, "chunk_rows": None},
    ):
        got, listed = run(name, mode, BAD[where], **changes)
        assert_same(got, rows)
        assert sorted(map(str, listed)) == sorted(map(str, ledger))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["map, random map", "batch", "callbacks"])
def test_processes(name: str, mode: str) -> None:
    rows, ledger = one_by_one(name, mode, BAD["borders"])
    got, listed = run(name, mode, BAD["borders"], executor="processes", num_parallel_workers=2, chunk_rows=3)
    assert_same(got, rows)
    assert sorted(map(str, listed)) == sorted(map(str, ledger))


@pytest.mark.parametrize("where", ["first", "borders"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PIPELINES)
def test_resume_at_every_step(name: str, mode: str, where: str) -> None:
    reference, _ = one_by_one(name, mode, BAD[where])
    ds.config.set_seed(7)
    ds.config.set_error_samples_mode(MODES[mode])
    settings.update(executor="threads", num_parallel_workers=2, chunk_rows=4)
    data = PIPELINES[name](BAD[where])
    iterator = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True)
    states = [(0, 0, iterator.state())]
    for epoch in range(EPOCHS):
        for step, _ in enumerate(iterator):
            states.append((epoch, step + 1, iterator.state()))
    settings.update(executor="inline", chunk_rows=3)
    for epoch, step, state in states[::3]:
        saved = json.loads(json.dumps(state))
        resumed = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True, state=saved)
        got = rows_of(resumed, EPOCHS - epoch)
        assert_same(got, [reference[epoch][step:], *reference[epoch + 1 :]])


@pytest.mark.parametrize("where", BAD)
@pytest.mark.parametrize("name", KEEPS_COUNT)
def test_replace_keeps_the_number_and_the_size_of_batches(name: str, where: str) -> None:
    rows, _ = one_by_one(name, "replace", BAD[where])
    whole, _ = one_by_one(name, "replace", ())
    sizes = [[len(row["n"]) if row["n"].ndim else 0 for row in epoch] for epoch in rows]
    assert sizes == [[len(row["n"]) if row["n"].ndim else 0 for row in epoch] for epoch in whole]


def column(name: str, mode: str, bad: tuple[int, ...], key: str = "n") -> list[Any]:
    rows, _ = one_by_one(name, mode, bad)
    return [row[key].tolist() for row in rows[0]]


def test_the_last_good_row_stands_in() -> None:
    assert column("map", "replace", (2, 3, 5))[:7] == [0, 10, 10, 10, 40, 40, 60]
    assert column("map", "replace", (0, 1))[:4] == [20, 20, 20, 30]
    assert column("source", "replace", (2, 3))[:5] == [0, 1, 1, 1, 4]
    assert column("callbacks", "replace", (1, 2))[0] == [0, 0, 0, 30]
    assert column("batch", "replace", (2,))[:3] == [[0, 10], [0, 10], [40, 50]]
    assert column("zip", "replace", (1,), "m")[:3] == [0, 1, 2]
    assert column("zip", "replace", (1,))[:3] == [0, 0, 20]
    # rows 0, 1 and 2 have 1, 2 and 3 values; row 1's dataset is row 0's again
    assert column("flat_map", "replace", (1,), "x")[0] == [0, 0, 2, 2]


def test_when_a_generator_itself_fails_there_is_nothing_to_go_on_with() -> None:
    ds.config.set_error_samples_mode(MODES["skip"])

    def rows() -> Any:
        yield 1
        yield {1, 2}, 3  # two values for one column
        yield 4
        raise OSError("the disk is gone")

    data = ds.GeneratorDataset(rows, ["n"])
    iterator = iter(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert [int(next(iterator)[0]), int(next(iterator)[0])] == [1, 4]
    with pytest.raises(RuntimeError, match="the disk is gone") as failed:
        next(iterator)
    assert failed.value.context["row"] == 3
    assert [(entry.row, entry.column) for entry in data.skipped()] == [(1, "n")]


def test_the_ledger_says_which_row_stands_in() -> None:
    _, ledger = one_by_one("map", "replace", (0, 3, 4))
    assert ledger == [(0, "replace", 1), (3, "replace", 2), (4, "replace", 2)] * EPOCHS
    _, ledger = one_by_one("map", "skip", (0, 3))
    assert ledger == [(0, "skip", None), (3, "skip", None)] * EPOCHS


def test_a_row_that_stands_in_has_random_numbers_and_memory_of_its_own() -> None:
    ds.config.set_seed(7)
    ds.config.set_error_samples_mode(MODES["replace"])
    data = source().map(refuse((3,)), "n").map(Noise(), "n")
    values = [float(row[1]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert values[2] != values[3]

    def spoil(x: Any) -> Any:
        x += 1000
        return x

    data = source((4,)).map(spoil, "x")
    rows = [row[0].tolist() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert rows[3] == rows[4] == [1003]


def test_nothing_but_bad_rows_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="All data is garbage and cannot be replaced"):
        one_by_one("map", "replace", tuple(range(ROWS)))
    rows, ledger = one_by_one("map", "skip", tuple(range(ROWS)))
    assert rows == [[], []]
    assert len(ledger) == ROWS * EPOCHS


def test_callbacks_see_every_row_once_after_a_resume() -> None:
    seen: list[tuple[int, int]] = []

    class Watch(ds.DSCallback):
        def ds_step_begin(self, ds_run_context: Any) -> None:
            seen.append((ds_run_context.cur_epoch_num, ds_run_context.cur_step_num_in_epoch))

    ds.config.set_error_samples_mode(MODES["replace"])
    settings.update(executor="inline")
    data = source().map(refuse((0, 1, 5, 6)), "n", callbacks=[Watch()])
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    for _ in range(7):
        next(iterator)
    state = iterator.state()
    iterator.stop()
    before = len(seen)
    list(data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state))
    assert seen == [(1, n + 1) for n in range(ROWS)]
    assert before == 7
