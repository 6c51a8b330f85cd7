"""What holds for the whole process: ``from millrace import context; context.set_context(mode=context.GRAPH_MODE)``."""

from __future__ import annotations

from millrace.tensor.context import (
    COMPATIBLE,
    GRAPH_MODE,
    LAX,
    PYNATIVE_MODE,
    STRICT,
    get_context,
    set_context,
)

__all__ = ["COMPATIBLE", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "STRICT", "get_context", "set_context"]
