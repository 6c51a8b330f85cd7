"""Epochs with a cache beside epochs without one, and the servers of those that have one."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import TICK, Column, check, descendants, peak_mb, ready
from benchmarks.workloads import CPU, PEAK, Metric

__all__ = ["FIRST", "LATER", "METRICS", "beside", "epochs", "mindspore_session", "own_session"]

FIRST, LATER = "first_percent", "later_percent"
METRICS = (
    Metric("rows_per_s", "rows/s, later epochs", higher=True),
    Metric("first_rows_per_s", "rows/s, first epoch", higher=True),
    Metric("none_rows_per_s", "rows/s without a cache", higher=True),
    Metric(FIRST, "first epoch, slower than without by", "%"),
    Metric("first_cpu_percent", "in CPU time", "%"),
    Metric(LATER, "later epochs take of the time without", "%"),
    CPU,
    PEAK,
)

# Blocks of epochs, and the most epochs in one.
BLOCKS, EPOCHS = 3, 20

# (wall seconds, CPU seconds)
Times = tuple[float, float]


@contextlib.contextmanager
def mindspore_session() -> Iterator[tuple[int, int]]:
    """A session of MindSpore's cache server and its port; its own command starts it and stops it."""
    home, port = Path(sys.executable).parent, _free_port()
    env = os.environ | {"PATH": f"{home}{os.pathsep}{os.environ.get('PATH', '')}"}

    def ask(*words: str) -> str:
        command = [str(home / "dataset-cache"), *words, "-p", str(port)]
        return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=True).stdout

    ask("--start")
    try:
        yield int(re.findall(r"\d+", ask("-g"))[-1]), port
    finally:
        ask("--stop")


@contextlib.contextmanager
def own_session() -> Iterator[tuple[int, int]]:
    """The same of Millrace's."""
    from millrace._src.data.cache import server_admin as admin

    port = _free_port()
    admin.start(port=port)
    try:
        yield admin.generate(port=port), port
    finally:
        admin.stop(port=port)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def epochs(
    build: Callable[[], Iterable[Any]], seconds: float, rows: int, like: Sequence[Column]
) -> dict[str, Any]:
    """The first epoch through a pipeline, from building it on, and those that follow."""
    ready()
    pipeline: list[Iterable[Any]] = []

    def first() -> Iterable[Any]:
        pipeline.append(build())
        return pipeline[0]

    made = _timed(first, rows, like)
    later = _best(pipeline[0], seconds, rows, like)
    return _measured(made, later, rows)


def beside(
    build: Callable[[bool, int, int], Iterable[Any]],
    turns: int,
    seconds: float,
    rows: int,
    like: Sequence[Column],
) -> dict[str, Any]:
    """The first epoch and those after it, without a cache and with one, in turns; the best of each counts.

    ``build(cached, turn, epochs)`` gives a pipeline whose rows are kept apart from those of other turns. The best and
    not the mean: what other programs take from the machine only ever adds.
    """
    ready()
    _timed(lambda: build(False, 0, 1), rows, like)  # files are in memory and libraries loaded
    none: list[Times] = []
    first: list[Times] = []
    again: list[Times] = []
    later: list[Times] = []
    for turn in range(turns):
        order = (False, True) if turn % 2 else (True, False)
        for cached in order:
            (first if cached else none).append(_timed(lambda c=cached, t=turn: build(c, t, 1), rows, like))
        for cached in order:
            (later if cached else again).append(_best(build(cached, turn, -1), seconds / turns, rows, like))
    plain, made, onward, kept = (_least(times) for times in (none, first, again, later))
    return _measured(made, kept, rows) | {
        "none_rows_per_s": rows / onward[0],
        FIRST: 100 * (made[0] / plain[0] - 1),
        "first_cpu_percent": 100 * (made[1] / plain[1] - 1),
        LATER: 100 * kept[0] / onward[0],
    }


def _measured(first: Times, later: Times, rows: int) -> dict[str, Any]:
    return {
        "first_rows_per_s": rows / first[0],
        "rows_per_s": rows / later[0],
        "cpu_s_per_1k": 1000 * later[1] / rows,
        "peak_mb": peak_mb(),
    }


def _best(pipeline: Iterable[Any], seconds: float, rows: int, like: Sequence[Column]) -> Times:
    """An epoch of those that follow the first: the best of some blocks of epochs.

    Blocks, because a pipeline reads ahead: what is made between two epochs belongs to them.
    """
    _timed(lambda: pipeline, rows, like)
    once = _timed(lambda: pipeline, rows, like)[0]
    size = max(1, min(EPOCHS, int(seconds / BLOCKS / max(once, 1e-6))))
    times = []
    for _ in range(BLOCKS):
        wall, cpu = _timed(lambda: itertools.chain.from_iterable([pipeline] * size), rows * size, like)
        times.append((wall / size, cpu / size))
    return _least(times)


def _least(times: Sequence[Times]) -> Times:
    return min(wall for wall, _ in times), max(1e-9, min(cpu for _, cpu in times))


def _cpu() -> float:
    """CPU seconds of this process, to the microsecond, and of those that it started, to the tick."""
    total = time.process_time()
    for pid in descendants():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:13])) / TICK
    return total


def _timed(build: Callable[[], Iterable[Any]], rows: int, like: Sequence[Column]) -> Times:
    busy, began, seen, batch = _cpu(), time.perf_counter(), 0, None
    for batch in build():
        seen += batch[0].shape[0]
    wall, cpu = time.perf_counter() - began, _cpu() - busy
    if batch is None or seen != rows:
        raise AssertionError(f"an epoch had {seen} rows, not {rows}")
    check(batch, like)
    return wall, cpu
