"""Closing ends whatever a stage waits for: from any thread, in far less time than the wait would have taken.

Every wait here would last for minutes. The tests wait half a minute at most, so that a loaded machine is no failure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from tests.contracts.pipelines.test_failed_rows import Count

PATIENCE = 30.0
LONG = 300.0


class Stuck:
    """A user's function that waits for something that does not come, until the test is over."""

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()

    def __call__(self, *values: Any) -> Any:
        self.entered.set()
        self.leave.wait(LONG)
        return values[0] if len(values) == 1 else values


@pytest.fixture
def stuck(no_leaks: None) -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.leave.set()  # what closing left behind ends now, and no_leaks looks whether it does


def numbers(rows: int = 64) -> ds.Dataset:
    return ds.NumpySlicesDataset(np.arange(rows), "x", shuffle=False)


def ends(work: Callable[[], Any]) -> Any:
    """The result of work, which must come; or the error that it raised."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert outcome, "it did not end"
    return outcome[0]


def consume(iterator: Any) -> tuple[threading.Thread, list[Any]]:
    """A thread that takes rows until it cannot."""
    seen: list[Any] = []

    def run() -> None:
        try:
            seen.extend(iterator)
            seen.append("the end")
        except Exception as error:
            seen.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, seen


# engine waits: nothing of the user's runs, so that nothing at all may be left

GATED = {
    "sync_wait": lambda: numbers().sync_wait("go", 1),
    "sync_wait, batch": lambda: numbers().sync_wait("go", 1).batch(4),
    "sync_wait, map, batch": lambda: numbers().sync_wait("go", 1).map(lambda x: x + 1).batch(4),
    "zip": lambda: ds.zip((numbers(), numbers().rename("x", "y").sync_wait("go", 1))),
    "concat": lambda: numbers(1) + numbers().sync_wait("go", 1),
    "repeat, take": lambda: numbers(2).sync_wait("go", 1).repeat(5).take(8),
    "bucket": lambda: (
        numbers().sync_wait("go", 1).bucket_batch_by_length(["x"], [2], [2, 2], lambda x: 1).skip(1)
    ),
    "flat_map": lambda: numbers(2).sync_wait("go", 1).flat_map(lambda x: numbers(2)),
}


@pytest.mark.parametrize("executor", ["threads", "inline"])
@pytest.mark.parametrize("name", GATED)
def test_a_gate_is_left_at_once(name: str, executor: str, no_leaks: None) -> None:
    ds.config.set_callback_timeout(int(LONG))
    settings.update(executor=executor)
    data = GATED[name]()
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    thread, seen = consume(iterator)
    ends(iterator.stop)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert isinstance(seen[-1], RuntimeError)
    assert "does not have a running pipeline" in str(seen[-1])


def test_a_gate_is_left_from_the_same_thread(no_leaks: None) -> None:
    ds.config.set_callback_timeout(int(LONG))

    def take_one_and_stop() -> None:
        iterator = numbers().sync_wait("go", 1).batch(4).create_dict_iterator(num_epochs=1)
        next(iterator)
        iterator.stop()

    assert ends(take_one_and_stop) is None


def test_a_callback_that_waits_is_interrupted(no_leaks: None) -> None:
    ds.config.set_callback_timeout(int(LONG))

    class Wait(ds.WaitedDSCallback):
        def sync_step_begin(self, train_run_context: Any, ds_run_context: Any) -> None: ...

    data = numbers().map(lambda x: x, callbacks=[Wait()])
    iterator = data.create_dict_iterator(num_epochs=1)
    thread, seen = consume(iterator)
    ends(iterator.stop)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert isinstance(seen[-1], RuntimeError)


# a user's code that waits


def rows_of(stuck: Stuck) -> Callable[[], Iterator[Any]]:
    def rows() -> Iterator[Any]:
        yield np.array(0)
        stuck()
        yield np.array(1)

    return rows


BLOCKED: dict[str, Callable[[Stuck], ds.Dataset]] = {
    "generator": lambda stuck: ds.GeneratorDataset(rows_of(stuck), "x"),
    "generator, map": lambda stuck: ds.GeneratorDataset(rows_of(stuck), "x").map(lambda x: x),
    "generator, shuffle, batch": lambda stuck: ds.GeneratorDataset(rows_of(stuck), "x").shuffle(8).batch(2),
    "map": lambda stuck: numbers().map(stuck),
    "map, shuffle, map": lambda stuck: numbers().map(stuck).repeat(2).shuffle(3).map(lambda x: x),
    "filter": lambda stuck: numbers().filter(lambda x: stuck(x) is not None),
    "batch": lambda stuck: numbers().batch(2, per_batch_map=lambda x, info: (stuck(x),)),
    "flat_map": lambda stuck: numbers().flat_map(lambda x: stuck(numbers())),
    "inside flat_map": lambda stuck: numbers().flat_map(lambda x: numbers().map(stuck)),
    "bucket": lambda stuck: numbers().bucket_batch_by_length(["x"], [2], [2, 2], lambda x: stuck(1)),
    "callbacks": lambda stuck: numbers().map(stuck, callbacks=[Count()]),
}


@pytest.mark.parametrize("executor", ["threads", "inline"])
@pytest.mark.parametrize("name", BLOCKED)
def test_code_that_waits_in_a_thread_is_left_to_finish(name: str, executor: str, stuck: Stuck) -> None:
    settings.update(executor=executor)
    iterator = BLOCKED[name](stuck).create_dict_iterator(num_epochs=1)
    thread, seen = consume(iterator)
    assert stuck.entered.wait(PATIENCE)
    ends(iterator.stop)
    assert not stuck.leave.is_set()
    if executor == "inline":
        return  # the consumer itself runs the user's code
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert isinstance(seen[-1], RuntimeError)


@pytest.mark.parametrize("name", ["generator", "map", "batch", "flat_map"])
def test_the_consumer_closes_while_its_workers_wait(name: str, stuck: Stuck) -> None:
    """Closed by the thread that iterates, while a thread of the engine is inside the user's code."""
    iterator = BLOCKED[name](stuck).create_dict_iterator(num_epochs=1)
    assert not iterator._run.root.is_ready()  # begins the work, takes no row
    assert stuck.entered.wait(PATIENCE)
    ends(iterator.stop)


def test_a_generator_that_was_left_is_closed_after_all(stuck: Stuck) -> None:
    closed = threading.Event()

    def rows() -> Iterator[Any]:
        try:
            yield np.array(0)
            stuck()
            yield np.array(1)
        finally:
            closed.set()

    iterator = ds.GeneratorDataset(rows, "x").create_dict_iterator(num_epochs=1)
    assert not iterator._run.root.is_ready()  # begins the work, takes no row
    assert stuck.entered.wait(PATIENCE)
    ends(iterator.stop)
    assert not closed.is_set()
    stuck.leave.set()
    assert closed.wait(PATIENCE)


def test_a_function_may_close_the_run_it_works_for(no_leaks: None) -> None:
    for executor in ("threads", "inline"):
        settings.update(executor=executor)
        box: list[Any] = []

        def stop(x: Any, box: list[Any] = box) -> Any:
            box[0].stop()
            return x

        box.append(numbers().map(stop).create_dict_iterator(num_epochs=1))
        iterator = box[0]
        outcome = ends(lambda iterator=iterator: list(iterator))
        assert isinstance(outcome, RuntimeError)


def sleep_for_minutes(x: Any) -> Any:
    threading.Event().wait(LONG)
    return x


def test_worker_processes_are_killed(no_leaks: None) -> None:
    settings.update(executor="processes", num_parallel_workers=2)
    iterator = numbers().map(sleep_for_minutes).batch(4).create_dict_iterator(num_epochs=1)
    thread, seen = consume(iterator)
    ends(iterator.stop)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert isinstance(seen[-1], RuntimeError)


def test_closing_an_endless_run_that_gives_nothing(no_leaks: None) -> None:
    data = numbers().repeat().filter(lambda x: False).batch(2)
    iterator = data.create_dict_iterator(num_epochs=1)
    thread, seen = consume(iterator)
    ends(iterator.stop)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert isinstance(seen[-1], RuntimeError)
