"""Text lines about the changes of autotune in a run."""

from __future__ import annotations

import textwrap

from millrace._src.core.tuned import AutotuneParameter, AutotuneRecord

from .formatting import count, format_count, per_second, short_name

__all__ = ["tuning_lines"]

_KNOBS = {"workers": "workers", "chunk": "rows per chunk", "ahead": "ready ahead"}


def tuning_lines(tuning: AutotuneRecord | None, width: int = 80) -> list[str]:
    """A headline, a line for each changed stage, and the files that values were loaded from and saved to.

    >>> from millrace._src.core.tuned import AutotuneParameter, AutotuneRecord
    >>> record = AutotuneRecord(
    ...     [AutotuneParameter("map(f) at /a/b.py:3", "", "workers", 1, 8)],
    ...     first_rate=100.0,
    ...     rate=700.0,
    ...     settled_at=64,
    ... )
    >>> print(*tuning_lines(record), sep="\\n")
    autotune: from 100 to 700 rows/s (7.0x), settled after 64 steps
      map(f) at b.py:3: workers 1 -> 8
    """
    if tuning is None:
        return []
    if not tuning.first_rate:
        head = "autotune: the run is too short to measure yet"
    else:
        gain = f"from {count(tuning.first_rate)} to {per_second(tuning.rate, 'row')} ({tuning.gain:.1f}x)"
        state = (
            "still trying"
            if tuning.settled_at is None
            else f"settled after {format_count(tuning.settled_at, 'step')}"
        )
        head = f"autotune: {gain}, {state}"
    lines = [head]
    stages: dict[str, list[AutotuneParameter]] = {}
    for setting in tuning.changed:
        stages.setdefault(short_name(setting.stage), []).append(setting)
    for stage, settings in stages.items():
        changes = ", ".join(f"{_KNOBS.get(s.knob, s.knob)} {s.before} -> {s.now}" for s in settings)
        lines.append(f"  {stage}: {changes}")
    if tuning.first_rate and not stages:
        lines.append("  nothing had to be changed")
    num_reverted = sum(not tried.kept for tried in tuning.tried)
    if num_reverted:
        lines.append(
            f"  {format_count(num_reverted, 'attempt')} did not gain and "
            f"{'was' if num_reverted == 1 else 'were'} given back"
        )
    if tuning.loaded:
        lines.append(f"  began with the numbers of {tuning.loaded}")
    if tuning.saved:
        lines.append(f"  written to {tuning.saved}")
    return [part for line in lines for part in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(
        line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
