"""Which trainings run in this process, for whoever looks on.

The monitor stands in the data wing and knows no ``Model``; a training enters itself here and says how it stands. A loss
is read by the training's own thread, and only while somebody looks: reading it waits for the device.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Protocol

from millrace._src.core.statistics import RunStats

__all__ = [
    "TrainingCounts",
    "MonitoredTraining",
    "register_training",
    "unsubscribe",
    "subscribe",
    "has_subscribers",
]


@dataclasses.dataclass(frozen=True)
class TrainingCounts:
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
    pipeline_stats: RunStats | None


class MonitoredTraining(Protocol):
    """What can be looked at."""

    def counts(self) -> TrainingCounts: ...


# Trainings that begin faster than anybody looks: the last so many are seen.
MOST = 64
_lookers: dict[int, deque[MonitoredTraining]] = {}


def register_training(training: MonitoredTraining) -> None:
    """A training begins: whoever looks on gets it."""
    for begun in list(_lookers.values()):
        begun.append(training)


def subscribe(looker: object) -> deque[MonitoredTraining]:
    """Look on from here: what begins later comes into the queue, and losses are read from time to time.

    >>> me = object()
    >>> begun = subscribe(me)
    >>> has_subscribers(), list(begun)
    (True, [])
    >>> unsubscribe(me)
    """
    return _lookers.setdefault(id(looker), deque(maxlen=MOST))


def unsubscribe(looker: object) -> None:
    """Look no more."""
    _lookers.pop(id(looker), None)


def has_subscribers() -> bool:
    """Whether anybody looks."""
    return bool(_lookers)
