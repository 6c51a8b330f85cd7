"""Record of autotune decisions in a run, which reports read."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["AutotuneParameter", "AutotuneTrial", "AutotuneRecord"]


@dataclasses.dataclass
class AutotuneParameter:
    """One tunable parameter of a stage: its value before, and now."""

    stage: str
    where: str
    # workers, chunk (rows per chunk), ahead (prefetched chunks or batches), ring
    knob: str
    before: int
    now: int

    @property
    def changed(self) -> bool:
        return self.now != self.before


@dataclasses.dataclass(frozen=True)
class AutotuneTrial:
    """One trial: the changes, the rows per second before and after, and whether they were kept."""

    step: int
    why: str
    # (stage, knob, from, to)
    changes: tuple[tuple[str, str, int, int], ...]
    before: float
    after: float
    kept: bool


@dataclasses.dataclass
class AutotuneRecord:
    """The parameters and trials of one run. Rates are rows per second."""

    settings: list[AutotuneParameter] = dataclasses.field(default_factory=list)
    tried: list[AutotuneTrial] = dataclasses.field(default_factory=list)
    # the first and the last measured rate
    first_rate: float = 0.0
    rate: float = 0.0
    # steps until all trials were finished; None while autotune is running
    settled_at: int | None = None
    # the file that the values were loaded from, and the one they were saved to
    loaded: str = ""
    saved: str = ""

    @property
    def gain(self) -> float:
        """The speedup over the first measured rate.

        >>> AutotuneRecord(first_rate=100.0, rate=250.0).gain
        2.5
        """
        return self.rate / self.first_rate if self.first_rate else 1.0

    @property
    def changed(self) -> list[AutotuneParameter]:
        return [setting for setting in self.settings if setting.changed]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values.

        >>> AutotuneRecord().to_dict()["gain"]
        1.0
        """
        return {**dataclasses.asdict(self), "gain": self.gain}
