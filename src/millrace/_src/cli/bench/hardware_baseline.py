"""Baseline rates of this machine for the user's files: reading, JPEG decoding, memory copies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from millrace._src.core.errors import MillraceError
from millrace._src.core.machine.cores import available_cores
from millrace._src.data.engine.thread_limits import limit_library_threads
from millrace._src.data.kernels.vision.decode import decode

__all__ = ["copy_rate", "decode_rates", "read_rates", "samples_of"]

BLOCK = 1 << 20
READ_BYTES = 256 << 20
READ_SECONDS = 1.0
SAMPLES, SAMPLE_BYTES = 64, 32 << 20
COPY_BYTES = 64 << 20


def read_rates(files: Sequence[str]) -> dict[str, float]:
    """Bytes per second of reading the files sequentially, twice: not in the page cache, and in it.

    The system may keep pages in its cache, so the "cold" rate is an upper bound.
    """
    chosen = _sample_files(files)
    for path in chosen:
        _drop_from_page_cache(path)
    cold_bytes, cold = _read(chosen)
    warm_bytes, warm = _read(chosen, most=cold_bytes)
    if not cold_bytes or not warm_bytes:
        return {}
    return {"cold": cold_bytes / cold, "warm": warm_bytes / warm}


def _sample_files(files: Sequence[str]) -> list[str]:
    """A sample of files spread over the whole set, up to READ_BYTES."""
    step = max(1, len(files) // 4096)
    chosen, total = [], 0
    for path in files[::step]:
        try:
            total += os.path.getsize(path)
        except OSError:
            continue
        chosen.append(path)
        if total >= READ_BYTES:
            break
    return chosen


def _drop_from_page_cache(path: str) -> None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def _read(files: Iterable[str], most: int = READ_BYTES) -> tuple[int, float]:
    buffer = bytearray(BLOCK)
    done = 0
    began = time.perf_counter()
    for path in files:
        try:
            with open(path, "rb", buffering=0) as file:
                while got := file.readinto(buffer):
                    done += got
                    if done >= most or time.perf_counter() - began > READ_SECONDS:
                        return done, time.perf_counter() - began
        except OSError:
            continue
    return done, max(1e-9, time.perf_counter() - began)


def samples_of(images: Iterable[Any]) -> list[Any]:
    """Decodable JPEG files among these byte arrays, up to SAMPLES and SAMPLE_BYTES."""
    samples, total = [], 0
    for image in images:
        data = np.asarray(image, np.uint8)
        if data[:3].tobytes() != b"\xff\xd8\xff":
            continue
        try:
            decode(data)
        except MillraceError:
            continue
        samples.append(data)
        total += data.nbytes
        if len(samples) >= SAMPLES or total >= SAMPLE_BYTES:
            break
    return samples


def decode_rates(images: Sequence[Any], seconds: float = 0.7) -> dict[str, float]:
    """JPEG files decoded per second by one core, and by all cores that this process may use."""
    if not images:
        return {}
    cores = available_cores()
    with limit_library_threads():
        one = _measure_rate(lambda number: decode(images[number % len(images)]), 1, seconds)
        if cores == 1:
            return {"one": one, "all": one, "cores": 1.0}
        every = _measure_rate(lambda number: decode(images[number % len(images)]), cores, seconds)
    return {"one": one, "all": every, "cores": float(cores)}


def copy_rate(seconds: float = 0.3) -> dict[str, float]:
    """Bytes copied per second in memory, by one core and by all cores."""
    cores = available_cores()
    pairs = [(np.ones(COPY_BYTES // 8), np.zeros(COPY_BYTES // 8)) for _ in range(cores)]

    def copy(number: int) -> None:
        source, target = pairs[number % cores]
        np.copyto(target, source)

    one = COPY_BYTES * _measure_rate(copy, 1, seconds)
    return {"one": one, "all": COPY_BYTES * _measure_rate(copy, cores, seconds) if cores > 1 else one}


def _measure_rate(work: Callable[[int], object], threads: int, seconds: float) -> float:
    """Calls per second of ``work`` from this many threads: the best of three runs, since others use the cores."""
    work(0)
    with ThreadPoolExecutor(threads) as pool:
        return max(_measure_once(work, pool, threads, seconds / 3) for _ in range(3))


def _measure_once(
    work: Callable[[int], object], pool: ThreadPoolExecutor, threads: int, seconds: float
) -> float:
    end = time.perf_counter() + seconds

    def loop(first: int) -> int:
        done = 0
        while time.perf_counter() < end:
            work(first + done * threads)
            done += 1
        return done

    began = time.perf_counter()
    done = sum(pool.map(loop, range(threads)))
    return done / max(1e-9, time.perf_counter() - began)
