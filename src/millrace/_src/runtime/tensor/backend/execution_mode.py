"""Execution mode and per-thread state of the runtime.

``graph_executor`` is set when the `graph` package is loaded; autograd and nn pass it the calls that form a
step.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from millrace._src.core.public import export_names

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "GraphExecutor", "ThreadState", "thread_state", "differentiating"]

GRAPH_MODE, PYNATIVE_MODE = 0, 1


# `capture_key` of the owner is what its captures depend on besides the arguments.
GraphExecutor = Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class ThreadState(threading.local):
    """The modes of one thread."""

    # nesting depth of differentiated calls; operations inside them are part of a larger step
    differentiation_depth = 0
    # a step is being captured
    capturing = False
    # the floating dtype (PyTorch's) of the running Cell, if one is set
    compute_dtype: Any = None
    # parameters are initialized on first use
    defer_initialization = False


thread_state = ThreadState()
# The execution mode of the process, and the function that runs graphs.
mode = PYNATIVE_MODE
graph_executor: GraphExecutor | None = None
# Whether a graph break (Python reads a tensor's value during capture) is an error instead of a fallback.
raise_on_graph_break = False
# Incremented whenever something changes that captures depend on: training flags, parameter types, their storage.
capture_version = 0


def invalidate_captures() -> None:
    """Mark that something changed that every capture may depend on."""
    global capture_version
    capture_version += 1


def set_mode(wanted: int) -> None:
    """Set the execution mode: Graph mode or operation by operation."""
    global mode
    mode = wanted


def set_raise_on_graph_break(wanted: bool) -> None:
    """Set whether a graph break is an error."""
    global raise_on_graph_break
    raise_on_graph_break = wanted


@contextmanager
def differentiating() -> Iterator[None]:
    """Mark that the code inside the block is being differentiated."""
    thread_state.differentiation_depth += 1
    try:
        yield
    finally:
        thread_state.differentiation_depth -= 1


@contextmanager
def raising_on_graph_break(wanted: bool) -> Iterator[None]:
    """Set inside the block whether a graph break is an error."""
    global raise_on_graph_break
    previous, raise_on_graph_break = raise_on_graph_break, wanted
    try:
        yield
    finally:
        raise_on_graph_break = previous


def run_step(owner: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that is a whole step: as a graph in Graph mode, else directly."""
    if mode == GRAPH_MODE and not thread_state.capturing and not thread_state.differentiation_depth:
        if graph_executor is None:
            # sets the executor; the package is above this one and is loaded with the first step that needs it
            importlib.import_module("millrace._src.runtime.graph.replay")
        assert graph_executor is not None
        return graph_executor(owner, function, args, kwargs)
    return function(*args, **kwargs)


def function_capture_key(function: Any, depth: int = 0) -> Any:
    """What a function's result depends on besides its arguments: the Cells that its code names, and their
    state.
    """
    function = getattr(function, "__wrapped__", function)
    owner = getattr(function, "__self__", None)
    keys = [_capture_key_of(owner)] if owner is not None else []
    code = getattr(function, "__code__", None)
    if code is None or depth > 3:
        return tuple(keys)
    cells = getattr(function, "__closure__", None) or ()
    bound = dict(zip(code.co_freevars, cells, strict=False))
    scope = getattr(function, "__globals__", {})
    for name in (*code.co_freevars, *code.co_names):
        value: Any = None
        if name in bound:
            try:
                value = bound[name].cell_contents
            except ValueError:  # the closure cell is still empty
                continue
        elif name in scope:
            value = scope[name]
        if hasattr(value, "capture_key"):
            keys.append(_capture_key_of(value))
        elif hasattr(value, "__code__") and value is not function:
            keys.append(function_capture_key(value, depth + 1))
    return tuple(keys)


def _capture_key_of(value: Any) -> Any:
    get_key = getattr(value, "capture_key", None)
    return None if get_key is None else get_key()


export_names(__name__, "millrace", "GRAPH_MODE", "PYNATIVE_MODE")
export_names(__name__, "context", "GRAPH_MODE", "PYNATIVE_MODE")
