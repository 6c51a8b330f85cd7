"""Order steps: permutation and slicing of a source's rows, as arithmetic on row numbers."""

from __future__ import annotations

import dataclasses

__all__ = ["OrderStep", "PermuteStep", "SliceStep", "steps_size"]


@dataclasses.dataclass(frozen=True)
class PermuteStep:
    """An order step: a full random permutation, keyed by the number of the shuffle (or by a fixed key)."""

    op: int
    key: int | None = None


@dataclasses.dataclass(frozen=True)
class SliceStep:
    """An order step: positions [skip, skip + take)."""

    skip: int = 0
    take: int | None = None
    # truncate to a multiple of this many rows (for a batch that drops its remainder)
    multiple: int = 1


OrderStep = PermuteStep | SliceStep


def steps_size(rows: int, steps: tuple[OrderStep, ...]) -> int:
    for step in steps:
        if isinstance(step, SliceStep):
            rows = max(0, rows - step.skip)
            rows = rows if step.take is None else min(rows, step.take)
            rows -= rows % step.multiple
    return rows
