"""Measurements of pipeline throughput, waiting time and per-stage cost over a number of steps.

All times are seconds per step. Nothing here depends on the engine.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

__all__ = ["StepTiming", "StageMeasurement", "Measurement", "average"]

# Timings are divided into this many groups; the spread of the group means estimates the noise of the mean.
GROUPS = 4


@dataclasses.dataclass(frozen=True)
class StageMeasurement:
    """One stage with workers. Times are sums over all its workers, per step."""

    workers: int
    busy: float
    cpu: float
    # time in which only one worker can run
    serial: float = 0.0
    # threads that run Python code of the user
    contends_for_gil: bool = False
    # share of pulls at which the memory budget refused another chunk
    refused_share: float = 0.0
    # chunks per step, bytes per chunk, and chunks in flight
    chunks: float = 1.0
    chunk_bytes: float = 0.0
    window: int = 1

    @property
    def cost(self) -> float:
        """Worker seconds per step: CPU time, unless most of the wall time was spent waiting for I/O.

        On a busy machine wall time includes the time in which a worker waits for a core.
        """
        return self.cpu if self.cpu * WAIT_FACTOR > self.busy else self.busy


# Work waits for I/O when its CPU time is less than wall time divided by this.
WAIT_FACTOR = 3


@dataclasses.dataclass(frozen=True)
class StepTiming:
    """One pull of the consumer: steps, seconds it waited for the pipeline, seconds it was busy itself."""

    steps: int
    wait: float
    busy: float


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The consumer's times over some steps, and the measurements of the stages."""

    steps: int
    wait: float
    busy: float
    # standard error, as a share of the time of a step
    noise: float
    parts: tuple[StageMeasurement, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds per step."""
        return self.wait + self.busy

    @property
    def waiting(self) -> float:
        """Share of the time that the consumer waited."""
        return self.wait / self.seconds if self.seconds > 0 else 0.0

    def gain_over(self, baseline: Measurement) -> float:
        """Speedup relative to another measurement; differences in the consumer's own time are averaged out."""
        busy = (self.busy + baseline.busy) / 2
        mine = busy + self.wait
        return (busy + baseline.wait) / mine if mine > 0 else 1.0


def average(timings: Sequence[StepTiming], parts: tuple[StageMeasurement, ...] = ()) -> Measurement:
    """The mean of some timings, with its noise.

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
