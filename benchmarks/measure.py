"""Time, memory and CPU of one pipeline. Runs in every peer's interpreter: standard library and numpy only."""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")
MIB = 1024 * 1024

# A column of a batch as every peer must give it: the shape of a row, and the name of its dtype (None: any).
Column = tuple[tuple[int, ...] | None, str | None]


class Again:
    """A pipeline of which each ``for`` is an epoch, made from a function that gives one epoch's batches."""

    def __init__(self, epoch: Callable[[], Iterable[Any]]) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        return iter(self.epoch())


class Stream:
    """A pipeline of which each ``for`` is an epoch, made from an endless iterator and the batches of an epoch."""

    def __init__(self, batches: Iterable[Any], count: int) -> None:
        self.batches, self.count = iter(batches), count

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.batches, self.count)


class Prepared(BaseException):
    """Raised where a measurement would begin, when only its files were to be made."""


only_prepare = False


def ready() -> None:
    """The files are there. Called before anything is measured; ends the process that was only to make them."""
    if only_prepare:
        raise Prepared


def loop(
    build: Callable[[], Iterable[Any]],
    seconds: float,
    epochs: int | None = None,
    *,
    rows: int | None = None,
    like: Sequence[Column] = (),
) -> dict[str, Any]:
    """Build a pipeline and loop over it: each ``for`` is one epoch, and a batch is a list or tuple of columns.

    The first epoch warms up and gives the time to the first batch (building the pipeline included); whole epochs
    follow until ``seconds`` have passed, and give the rate. An epoch that would take more than three times as long
    is cut. With ``epochs=0`` only the first batch is read. The first batch must look ``like``
    what is asked for, and the first epoch must have all ``rows``, where those are given.
    """
    ready()
    began = time.perf_counter()
    pipeline = build()
    batches = iter(pipeline)
    batch = next(batches)
    first = time.perf_counter() - began
    check(batch, like)
    seen = size = batch[0].shape[0]
    measured: dict[str, Any] = {"first_batch_s": first, "batch_rows": size}
    if epochs == 0:
        return measured
    limit = 3 * seconds + 1
    peak, began, whole = peak_mb(), time.perf_counter(), True
    for number, batch in enumerate(batches, 2):
        seen += batch[0].shape[0]
        if number & (number - 1) == 0:  # 2, 4, 8 ...: workers may be gone when the epoch is
            peak = max(peak, peak_mb())
        if time.perf_counter() - began > limit:
            whole = False
            break
    # a peer whose batches are all full goes a little into the next epoch
    if whole and rows is not None and not rows <= seen < rows + size:
        raise AssertionError(f"an epoch had {seen} rows, not {rows}")
    seen = count = 0
    busy, began = cpu_seconds(), time.perf_counter()
    spent = start = 0.0
    while spent < seconds and (epochs is None or count < epochs):
        for batch in pipeline if whole else batches:
            seen += batch[0].shape[0]
            spent = time.perf_counter() - began
            if spent - start > limit:
                break
        whole = True
        count += 1
        start = spent = time.perf_counter() - began
    check(batch, like)
    busy = cpu_seconds() - busy
    measured |= {
        "rows": seen,
        "epochs": count,
        "seconds": spent,
        "rows_per_s": seen / spent,
        "cpu_s_per_1k": busy / seen * 1000,
        "peak_mb": max(peak, peak_mb()),
    }
    return measured


def check(batch: Sequence[Any], like: Sequence[Column]) -> None:
    """Whether a batch has the columns that every peer is asked for; a peer that does less work is not a peer."""
    for place, (shape, dtype) in enumerate(like):
        got = tuple(batch[place].shape[1:]), str(batch[place].dtype).removeprefix("torch.")
        if (shape is not None and got[0] != shape) or (dtype is not None and got[1] != dtype):
            raise AssertionError(f"column {place} has rows of {got[0]}, {got[1]}; wanted {shape}, {dtype}")


# --- the process and those it started -----------------------------------------------------------------------


def descendants() -> list[int]:
    """Process ids of everything this process started, directly or not, that is alive."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(folder.name))
    found, todo = [], [os.getpid()]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def cpu_seconds() -> float:
    """CPU seconds of this process, its live descendants, and those that ended."""
    total = 0.0
    for pid in (os.getpid(), *descendants()):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / TICK
    return total


def status_mb(field: str, pid: int | str = "self") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(field)


def peak_mb() -> float:
    """The process's own high-water mark, and what its live workers hold now (pages they share are shared out)."""
    total = status_mb("VmHWM")
    for pid in descendants():
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) / 1024
    return total


def reset_peak() -> float:
    """Start the high-water mark afresh; returns what the process holds now."""
    Path("/proc/self/clear_refs").write_text("5")
    return status_mb("VmRSS")


def versions(*packages: str) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in (*packages, "numpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
