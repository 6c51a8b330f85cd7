"""Series of counters over consecutive runs: pipelines with an iterator per epoch, trainings in a loop.

A pipeline that starts after an equal one has ended continues its series and its counters, so that a program that
creates an iterator for each epoch has one curve and not a hundred.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable
from typing import Any

__all__ = ["MOST", "Series", "SeriesRegistry"]

Numbers = dict[str, Any]

# The maximum number of series, so that a program with many different pipelines does not fill the disk.
MOST = 64


class Series:
    """A numbered series: its accumulated counters and the object that currently counts."""

    def __init__(self, number: int, key: Hashable) -> None:
        self.number, self.key = number, key
        self.description: Any = None
        self._base: Numbers = {}
        self._now: Numbers = {}
        self._who: weakref.ref[Any] | None = None

    @property
    def free(self) -> bool:
        return self._who is None or self._who() is None

    def is_of(self, who: Any) -> bool:
        return self._who is not None and self._who() is who

    def begin(self, who: Any) -> None:
        self.finish()
        self._who = weakref.ref(who)

    def counted(self, now: Numbers) -> Numbers:
        """The sum of these counters and those of all earlier runs."""
        self._now = now
        return {name: _sum(value, self._base.get(name)) for name, value in now.items()}

    def finish(self) -> None:
        """End the current run: add its counters to the sum."""
        self._base = self.counted(self._now) if self._now else self._base
        self._now, self._who = {}, None


def _sum(value: Any, base: Any) -> Any:
    if base is None:
        return value
    if isinstance(value, list):
        return [_sum(a, b) for a, b in zip(value, base, strict=True)] if len(value) == len(base) else value
    return value + base


class SeriesRegistry:
    """All series of one type."""

    def __init__(self) -> None:
        self._all: list[Series] = []
        self._of: weakref.WeakKeyDictionary[Any, Series] = weakref.WeakKeyDictionary()

    def of(self, who: Any, key: Hashable, *, begins: bool = True) -> Series | None:
        """The series of an object: its current one, a free one, or a new one; None if it has ended, or at the limit."""
        track = self._of.get(who)
        if track is not None:
            return track if track.is_of(who) else None
        if not begins:
            return None
        track = next((one for one in self._all if one.key == key and one.free), None)
        if track is None:
            if len(self._all) >= MOST:
                return None
            track = Series(len(self._all) + 1, key)
            self._all.append(track)
        track.begin(who)
        self._of[who] = track
        return track

    def keep(self, those: Iterable[Any]) -> None:
        """Free the series of all other objects."""
        kept = {id(self._of[who]) for who in those if who in self._of}
        for track in self._all:
            if id(track) not in kept and not track.free:
                track.finish()
