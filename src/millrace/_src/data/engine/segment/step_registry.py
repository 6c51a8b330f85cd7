"""Registry from row-wise plan nodes to the steps that run them inside a segment.

The file of a step registers its node type: ``@register_step(Node)`` above the function or class that creates the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from millrace._src.core.errors import PlanError
from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.node import Node

from .failures import RowErrors

__all__ = ["SegmentStep", "make_step", "register_step"]


class SegmentStep(Protocol):
    """The step of a segment for one op: a chunk in, a chunk out; pure, thread-safe, picklable."""

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk: ...

    def close(self) -> None: ...


# (node, seed, settings, aligned: chunks are aligned with batches)
StepFactory = Callable[[Any, int, Settings, bool], SegmentStep]
M = TypeVar("M", bound=StepFactory)

_STEPS: dict[type[Node], StepFactory] = {}


def register_step(node_type: type[Node]) -> Callable[[M], M]:
    """Register a function that creates the step for this node type."""

    def enter(make: M) -> M:
        _STEPS[node_type] = make
        return make

    return enter


def make_step(node: Node, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    make = _STEPS.get(type(node))
    if make is None:
        raise PlanError(
            f"{node.label} is not a row-wise op: no step is registered for it with @register_step"
        )
    return make(node, seed, settings, aligned)
