"""What was seen of a run over a number of steps, as the search wants it: seconds per step, nothing of the engine."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

__all__ = ["StepTiming", "StageMeasurement", "Measurement", "average"]

# Looks are put into so many groups; how far those lie apart tells how much a mean can be trusted.
GROUPS = 4


@dataclasses.dataclass(frozen=True)
class StageMeasurement:
    """One stage with workers. Seconds are those of all its workers together, per step."""

    workers: int
    busy: float
    cpu: float
    # time in which only one of them can be
    serial: float = 0.0
    # threads that run a user's Python
    contends_for_gil: bool = False
    # the share of pulls at which the byte budget refused another chunk
    refused_share: float = 0.0
    # chunks of a step, and bytes that one holds; chunks under way at a time
    chunks: float = 1.0
    chunk_bytes: float = 0.0
    window: int = 1

    @property
    def cost(self) -> float:
        """Seconds of a worker that a step takes. On a busy machine the clock goes on while a worker waits for its
        turn: work is what the processor did, unless most of the time really went into waiting.
        """
        return self.cpu if self.cpu * WAIT_FACTOR > self.busy else self.busy


# Work whose processor time is less than this part of its time waits for something.
WAIT_FACTOR = 3


@dataclasses.dataclass(frozen=True)
class StepTiming:
    """What one pull of the consumer took: steps, seconds it waited for us, seconds it was busy itself."""

    steps: int
    wait: float
    busy: float


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The consumer's side of some steps, and the parts meanwhile."""

    steps: int
    wait: float
    busy: float
    # of one standard error, as a share of a step's time
    noise: float
    parts: tuple[StageMeasurement, ...] = ()

    @property
    def seconds(self) -> float:
        """Of one step."""
        return self.wait + self.busy

    @property
    def waiting(self) -> float:
        """The share of its time that the consumer waited."""
        return self.wait / self.seconds if self.seconds > 0 else 0.0

    def gain_over(self, baseline: Measurement) -> float:
        """How many times as fast as another time; what the consumer itself took is evened out."""
        busy = (self.busy + baseline.busy) / 2
        mine = busy + self.wait
        return (busy + baseline.wait) / mine if mine > 0 else 1.0


def average(timings: Sequence[StepTiming], parts: tuple[StageMeasurement, ...] = ()) -> Measurement:
    """The mean of some looks, and how far it can be trusted.

    >>> average([StepTiming(1, 0.01, 0.03)] * 8).waiting
    0.25
    """
    steps = sum(timing.steps for timing in timings)
    wait, busy = (
        sum(getattr(timing, name) for timing in timings) / max(1, steps) for name in ("wait", "busy")
    )
    size = max(1, len(timings) // GROUPS)
    groups = [timings[start : start + size] for start in range(0, len(timings) - size + 1, size)]
    means = [
        sum(entry.wait + entry.busy for entry in g) / max(1, sum(entry.steps for entry in g)) for g in groups
    ]
    noise = 0.0
    if len(means) > 1 and wait + busy > 0:
        mean = sum(means) / len(means)
        spread = math.sqrt(sum((m - mean) ** 2 for m in means) / (len(means) - 1))
        noise = spread / math.sqrt(len(means)) / (wait + busy)
    return Measurement(steps, wait, busy, noise, parts)
