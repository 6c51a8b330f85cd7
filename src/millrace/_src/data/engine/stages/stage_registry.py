"""Where a node meets the stage that runs it: one table.

The file of a stage says which node it is for: ``@stage_for(Node)`` above the function that makes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import PlanError
from millrace._src.core.settings import Settings
from millrace._src.core.statistics import StageStats
from millrace._src.data.engine.thread_limits import Bytes
from millrace._src.data.plan.node import INFINITE, UNKNOWN, Node, size_of

from .base import Stage, State
from .row_error_handler import Mender

__all__ = ["Making", "make_stage", "stage_for"]


@dataclasses.dataclass(frozen=True)
class Making:
    """What a stage is made from: its node, the stages below it, and what all stages of a run share."""

    node: Any
    ups: list[Stage]
    stats: StageStats
    epochs: int | None
    seed: int
    settings: Settings
    budget: Bytes
    # what becomes of rows that fail in this op, for a stage that begins at this position
    mender: Callable[[State], Mender]
    # the stages below this one
    below: list[StageStats]
    # a plan of its own for a dataset that appears while running (flat_map)
    inner: Callable[[Node, int], Stage]

    @property
    def up(self) -> Stage:
        return self.ups[0]

    def rows_of(self, node: Node) -> int | None:
        """Rows of an epoch of this node, where that is known without running and none can get lost."""
        rows = UNKNOWN if self.settings.error_samples_mode == "skip" else size_of(node)
        return None if rows is UNKNOWN or rows == INFINITE else int(rows)


StageMaker = Callable[[Making], Stage]

_STAGES: dict[type[Node], StageMaker] = {}


def stage_for(kind: type[Node]) -> Callable[[StageMaker], StageMaker]:
    """Enter a function into the table: it makes the stage of this type of node."""

    def enter(make: StageMaker) -> StageMaker:
        _STAGES[kind] = make
        return make

    return enter


def make_stage(making: Making) -> Stage:
    kind = type(making.node)
    make = _STAGES.get(kind)
    if make is None:
        raise PlanError(f"no stage for {making.node.label}: none is entered for it with @stage_for")
    return make(making)
