"""What autotune did to a run: a record that reports read. Nothing here decides anything."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["AutotuneParameter", "AutotuneTrial", "AutotuneRecord"]


@dataclasses.dataclass
class AutotuneParameter:
    """One number that may be tuned: whose it is, what it counts, as it was and as it is."""

    stage: str
    where: str
    # workers, chunk (rows that travel together), ahead (chunks or batches that are ready), ring
    knob: str
    before: int
    now: int

    @property
    def changed(self) -> bool:
        return self.now != self.before


@dataclasses.dataclass(frozen=True)
class AutotuneTrial:
    """One attempt: what was changed, the rows per second before and after it, and whether it stayed."""

    step: int
    why: str
    # (stage, knob, from, to)
    changes: tuple[tuple[str, str, int, int], ...]
    before: float
    after: float
    kept: bool


@dataclasses.dataclass
class AutotuneRecord:
    """Everything about the tuning of one run. Rates are rows per second."""

    settings: list[AutotuneParameter] = dataclasses.field(default_factory=list)
    tried: list[AutotuneTrial] = dataclasses.field(default_factory=list)
    # the rate that was measured first, and last
    first_rate: float = 0.0
    rate: float = 0.0
    # steps until nothing was left to try; None while it goes on
    settled_at: int | None = None
    # the file that the numbers came from, and the one they were written to
    loaded: str = ""
    saved: str = ""

    @property
    def gain(self) -> float:
        """How many times as fast as in the beginning.

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
