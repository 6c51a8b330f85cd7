"""Runs targets on changed seeds, with limits on time and memory, and reports what went wrong."""

from __future__ import annotations

import hashlib
import random
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.mutations import mutated_bytes, mutated_json

from .target import Target, json_bytes

__all__ = ["CRASHES", "Crash", "limit_memory", "replay", "run"]

CRASHES = Path(__file__).parent / "crashes"
SECONDS = 30
# more than a parser may take for an input of a few kilobytes, above what the libraries have reserved already
MEMORY = 3 << 30


@dataclass(frozen=True)
class Crash:
    """An input that raised something else than an error of Millrace."""

    target: str
    data: bytes
    error: str

    @property
    def name(self) -> str:
        return f"{self.target}/{hashlib.sha256(self.data).hexdigest()[:16]}.bin"


class TooSlow(BaseException):
    """An input took longer than the limit. No ``except Exception`` of a parser hides it."""


def limit_memory() -> None:
    """Limit what this process may reserve from here on; call it once the libraries are loaded."""
    with open("/proc/self/statm") as file:
        reserved = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (reserved + MEMORY, resource.RLIM_INFINITY))


@contextmanager
def _limited() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attempt(target: Target, data: bytes, folder: Path) -> Crash | None:
    """Parse one input; None where it was read or refused as it should be."""
    try:
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.parse(data, folder)
    except target.errors:
        return None
    except (Exception, TooSlow) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return Crash(target.name, data, f"{type(error).__name__} at {where}: {str(error)[:200]}")
    return None


def changed(target: Target, seed: bytes, rng: random.Random) -> bytes:
    if target.json and rng.random() < 0.8:
        return json_bytes(mutated_json(target.json_of(seed), rng))
    return mutated_bytes(seed, rng)


def run(target: Target, number: int, count: int | None, seconds: float | None = None) -> Iterator[Crash]:
    """Parse `count` inputs, or as many as fit into `seconds`; `number` selects the random sequence."""
    rng = random.Random(f"{target.name} {number}")
    end = None if seconds is None else time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="millrace-fuzz-") as name:
        folder = Path(name)
        seeds = target.seeds(folder)
        for seed in seeds:
            target.parse(seed, folder)  # a seed is valid
        done = 0
        while (count is None or done < count) and (end is None or time.monotonic() < end):
            done += 1
            crash = attempt(target, changed(target, rng.choice(seeds), rng), folder)
            if crash is not None:
                yield crash


def replay(target: Target) -> Iterator[Crash]:
    """Parse the inputs that were once found to crash."""
    with tempfile.TemporaryDirectory(prefix="millrace-fuzz-") as name:
        folder = Path(name)
        if (CRASHES / target.name).is_dir():
            target.seeds(folder)
            for file in sorted((CRASHES / target.name).iterdir()):
                crash = attempt(target, file.read_bytes(), folder)
                if crash is not None:
                    yield crash


def summary(crashes: list[Crash]) -> dict[str, Any]:
    """One crash of each place in the code."""
    return {crash.error.partition(": ")[0]: crash for crash in reversed(crashes)}
