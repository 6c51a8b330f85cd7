"""Which trainings run in this process, for whoever looks on.

The monitor stands in the data wing and knows no ``Model``; a training enters itself here and says how it stands. A loss
is read by the training's own thread, and only while somebody looks: reading it waits for the device.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Protocol

from millrace._src.core.statistics import RunStats

__all__ = ["StepCounts", "Training", "enter", "look_away", "look_on", "looked_at"]


@dataclasses.dataclass(frozen=True)
class StepCounts:
    """A training at one moment; seconds and steps count up."""

    network: str
    # where it stands (a resumed one begins in the middle), and how many it has made itself
    step: int
    steps: int
    epoch: int
    epochs: int
    steps_in_epoch: int
    seconds: float
    # of these: seconds in which steps waited for data
    waited: float
    loss: float | None
    rate: float | None
    over: bool
    # the counters of the pipeline that feeds it, where there is one
    fed_by: RunStats | None


class Training(Protocol):
    """What can be looked at."""

    def look(self) -> StepCounts: ...


# Trainings that begin faster than anybody looks: the last so many are seen.
MOST = 64
_lookers: dict[int, deque[Training]] = {}


def enter(training: Training) -> None:
    """A training begins: whoever looks on gets it."""
    for begun in list(_lookers.values()):
        begun.append(training)


def look_on(looker: object) -> deque[Training]:
    """Look on from here: what begins later comes into the queue, and losses are read from time to time.

    >>> me = object()
    >>> begun = look_on(me)
    >>> looked_at(), list(begun)
    (True, [])
    >>> look_away(me)
    """
    return _lookers.setdefault(id(looker), deque(maxlen=MOST))


def look_away(looker: object) -> None:
    """Look no more."""
    _lookers.pop(id(looker), None)


def looked_at() -> bool:
    """Whether anybody looks."""
    return bool(_lookers)
