"""Loops and choices as operations. Python runs them; a recording holds what their bodies did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.ops.declare.primitive import Primitive

__all__ = ["ForiLoop", "Scan", "WhileLoop", "switch", "switch_layer"]


def _function(value: Any, name: str, owner: str) -> Callable[..., Any]:
    if not callable(value):
        raise ArgumentTypeError(
            f"For '{owner}', '{name}' must be a function, but got {type(value).__name__}."
        )
    found: Callable[..., Any] = value
    return found


@public("ops")
class ForiLoop(Primitive):
    """Calls ``loop_func(i, value)`` for each i from lower to upper, each time with what the last call gave.

    >>> ForiLoop()(0, 4, lambda i, total: total + i, 1)
    7
    """

    def __init__(self) -> None:
        super().__init__("ForiLoop")

    def __call__(self, lower: int, upper: int, loop_func: Any, init_val: Any, unroll: bool = True) -> Any:
        body = _function(loop_func, "loop_func", self.name)
        for index in range(int(lower), int(upper)):
            init_val = body(index, init_val)
        return init_val


@public("ops")
class WhileLoop(Primitive):
    """Calls ``loop_func(value)`` as long as ``cond_func(value)`` holds, each time with what the last call gave.

    >>> WhileLoop()(lambda x: x < 10, lambda x: x * 2, 1)
    16
    """

    def __init__(self) -> None:
        super().__init__("WhileLoop")

    def __call__(self, cond_func: Any, loop_func: Any, init_val: Any) -> Any:
        goes_on, body = (
            _function(cond_func, "cond_func", self.name),
            _function(loop_func, "loop_func", self.name),
        )
        while goes_on(init_val):
            init_val = body(init_val)
        return init_val


@public("ops")
class Scan(Primitive):
    """Calls ``loop_func(carried, x)`` for each of `xs`, or `length` times; gives what is carried, and all results.

    >>> Scan()(lambda total, x: (total + x, total), 0, [1, 2, 3])
    (6, [0, 1, 3])
    """

    def __init__(self) -> None:
        super().__init__("Scan")

    def __call__(
        self, loop_func: Any, init: Any, xs: Any, length: int | None = None, unroll: bool = True
    ) -> Any:
        body = _function(loop_func, "loop_func", self.name)
        if xs is None and length is None:
            raise ArgumentValueError("For 'Scan', 'length' says how many times where 'xs' is None.")
        made = []
        for x in [None] * (length or 0) if xs is None else xs:
            step = body(init, x)
            if not isinstance(step, tuple) or len(step) != 2:
                raise ArgumentTypeError(
                    f"For 'Scan', 'loop_func' must give what is carried and a result, but gave {step!r}."
                )
            init = step[0]
            made.append(step[1])
        return init, made


@public("ops")
def switch(cond: Any, true_branch: Any, false_branch: Any) -> Any:
    """The first of two values where a condition holds, else the second."""
    return true_branch if cond else false_branch


@public("ops")
def switch_layer(index: Any, layers: Any) -> Any:
    """One of several functions, by number."""
    return layers[int(index)]
