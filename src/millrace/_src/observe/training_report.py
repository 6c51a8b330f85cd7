"""Report of a training: steps, pipeline, transfer, and whether the data or the step was the bottleneck."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["TrainReport"]

# If steps wait for a smaller share of the time, data is not the bottleneck.
LITTLE = 0.05


class _Training(Protocol):
    """The attributes of a training loop that the report reads."""

    seconds: float
    feed: Any


class TrainReport:
    """Report of a training. Printed, it states whether the data or the step was the bottleneck.

    Attributes: ``steps``, ``seconds``, ``waited`` (seconds in which steps waited for data), ``step_seconds`` (the rest,
    per step), ``steps_per_second``, ``wait_fraction``. ``parts`` has the seconds of data, transfer and steps, each
    measured separately; ``overlapped`` is whether they ran concurrently, as in sink mode. ``pipeline`` is the report of
    the data pipeline.
    """

    def __init__(self, training: _Training) -> None:
        self.steps = training.feed.batches_delivered
        self.seconds = training.seconds
        self.waited = min(training.feed.wait_seconds, training.seconds)
        self.pipeline: Any = training.feed.report()
        sink = training.feed.prefetcher
        # the diagnosis of the host-to-device transfer
        self.sink: Any = None if sink is None else sink.diagnosis()
        self.overlapped = sink is not None
        steps = self.seconds - self.waited
        self.parts = {"data": self.waited, "transfer": 0.0, "step": steps}
        if sink is not None:
            self.parts = {"data": sink.channel.data, "transfer": sink.channel.moving, "step": steps}

    @property
    def wait_fraction(self) -> float:
        """The share of the time in which steps waited for data."""
        return self.waited / self.seconds if self.seconds else 0.0

    @property
    def steps_per_second(self) -> float:
        """Steps in a second."""
        return self.steps / self.seconds if self.seconds else 0.0

    @property
    def step_seconds(self) -> float:
        """Seconds per step without waiting."""
        return (self.seconds - self.waited) / self.steps if self.steps else 0.0

    def diagnosis(self) -> str:
        """One sentence on whether the data or the step was the bottleneck."""
        if not self.steps:
            return "No step was made."
        if self.wait_fraction < LITTLE:
            return (
                f"The pipeline waited for the step: steps waited {self.wait_fraction:.1%} of the time for data, so "
                "faster data would change nothing; the step is what to make faster."
            )
        gain = self.seconds / (self.seconds - self.waited) if self.seconds > self.waited else float("inf")
        return (
            f"The step waited for the pipeline, {self.wait_fraction:.1%} of the time; with data at hand the training "
            f"would be {gain:.2f} times as fast. The report of the pipeline is below."
        )

    def time_breakdown(self) -> str:
        """How the time of a training is made of its parts: their sum, or in sink mode the longest of them."""
        shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in self.parts.items())
        longest = max(self.parts, key=lambda name: self.parts[name])
        if self.overlapped:
            return (
                f"Data, transfer and steps overlap: {shown}; together {self.seconds:.2f} s, about that of the longest "
                f"one, {longest}."
            )
        return (
            f"Data and steps take turns: {shown}; together {self.seconds:.2f} s, their sum. dataset_sink_mode=True "
            f"lets them overlap, down to the {self.parts[longest]:.2f} s of the longest one, {longest}."
        )

    def __str__(self) -> str:
        waiting = self.waited / max(1, self.steps) * 1e3
        steps = (
            f"Training: {self.steps} steps in {self.seconds:.2f} s, {self.steps_per_second:.1f} steps/s; "
            f"{self.step_seconds * 1e3:.2f} ms a step, {waiting:.2f} ms of waiting before it."
        )
        lines = [steps, self.diagnosis(), self.time_breakdown()]
        if self.sink is not None:
            lines.append(f"Transfer to the device: {self.sink}")
        if self.pipeline is not None:
            lines += ["", str(self.pipeline)]
        return "\n".join(lines)

    __repr__ = __str__
