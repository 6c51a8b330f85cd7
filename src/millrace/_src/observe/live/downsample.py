"""Downsample the event log of a long run: keep all recent points, and enough older ones for a chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["series_of", "downsample"]

# Seconds at the end with all points, and the number of points for everything before.
RECENT, ACROSS = 120.0, 400
# The number of diagnoses to keep, the last ones.
MOST_VERDICTS = 100

Line = dict[str, Any]


def series_of(line: Line) -> str | None:
    """The curve that a point belongs to; None for other lines."""
    return _curve_name(line) if line.get("is") == "point" else None


def _curve_name(line: Line) -> str:
    return next(
        (f"{curve} {line[curve]}" for curve in ("pipeline", "channel", "training") if curve in line), ""
    )


def downsample(lines: list[Line], most: int, size: Callable[[list[Line]], int]) -> list[Line]:
    """Downsample until the lines have at most ``most`` bytes.

    >>> points = [{"is": "point", "t": t, "pipeline": 1, "rows": t} for t in range(10_000)]
    >>> kept = downsample(points, 10**6, lambda lines: len(str(lines)))
    >>> len(kept) < 600, kept[0]["t"], kept[-1]["t"]
    (True, 0, 9999)
    """
    recent, across = RECENT, ACROSS
    while True:
        kept = _select_lines(lines, recent, across)
        if size(kept) <= most or across <= 8:
            return kept
        recent, across = recent / 2, across // 2


def _select_lines(lines: list[Line], recent: float, across: int) -> list[Line]:
    now = max((_time(line) for line in lines), default=0.0)
    apart = now / across
    last: dict[str, float] = {}
    # keep the last point of each curve
    ends = {series: number for number, line in enumerate(lines) if (series := series_of(line)) is not None}
    # of repeated lines keep the last one; of diagnoses several
    topics = {
        number: (line.get("is"), _curve_name(line))
        for number, line in enumerate(lines)
        if not series_of(line)
    }
    standing = set({topic: number for number, topic in topics.items()}.values())
    verdicts = [number for number, (event_type, _) in topics.items() if event_type == "verdict"]
    standing.update(verdicts[-MOST_VERDICTS:])
    selected = []
    for number, line in enumerate(lines):
        series = series_of(line)
        if series is None:
            if number in standing:
                selected.append(line)
            continue
        time = _time(line)
        if time > now - recent or time - last.get(series, -1e9) >= apart or ends[series] == number:
            last[series] = time
            selected.append(line)
    return selected


def _time(line: Line) -> float:
    at = line.get("t", 0.0)
    return float(at) if isinstance(at, (int, float)) else 0.0
