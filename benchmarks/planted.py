"""Pipelines with a bottleneck planted in them; each takes the change that the verdict names as arguments.

Waiting is planted as sleeps, which take the same time on every machine; work as loops and blurs, where only the ratio
of two runs counts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millrace.dataset as ds
from millrace._src.core import settings
from millrace.dataset import vision

IMAGES = np.random.default_rng(0).integers(0, 255, (64, 128, 128, 3)).astype(np.uint8)


class Rows:
    """Random access to rows that take their time."""

    def __init__(self, rows: int, work: Callable[[], None]) -> None:
        self.rows, self.work = rows, work

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int) -> tuple[np.float32]:
        self.work()
        return (np.float32(i),)


class Pass:
    """The same rows in one pass."""

    def __init__(self, rows: int, work: Callable[[], None]) -> None:
        self.rows, self.work = rows, work

    def __iter__(self) -> Iterator[tuple[np.float32]]:
        for i in range(self.rows):
            self.work()
            yield (np.float32(i),)


def nap() -> None:
    time.sleep(0.005)


def spin() -> None:
    sum(i * i for i in range(400))


def slow(x: Any) -> Any:
    time.sleep(0.008)
    return x


def loop(x: Any) -> Any:
    sum(i * i for i in range(12_000))
    return x


def short_loop(x: Any) -> Any:
    sum(i for i in range(300))
    return x


def _numbers(rows: int) -> ds.NumpySlicesDataset:
    return ds.NumpySlicesDataset({"x": np.arange(rows, dtype=np.float32)}, shuffle=False)


def slow_map(rows: int, **change: Any) -> ds.Dataset:
    return _numbers(rows).map(slow, ["x"], **change).batch(4)


def slow_stream(rows: int, random_access: bool = False, **change: Any) -> ds.Dataset:
    source = Rows(rows, nap) if random_access else Pass(rows, nap)
    more = {"shuffle": False} if random_access else {}
    return ds.GeneratorDataset(source, ["x"], **more, **change).batch(4)


def slow_reader(rows: int, **change: Any) -> ds.Dataset:
    return ds.GeneratorDataset(Rows(rows, nap), ["x"], shuffle=False, **change).batch(4)


def one_worker(rows: int, **change: Any) -> ds.Dataset:
    workers = {"num_parallel_workers": 1} | change
    data = ds.NumpySlicesDataset({"x": IMAGES}, shuffle=False).repeat(rows // len(IMAGES))
    return data.map(vision.GaussianBlur(31), ["x"], **workers).batch(4)


def python_loop(rows: int, **change: Any) -> ds.Dataset:
    return _numbers(rows).map(loop, ["x"], **change).batch(4)


def tiny_batches(rows: int, batch_size: int = 1) -> ds.Dataset:
    return ds.GeneratorDataset(Pass(rows, spin), ["x"]).batch(batch_size)


def tiny_chunks(rows: int, chunk_rows: int | None = 1) -> ds.Dataset:
    settings.update(chunk_rows=chunk_rows)
    return _numbers(rows).map(short_loop, ["x"]).batch(64)


def tight_budget(rows: int, memory_budget: int = 3_000_000) -> ds.Dataset:
    settings.update(memory_budget=memory_budget)
    pages = ds.NumpySlicesDataset({"x": np.zeros((8, 1_000_000), np.uint8)}, shuffle=False)
    return pages.repeat(rows // 8).map(slow, ["x"], num_parallel_workers=8)


@dataclasses.dataclass(frozen=True)
class Planted:
    """What was planted, what the verdict should call it, the knob it should name, and rows for about a second."""

    name: str
    kind: str
    knob: str
    rows: int
    build: Callable[..., ds.Dataset]
    # it computes, so that other programs on the machine decide how fast it is
    computes: bool = False


PLANTED = (
    Planted("slow map", "slow map", "num_parallel_workers", 320, slow_map),
    Planted("slow source in one pass", "slow source", "random_access", 240, slow_stream),
    Planted("slow source, one reader", "slow source", "num_parallel_workers", 240, slow_reader),
    Planted("too few workers", "too few workers", "num_parallel_workers", 1280, one_worker, computes=True),
    Planted("Python that holds the GIL", "gil", "python_multiprocessing", 2000, python_loop, computes=True),
    Planted("small batches", "small chunks", "batch_size", 12_000, tiny_batches, computes=True),
    Planted("small chunks", "small chunks", "chunk_rows", 16_000, tiny_chunks, computes=True),
    Planted("memory budget", "memory budget", "memory_budget", 160, tight_budget),
)
