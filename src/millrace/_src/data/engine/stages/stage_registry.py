"""Registry from plan nodes to the stages that run them.

The file of a stage registers its node type: ``@register_stage(Node)`` above the function that creates the stage.
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
    """The inputs of a stage factory: node, upstream stages, and what all stages of a run share."""

    node: Any
    upstreams: list[Stage]
    stats: StageStats
    epochs: int | None
    seed: int
    settings: Settings
    budget: MemoryBudget
    # creates the handler of failed rows of this op, for a stage that starts at this position
    row_error_handler: Callable[[State], RowErrorHandler]
    # statistics of the upstream stages
    upstream_stats: list[StageStats]
    # lowers a separate plan for a dataset that is created while running (flat_map)
    lower_nested: Callable[[Node, int], Stage]

    @property
    def upstream(self) -> Stage:
        return self.upstreams[0]

    def rows_of(self, node: Node) -> int | None:
        """Rows per epoch of this node, if known without running and if no row can be skipped."""
        rows = UNKNOWN if self.settings.error_samples_mode == "skip" else size_of(node)
        return None if rows is UNKNOWN or rows == INFINITE else int(rows)


StageFactory = Callable[[StageContext], Stage]

_STAGES: dict[type[Node], StageFactory] = {}


def register_stage(node_type: type[Node]) -> Callable[[StageFactory], StageFactory]:
    """Register a function that creates the stage for this node type."""

    def enter(make: StageFactory) -> StageFactory:
        _STAGES[node_type] = make
        return make

    return enter


def make_stage(context: StageContext) -> Stage:
    node_type = type(context.node)
    make = _STAGES.get(node_type)
    if make is None:
        raise PlanError(f"no stage for {context.node.label}: none is registered with @register_stage")
    return make(context)
