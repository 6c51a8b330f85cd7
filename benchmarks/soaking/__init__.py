"""The turns of the soak, one family in each file, and what processes hold after them."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

__all__ = ["EVENTS", "Event", "Family", "Place", "until"]


class Event(NamedTuple):
    """Something that happens on a machine that trains and serves all day."""

    day: int
    why: str


# Eight hours of a busy machine. What a turn did is counted under these names.
EVENTS = {
    "pipelines opened": Event(240, "one to train on and one to evaluate with, anew every four minutes"),
    "worker processes killed": Event(8, "the kernel takes one an hour for its memory"),
    "damaged files met": Event(8, "one an hour"),
    "cache servers restarted": Event(4, "one every two hours"),
    "checkpoints written": Event(96, "one every five minutes"),
    "trainings resumed": Event(8, "preempted once an hour"),
    "requests answered": Event(28_800, "one a second"),
    "requests refused": Event(288, "one in a hundred is wrong"),
    "clients that went away": Event(96, "one every five minutes"),
    "models loaded anew": Event(24, "three an hour"),
    "servers started and stopped": Event(4, "one every two hours"),
    "requests to the object store": Event(960, "two a minute"),
    "of them with a fault": Event(48, "one in twenty"),
    "rows read": Event(28_800_000, "a thousand a second"),
    "training steps": Event(288_000, "ten a second"),
}
# What a day has more of than a run: a step or a row holds nothing when the next one has come.
SCALED = ("rows read", "training steps")


class Place:
    """What every family is given: a folder of its own, draws, a count of what was done, and the size of a turn."""

    def __init__(self, folder: Path, seed: int, small: bool) -> None:
        self.folder, self.draw, self.small = folder, random.Random(seed), small
        self.did: Counter[str] = Counter()


class Family:
    """Turns that share a set-up; `DAY` has them by name, with how often a day has them."""

    DAY: ClassVar[dict[str, int]] = {}

    def __init__(self, place: Place) -> None:
        self.place, self.draw, self.did = place, place.draw, place.did
        self.folder = place.folder / type(self).__name__.lower()
        self.folder.mkdir()

    def processes(self) -> dict[str, int]:
        """Processes of Millrace's own that live as long as the soak, by name: they are measured, too."""
        return {}

    def close(self) -> None:
        """End what was started."""

    def rows(self, data: Any, batched: bool = True) -> list[dict[str, Any]]:
        """One epoch of a pipeline, counted."""
        self.did["pipelines opened"] += 1
        found = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
        self.did["rows read"] += sum(len(next(iter(row.values()))) if batched else 1 for row in found)
        return found


def until(true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about within {seconds:g} s")
        time.sleep(0.02)
