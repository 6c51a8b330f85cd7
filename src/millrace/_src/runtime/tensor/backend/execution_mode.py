"""Which way the training wing runs, and who is told: one small table that all its rooms may look at.

``grapher`` is what the graph room puts here when it is loaded; grad and nn hand it the calls that a step is made of.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "GraphExecutor", "ThreadState", "thread_state", "differentiating"]

GRAPH_MODE, PYNATIVE_MODE = 0, 1


# The owner of a step says in `capture_key` what its recordings depend on besides the arguments.
GraphExecutor = Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class ThreadState(threading.local):
    """The modes of one thread."""

    # calls that are being differentiated: what runs inside them is part of a larger step
    differentiation_depth = 0
    # a step is being written down
    capturing = False
    # the floating type (PyTorch's) that the Cell computes in which is running, where it was told one
    compute_dtype: Any = None
    # parameters take their values when they are asked for
    defer_initialization = False


thread_state = ThreadState()
# The mode of the process, and who runs graphs.
mode = PYNATIVE_MODE
graph_executor: GraphExecutor | None = None
# A value that leaves for Python while a step is recorded is an error, not a reason to run it plainly.
raise_on_graph_break = False
# Raised whenever something changes that recordings depend on: training flags, kinds of parameters, their storage.
capture_version = 0


def invalidate_captures() -> None:
    """Something changed that every recording may depend on."""
    global capture_version
    capture_version += 1


def set_mode(wanted: int) -> None:
    """Run steps as graphs, or one operation after the other."""
    global mode
    mode = wanted


def set_raise_on_graph_break(wanted: bool) -> None:
    """Whether a value that leaves for Python while a step is recorded is an error."""
    global raise_on_graph_break
    raise_on_graph_break = wanted


@contextmanager
def differentiating() -> Iterator[None]:
    """What runs in here is being differentiated."""
    thread_state.differentiation_depth += 1
    try:
        yield
    finally:
        thread_state.differentiation_depth -= 1


@contextmanager
def raising_on_graph_break(wanted: bool) -> Iterator[None]:
    """In here a value that leaves for Python is an error, or is not."""
    global raise_on_graph_break
    previous, raise_on_graph_break = raise_on_graph_break, wanted
    try:
        yield
    finally:
        raise_on_graph_break = previous


def run_step(owner: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that makes up a whole step: as a graph in graph mode, plainly otherwise."""
    if (
        mode == GRAPH_MODE
        and graph_executor is not None
        and not thread_state.capturing
        and not thread_state.differentiation_depth
    ):
        return graph_executor(owner, function, args, kwargs)
    return function(*args, **kwargs)


def function_capture_key(function: Any, depth: int = 0) -> Any:
    """What a function's result depends on besides its arguments: the cells that its code names, and their state."""
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
            except ValueError:  # not filled yet
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
