"""Gradient functions as steps that Graph mode can capture."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from millrace._src.core.stable_ids import stable_id
from millrace._src.runtime.tensor.backend import execution_mode as modes

__all__ = ["GraphStep", "as_graph_step"]


@stable_id("autograd.Step")
class GraphStep:
    """A callable with the interface of the function. Graph mode captures it from its second call on, since
    many such objects are called once only.
    """

    def __init__(self, fn: Any, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.__qualname__ = f"grad of {getattr(fn, '__qualname__', type(fn).__name__)}"
        self._fn, self._function, self._called = fn, function, False

    def capture_key(self) -> Any:
        """What a capture depends on: the Cell, or the function and the Cells that it uses."""
        key = getattr(self._fn, "capture_key", None)
        return modes.function_capture_key(self._fn) if key is None else key()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._called:
            self._called = True
            return self._function(*args, **kwargs)
        return modes.run_step(self, self._function, args, kwargs)


def as_graph_step(fn: Any, function: Callable[..., Any]) -> GraphStep:
    return GraphStep(fn, function)
