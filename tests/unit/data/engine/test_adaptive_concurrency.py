"""The controller that decides whether all threads of a segment should work: fed with made-up chunks."""

from __future__ import annotations

import json

import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.data.engine import adaptive_concurrency as concurrency
from millrace._src.data.engine.adaptive_concurrency import AdaptiveConcurrency
from millrace._src.data.plan.bind import bind, optimize
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes.physical import Segment
from millrace.dataset import text, transforms


class Clock:
    """Time that moves only when a chunk takes it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(concurrency.time, "perf_counter", lambda: self.now)


def play(
    monkeypatch: pytest.MonkeyPatch,
    *,
    seconds_all: float,
    seconds_one: float,
    cpu: float,
    busy: float | None = None,
    chunks: int = 100,
) -> list[int]:
    """Feed chunks that arrive every so many seconds with all workers or with one; what was decided."""
    clock = Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(2, used.append)
    for _ in range(chunks):
        clock.now += seconds_all if used[-1] == 2 else seconds_one
        controller.record_chunk(rows=8, busy=cpu if busy is None else busy, cpu=cpu, waited=True)
    assert controller.decided
    return used


def test_threads_that_take_turns_at_the_gil_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(monkeypatch, seconds_all=0.006, seconds_one=0.004, cpu=0.004) == [1, 2, 1]


def test_threads_that_help_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    # in half of the time: that needs no second look
    assert play(monkeypatch, seconds_all=0.005, seconds_one=0.010, cpu=0.008) == [1, 2]


def test_threads_that_help_a_little_show_it_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(monkeypatch, seconds_all=0.004, seconds_one=0.005, cpu=0.005) == [1, 2, 1, 2]


def test_threads_that_wait_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # and once more one alone, to see whether that was so
    assert play(monkeypatch, seconds_all=0.004, seconds_one=0.008, cpu=0.0001, busy=0.008) == [1, 2, 1, 2]


def test_no_winner_keeps_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(monkeypatch, seconds_all=0.005, seconds_one=0.005, cpu=0.005) == [1, 2, 1]


def test_copies_that_share_the_bus_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(monkeypatch, seconds_all=0.0004, seconds_one=0.0003, cpu=0.0003, chunks=1000) == [1, 2, 1]


def let_in(monkeypatch: pytest.MonkeyPatch, busy: float) -> tuple[Clock, AdaptiveConcurrency, list[int]]:
    """All workers, because the interpreter was free, and their first chunks: each takes so long."""
    clock = Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(2, used.append, looks=True)
    for late in (0.0, 0.0, 0.004, 0.0, 0.0):  # one may be late: other programs run, too
        assert controller.wants_gil_samples
        controller.record_gil_delay(late)
    assert used == [1]
    controller.record_gil_delay(0.0)
    assert used == [1, 2]
    for _ in range(2 + concurrency.MIN_CHUNKS):
        assert not controller.decided
        controller.record_chunk(rows=8, busy=busy, cpu=0.004, waited=True)
    return clock, controller, used


def test_an_interpreter_that_is_free_while_one_works_is_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, controller, used = let_in(monkeypatch, busy=0.0045)
    assert controller.decided
    assert used == [1, 2]
    # later it is measured, as ever: the interpreter may be free, and the bus full
    for _ in range(2000):
        clock.now += 0.006 if used[-1] == 2 else 0.004
        controller.record_chunk(rows=8, busy=0.004, cpu=0.004, waited=True)
        assert not controller.wants_gil_samples
    assert used[:5] == [1, 2, 1, 2, 1]


def test_who_is_free_at_times_and_then_takes_turns_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    _, controller, used = let_in(monkeypatch, busy=0.009)
    assert used == [1, 2, 1]
    assert not controller.decided
    assert not controller.wants_gil_samples


def test_chunks_of_workers_that_were_sent_to_rest_say_nothing_of_the_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(8, used.append, looks=True)
    for _ in range(concurrency.MIN_FREE_SAMPLES):
        controller.record_gil_delay(0.0)
    left = 0  # chunks that the eight began
    for _ in range(300):
        if used[-1] == 8:
            left, busy = 16, 0.08
        else:
            left, busy = max(0, left - 1), 0.08 if left else 0.004
        clock.now += 0.02 if used[-1] == 8 else 0.004
        controller.record_chunk(rows=800, busy=busy, cpu=0.004, waited=True)
    assert controller.decided
    assert used == [1, 8, 1, 8, 1]  # let in, sent away, measured, and sent away for good


def test_an_interpreter_that_is_held_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(2, used.append, looks=True)
    for _ in range(2):
        assert controller.wants_gil_samples
        controller.record_gil_delay(0.005)
    assert not controller.wants_gil_samples
    assert used == [1]
    assert not controller.decided  # it is measured


def test_who_won_is_tested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    used = play(monkeypatch, seconds_all=0.006, seconds_one=0.004, cpu=0.004, chunks=2000)
    assert used == [1, 2, 1, 2, 1]  # once more after five seconds, then after ten


def test_a_slow_consumer_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(2, used.append)
    for _ in range(1000):
        clock.now += 0.01
        controller.record_chunk(rows=8, busy=0.01, cpu=0.01, waited=False)
    assert used == [1]
    assert not controller.decided


@pytest.mark.parametrize(("seconds_all", "kept"), [(0.006, 2), (0.01, 1), (0.012, 1)])
def test_a_consumer_that_waits_now_and_then_gets_all_if_they_help(
    monkeypatch: pytest.MonkeyPatch, seconds_all: float, kept: int
) -> None:
    clock = Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(2, used.append)
    for number in range(300):
        clock.now += seconds_all if used[-1] == 2 else 0.01
        controller.record_chunk(rows=8, busy=0.01, cpu=0.01, waited=number % 2 == 0)
    assert used[:2] == [1, 2]
    assert controller.decided
    assert used[-1] == kept


def test_called_for_once_all_are_on_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(4, used.append)
    controller.use_all_workers()
    assert used == [1, 4]
    assert not controller.decided
    for _ in range(40):  # it was a busy machine, and no need
        clock.now += 0.01 if used[-1] == 4 else 0.005
        controller.record_chunk(rows=8, busy=0.005, cpu=0.005, waited=True)
    assert used == [1, 4, 1]
    assert controller.decided


def test_called_for_twice_all_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(4, used.append)
    controller.use_all_workers()
    controller._start_measurement(1, 0.0)
    controller.use_all_workers()
    assert used == [1, 4, 1, 4]
    assert controller.decided


def test_one_worker_needs_no_decision() -> None:
    assert AdaptiveConcurrency(1, lambda n: None).decided


def test_work_that_is_known_to_hold_the_gil_is_not_tried_on_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    used: list[int] = []
    controller = AdaptiveConcurrency(4, used.append, bound=True)
    for _ in range(200):
        clock.now += 0.01
        controller.record_chunk(rows=8, busy=0.01, cpu=0.01, waited=True)
    assert used == [1]
    controller.use_all_workers()  # a chunk that does not come: it may wait for another one
    assert used == [1, 4]


def test_a_segment_holds_the_gil_where_only_python_of_ours_is_in_it() -> None:
    lines = ds.NumpySlicesDataset({"x": ["a b"] * 4}, shuffle=False)
    split, loads = text.WhitespaceTokenizer(), json.loads
    found = {
        "tokenizer": lines.map(split, "x"),
        "function": lines.map(split, "x").map(loads, "x"),
        "numbers": lines.map(transforms.Duplicate(), "x", ["x", "y"]),
    }
    held = {}
    for name, data in found.items():
        root = optimize(bind(data._node, settings.current(), seed=1)).root
        held[name] = any(node.holds_gil for node in walk(root) if isinstance(node, Segment))
    assert held == {"tokenizer": True, "function": False, "numbers": False}
