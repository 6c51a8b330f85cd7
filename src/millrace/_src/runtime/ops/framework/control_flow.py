"""Control flow operations: ForiLoop, WhileLoop, Scan, switch. Python runs them; a capture holds the operations of
their bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.ops.declare.primitive import Primitive

__all__ = ["ForiLoop", "Scan", "WhileLoop", "switch", "switch_layer"]


def _check_callable(value: Any, name: str, owner: str) -> Callable[..., Any]:
    if not callable(value):
        raise ArgumentTypeError(
            f"For '{owner}', '{name}' must be a function, but got {type(value).__name__}."
        )
    function: Callable[..., Any] = value
    return function


@public("ops")
class ForiLoop(Primitive):
    """Call ``loop_func(i, value)`` for each i from lower to upper, each time with the result of the last call.

    >>> ForiLoop()(0, 4, lambda i, total: total + i, 1)
    7
    """

    def __init__(self) -> None:
        super().__init__("ForiLoop")

    def __call__(self, lower: int, upper: int, loop_func: Any, init_val: Any, unroll: bool = True) -> Any:
        body = _check_callable(loop_func, "loop_func", self.name)
        for index in range(int(lower), int(upper)):
            init_val = body(index, init_val)
        return init_val


@public("ops")
class WhileLoop(Primitive):
    """Call ``loop_func(value)`` while ``cond_func(value)`` is true, each time with the result of the last call.

    >>> WhileLoop()(lambda x: x < 10, lambda x: x * 2, 1)
    16
    """

    def __init__(self) -> None:
        super().__init__("WhileLoop")

    def __call__(self, cond_func: Any, loop_func: Any, init_val: Any) -> Any:
        goes_on, body = (
            _check_callable(cond_func, "cond_func", self.name),
            _check_callable(loop_func, "loop_func", self.name),
        )
        while goes_on(init_val):
            init_val = body(init_val)
        return init_val


@public("ops")
class Scan(Primitive):
    """Call ``loop_func(carried, x)`` for each of `xs`, or `length` times; returns the carried value and all outputs.

    >>> Scan()(lambda total, x: (total + x, total), 0, [1, 2, 3])
    (6, [0, 1, 3])
    """

    def __init__(self) -> None:
        super().__init__("Scan")

    def __call__(
        self, loop_func: Any, init: Any, xs: Any, length: int | None = None, unroll: bool = True
    ) -> Any:
        body = _check_callable(loop_func, "loop_func", self.name)
        if xs is None and length is None:
            raise ArgumentValueError("For 'Scan', 'length' is required if 'xs' is None.")
        outputs = []
        for x in [None] * (length or 0) if xs is None else xs:
            step = body(init, x)
            if not isinstance(step, tuple) or len(step) != 2:
                raise ArgumentTypeError(
                    f"For 'Scan', 'loop_func' must return the carried value and a result, but returned {step!r}."
                )
            init = step[0]
            outputs.append(step[1])
        return init, outputs


@public("ops")
def switch(cond: Any, true_branch: Any, false_branch: Any) -> Any:
    """First of two values if a condition is true, else the second."""
    return true_branch if cond else false_branch


@public("ops")
def switch_layer(index: Any, layers: Any) -> Any:
    """Select one of several functions by index."""
    return layers[int(index)]
