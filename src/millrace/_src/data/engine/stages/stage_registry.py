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
from millrace._src.data.engine.thread_limits import MemoryBudget
from millrace._src.data.plan.node import INFINITE, UNKNOWN, Node, size_of

from .base import Stage, State
from .row_error_handler import RowErrorHandler

__all__ = ["StageContext", "make_stage", "register_stage"]


@dataclasses.dataclass(frozen=True)
class StageContext:
    """What a stage is made from: its node, the stages below it, and what all stages of a run share."""

    node: Any
    upstreams: list[Stage]
    stats: StageStats
    epochs: int | None
    seed: int
    settings: Settings
    budget: MemoryBudget
    # what becomes of rows that fail in this op, for a stage that begins at this position
    row_error_handler: Callable[[State], RowErrorHandler]
    # the stages below this one
    upstream_stats: list[StageStats]
    # a plan of its own for a dataset that appears while running (flat_map)
    lower_nested: Callable[[Node, int], Stage]

    @property
    def up(self) -> Stage:
        return self.upstreams[0]

    def rows_of(self, node: Node) -> int | None:
        """Rows of an epoch of this node, where that is known without running and none can get lost."""
        rows = UNKNOWN if self.settings.error_samples_mode == "skip" else size_of(node)
        return None if rows is UNKNOWN or rows == INFINITE else int(rows)


StageFactory = Callable[[StageContext], Stage]

_STAGES: dict[type[Node], StageFactory] = {}


def register_stage(node_type: type[Node]) -> Callable[[StageFactory], StageFactory]:
    """Enter a function into the table: it makes the stage of this type of node."""

    def enter(make: StageFactory) -> StageFactory:
        _STAGES[node_type] = make
        return make

    return enter


def make_stage(making: StageContext) -> Stage:
    node_type = type(making.node)
    make = _STAGES.get(node_type)
    if make is None:
        raise PlanError(f"no stage for {making.node.label}: none is entered for it with @stage_for")
    return make(making)
