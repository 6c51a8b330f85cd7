"""The first chunk runs alone, for a first batch is waited for; whoever needs other workers has them soon."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import DataError

LONG = 60.0


class Rows:
    """Rows read by the user's own code."""

    def __init__(self, get: Callable[[int], Any] = lambda i: i, size: int = 64) -> None:
        self.get, self.size = get, size

    def __getitem__(self, i: int) -> Any:
        return np.array([self.get(i)])

    def __len__(self) -> int:
        return self.size


def numbers(function: Callable[[Any], Any], workers: int = 4) -> Any:
    data = ds.GeneratorDataset(Rows(), ["x"], shuffle=False)
    return data.map(function, input_columns=["x"], num_parallel_workers=workers)


def values(data: Any) -> list[int]:
    return [int(row["x"][0]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_one_worker_makes_the_first_rows(no_leaks: None) -> None:
    threads: list[int] = []

    def note(x: Any) -> Any:
        threads.append(threading.get_ident())
        return x

    iterator = numbers(note).batch(8).create_dict_iterator(num_epochs=1, output_numpy=True)
    assert not threads
    next(iterator)
    assert len(set(threads[:8])) == 1
    assert threading.get_ident() not in threads  # the caller's thread stays free for Ctrl-C and close
    iterator.stop()


@pytest.mark.parametrize("bad", [0, 1, 9, 63])
def test_a_failing_row_is_named_after_those_before_it(bad: int, no_leaks: None) -> None:
    def fail(x: Any) -> Any:
        if x[0] == bad:
            raise KeyError("lost")
        return x

    seen: list[int] = []
    rows = numbers(fail).create_dict_iterator(num_epochs=1, output_numpy=True)
    with pytest.raises(DataError, match="lost") as caught:
        seen.extend(int(row["x"][0]) for row in rows)
    assert seen == list(range(bad))
    assert caught.value.context["row"] == bad


def test_rows_that_wait_for_each_other_meet(no_leaks: None) -> None:
    """Two threads at once: the first chunk ends only when a second one has begun."""
    ds.config.set_chunk_rows(1)
    both = threading.Barrier(2, timeout=LONG)

    def meet(x: Any) -> Any:
        both.wait()
        return x

    assert values(numbers(meet, workers=2)) == list(range(64))


def test_rows_that_wait_for_each_other_later_meet_too(no_leaks: None) -> None:
    """One worker alone was enough for the rows before, and could not go on by itself."""
    ds.config.set_chunk_rows(1)
    both = threading.Barrier(2, timeout=LONG)

    def meet(x: Any) -> Any:
        if x[0] >= 32:
            both.wait()
        return x

    assert values(numbers(meet, workers=2)) == list(range(64))


def test_no_more_than_the_workers_asked_for(no_leaks: None) -> None:
    at_once, most = 0, 0
    turn = threading.Lock()

    def count(x: Any) -> Any:
        nonlocal at_once, most
        with turn:
            at_once += 1
            most = max(most, at_once)
        threading.Event().wait(0.001)
        with turn:
            at_once -= 1
        return x

    ds.config.set_chunk_rows(1)
    assert values(numbers(count, workers=3)) == list(range(64))
    assert 1 <= most <= 3


def test_ctrl_c_in_the_first_chunk(no_leaks: None) -> None:
    inside, go = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        inside.set()
        go.wait(LONG)
        return x

    def interrupt() -> None:
        inside.wait(LONG)
        signal.raise_signal(signal.SIGINT)

    iterator = numbers(wait).batch(8).create_dict_iterator(num_epochs=1)
    helper = threading.Thread(target=interrupt, daemon=True)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        helper.start()
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
    finally:
        signal.signal(signal.SIGINT, before)
        go.set()
        helper.join()
    with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        next(iterator)


def test_closed_in_the_first_chunk_from_another_thread(no_leaks: None) -> None:
    inside, go = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        inside.set()
        go.wait(LONG)
        return x

    iterator = numbers(wait).batch(8).create_dict_iterator(num_epochs=1)

    def stop() -> None:
        inside.wait(LONG)
        iterator.stop()

    helper = threading.Thread(target=stop, daemon=True)
    helper.start()
    try:
        with pytest.raises(RuntimeError, match="does not have a running pipeline"):
            next(iterator)
    finally:
        go.set()
        helper.join()


def test_closed_before_the_first_row(no_leaks: None) -> None:
    iterator = numbers(lambda x: x).batch(8).create_dict_iterator(num_epochs=1)
    iterator.stop()
    with pytest.raises(RuntimeError, match="was stopped"):
        next(iterator)


def test_other_chunks_follow_without_being_asked_for(no_leaks: None) -> None:
    """When the first batch is handed out, the next ones are on their way."""
    begun = threading.Event()

    def note(x: Any) -> Any:
        if x[0] >= 8:
            begun.set()
        return x

    iterator = numbers(note).batch(8).create_dict_iterator(num_epochs=1)
    next(iterator)
    assert begun.wait(LONG)
    iterator.stop()
