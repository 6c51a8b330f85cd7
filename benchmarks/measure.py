"""Time, memory and CPU of one pipeline. Runs in every peer's interpreter: standard library and numpy only."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")
MIB = 1024 * 1024

# What each peer's fixed packages are called on the package index.
PACKAGES = {"millrace": ("millrace",), "mindspore": ("mindspore",), "torch": ("torch",)}


def loop(build: Callable[[], Iterable[Any]], seconds: float, epochs: int | None = None) -> dict[str, Any]:
    """Build a pipeline and loop over it: each ``for`` is one epoch, and a batch is a list or tuple of columns.

    The first epoch warms up and gives the time to the first batch (building the pipeline included); whole epochs
    follow until ``seconds`` have passed, and give the rate. All a batch is asked for is its shape. With
    ``epochs=0`` only the first batch is read.
    """
    began = time.perf_counter()
    pipeline = build()
    batches = iter(pipeline)
    rows = next(batches)[0].shape[0]
    first = time.perf_counter() - began
    measured: dict[str, Any] = {"first_batch_s": first, "batch_rows": rows}
    if epochs == 0:
        return measured
    for _ in batches:
        pass
    rows = count = 0
    busy, began = cpu_seconds(), time.perf_counter()
    while True:
        for batch in pipeline:
            rows += batch[0].shape[0]
        count += 1
        spent = time.perf_counter() - began
        if spent >= seconds or (epochs is not None and count >= epochs):
            break
    busy = cpu_seconds() - busy
    measured |= {
        "rows": rows,
        "epochs": count,
        "seconds": spent,
        "rows_per_s": rows / spent,
        "cpu_s_per_1k": busy / rows * 1000,
        "peak_mb": peak_mb(),
    }
    return measured


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


def versions(peer: str) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in (*PACKAGES[peer], "numpy"):
        found[package] = importlib.metadata.version(package)
    return found
