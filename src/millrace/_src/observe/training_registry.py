"""Registry of the trainings in this process, for monitors.

The monitor does not import ``Model``; a training registers itself here and returns its counters. A loss is read by the
thread of the training, and only while there are subscribers, because reading it waits for the device.
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
    """Counters of a training at one moment; seconds and steps only increase."""

    network: str
    # the current step (a resumed training starts in the middle), and the number of steps in this process
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
    # the statistics of its pipeline, if there is one
    pipeline_stats: RunStats | None


class MonitoredTraining(Protocol):
    """A training that returns its counters."""

    def counts(self) -> TrainingCounts: ...


# The maximum number of new trainings between two samples.
MOST = 64
_lookers: dict[int, deque[MonitoredTraining]] = {}


def register_training(training: MonitoredTraining) -> None:
    """Register a new training with all subscribers."""
    for begun in list(_lookers.values()):
        begun.append(training)


def subscribe(looker: object) -> deque[MonitoredTraining]:
    """Subscribe: later trainings are added to the returned queue, and losses are read from time to time.

    >>> me = object()
    >>> begun = subscribe(me)
    >>> has_subscribers(), list(begun)
    (True, [])
    >>> unsubscribe(me)
    """
    return _lookers.setdefault(id(looker), deque(maxlen=MOST))


def unsubscribe(looker: object) -> None:
    """End a subscription."""
    _lookers.pop(id(looker), None)


def has_subscribers() -> bool:
    """Whether there are subscribers."""
    return bool(_lookers)
