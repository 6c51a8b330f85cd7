"""``schedule``: selects the profiled steps of a training."""

from __future__ import annotations

from typing import Any

from millrace._src.core.log import warn_once
from millrace._src.core.public import public

from .options import ProfilerAction

__all__ = ["schedule"]


@public("profiler")
class schedule:
    """Cycles of steps: `wait` are skipped, `warmup` are not recorded, `active` are recorded; `repeat` cycles (0:
    forever).

    `skip_first` steps are skipped before the first cycle.

    >>> plan = schedule(wait=1, warmup=0, active=2, repeat=1)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """

    def __init__(
        self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0
    ) -> None:
        self.wait, self.active = _clamp_min(wait, 0, "wait"), _clamp_min(active, 1, "active")
        self.warmup, self.repeat = _clamp_min(warmup, 0, "warmup"), _clamp_min(repeat, 0, "repeat")
        self.skip_first = _clamp_min(skip_first, 0, "skip_first")

    def __call__(self, step: int) -> ProfilerAction:
        step -= self.skip_first
        whole = self.wait + self.warmup + self.active
        if step < 0 or (self.repeat and step // whole >= self.repeat):
            return ProfilerAction.NONE
        phase = step % whole
        if phase < self.wait:
            return ProfilerAction.NONE
        if phase < self.wait + self.warmup:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD_AND_SAVE if phase == whole - 1 else ProfilerAction.RECORD

    def to_dict(self) -> dict[str, int]:
        """The settings as a dict."""
        return {
            "wait": self.wait, "active": self.active, "warmup": self.warmup, "repeat": self.repeat,
            "skip_first": self.skip_first,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"Schedule({', '.join(f'{name}={value}' for name, value in self.to_dict().items())})"


def _clamp_min(value: Any, least: int, name: str) -> int:
    """Check an integer; invalid or too small values become the minimum, as in MindSpore, with a warning."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    warn_once(
        f"schedule-{name}",
        f"schedule: '{name}' must be an int of at least {least}, but got {value!r}; taken as {least}",
    )
    return least
