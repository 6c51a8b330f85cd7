"""A step along a direction that is long enough and falls enough (the strong conditions of Wolfe)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.autograd.grad import grad

__all__ = ["LineSearchResult", "line_search"]


class LineSearchResult(NamedTuple):
    """What a line search found: whether it failed, iterations, calls of the function and of its gradient, the step, the
    value and the gradient there."""

    failed: bool
    nit: int
    nfev: int
    ngev: int
    k: int
    a_k: float
    f_k: float
    g_k: Tensor
    status: int


class _LineFunction:
    """A function along a line, its calls counted."""

    def __init__(self, f: Callable[..., Any], slope: Callable[..., Any], start: Any, direction: Any) -> None:
        self.f, self.slope, self.start, self.direction = f, slope, start, direction
        self.calls = self.slopes = 0
        self.gradient: Any = direction

    def __call__(self, step: float) -> tuple[float, float]:
        """The value and the slope at a step."""
        at = self.start + self.direction * step
        self.calls += 1
        self.slopes += 1
        self.gradient = self.slope(at)
        return float(self.f(at).asnumpy()), float((self.gradient * self.direction).sum().asnumpy())


def _cubic_minimizer(low: Any, high: Any) -> float:
    """Where the cubic through two points with their slopes is least; the middle where that is near an end."""
    (a, fa, da), (b, fb, db) = low, high
    width = b - a
    if width:
        bend = da + db - 3 * (fb - fa) / width
        root = bend * bend - da * db
        if root >= 0:
            root = root**0.5 * (1 if width > 0 else -1)
            below = db - da + 2 * root
            if below:
                at = b - width * (db + root - bend) / below
                least, most = min(a, b), max(a, b)
                if least + 0.1 * (most - least) <= at <= most - 0.1 * (most - least):
                    return float(at)
    return float((a + b) / 2)


@public("scipy.optimize")
def line_search(
    f: Callable[..., Any],
    xk: Tensor,
    pk: Tensor,
    jac: Callable[..., Any] | None = None,
    gfk: Tensor | None = None,
    old_fval: Any = None,
    old_old_fval: Any = None,
    c1: float = 1e-4,
    c2: float = 0.9,
    maxiter: int = 20,
) -> LineSearchResult:
    """A step from `xk` along `pk` after which the value is lower by `c1` of what the slope promises, and the slope has
    fallen to `c2` of what it was.

    >>> found = line_search(lambda x: (x * x).sum(), Tensor([1.0, 1.0]), Tensor([-1.0, -1.0]))
    >>> found.a_k, found.failed
    (1.0, False)
    """
    for name, given in (("xk", xk), ("pk", pk)):
        if not isinstance(given, Tensor):
            raise ArgumentTypeError(f"For 'line_search', '{name}' must be a Tensor, but got {given!r}.")
    slope = grad(f) if jac is None else jac
    along = _LineFunction(f, slope, xk, pk)
    along.calls, along.slopes = int(old_fval is None), int(gfk is None)
    value = _number(f(xk) if old_fval is None else old_fval)
    gradient: Any = slope(xk) if gfk is None else gfk
    fall = float((gradient * pk).sum().asnumpy())
    start: Any = (0.0, value, fall)
    before = start
    step, status = 1.0, 1
    here: Any = (step, *along(step))
    for turn in range(1, maxiter + 1):
        at, height, now = here
        if height > value + c1 * at * fall or (turn > 1 and height >= before[1]):
            return _zoom(along, start, before, here, c1, c2, turn, maxiter)
        if abs(now) <= -c2 * fall:
            return LineSearchResult(
                False, turn, along.calls, along.slopes, turn + 1, at, height, along.gradient, 0
            )
        if now >= 0:
            return _zoom(along, start, here, before, c1, c2, turn, maxiter)
        before = here
        step *= 2
        here = (step, *along(step))
    return LineSearchResult(
        True, maxiter, along.calls, along.slopes, maxiter, here[0], here[1], along.gradient, status
    )


def _number(value: Any) -> float:
    return float(value.asnumpy()) if isinstance(value, Tensor) else float(value)


def _zoom(
    along: _LineFunction, start: Any, low: Any, high: Any, c1: float, c2: float, turn: int, maxiter: int
) -> LineSearchResult:
    """The search between a low point and another, one of whose sides holds a step that will do."""
    _, value, fall = start
    for more in range(maxiter):
        step = _cubic_minimizer(low, high)
        height, now = along(step)
        here = (step, height, now)
        if height > value + c1 * step * fall or height >= low[1]:
            high = here
        else:
            if abs(now) <= -c2 * fall:
                return LineSearchResult(
                    False,
                    turn + more,
                    along.calls,
                    along.slopes,
                    turn + more + 1,
                    step,
                    height,
                    along.gradient,
                    0,
                )
            if now * (high[0] - low[0]) >= 0:
                high = low
            low = here
        if abs(high[0] - low[0]) < 1e-12:
            break
    height, _ = along(low[0])
    enough = height <= value + c1 * low[0] * fall and low[0] > 0
    return LineSearchResult(
        not enough,
        turn + maxiter,
        along.calls,
        along.slopes,
        turn,
        low[0],
        height,
        along.gradient,
        int(not enough),
    )
