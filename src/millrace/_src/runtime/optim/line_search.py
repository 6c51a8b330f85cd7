"""Line search with the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.autograd.grad import grad

__all__ = ["LineSearchResult", "line_search"]


class LineSearchResult(NamedTuple):
    """Result of a line search: whether it failed, iterations, numbers of function and gradient calls, the
    step, and the value and the gradient there.
    """

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
    """A function along a line, with call counters."""

    def __init__(self, f: Callable[..., Any], slope: Callable[..., Any], start: Any, direction: Any) -> None:
        self.f, self.slope, self.start, self.direction = f, slope, start, direction
        self.calls = self.slopes = 0
        self.gradient: Any = direction

    def __call__(self, step: float) -> tuple[float, float]:
        """The value and the slope at a step."""
        point = self.start + self.direction * step
        self.calls += 1
        self.slopes += 1
        self.gradient = self.slope(point)
        return float(self.f(point).asnumpy()), float((self.gradient * self.direction).sum().asnumpy())


def _cubic_minimizer(low: Any, high: Any) -> float:
    """The minimizer of the cubic through two points with their slopes; the midpoint if it is near an end."""
    (a, fa, da), (b, fb, db) = low, high
    width = b - a
    if width:
        curvature = da + db - 3 * (fb - fa) / width
        root = curvature * curvature - da * db
        if root >= 0:
            root = root**0.5 * (1 if width > 0 else -1)
            denominator = db - da + 2 * root
            if denominator:
                minimizer = b - width * (db + root - curvature) / denominator
                least, most = min(a, b), max(a, b)
                if least + 0.1 * (most - least) <= minimizer <= most - 0.1 * (most - least):
                    return float(minimizer)
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
    """Find a step from `xk` along `pk` that satisfies the strong Wolfe conditions: sufficient decrease with
    `c1`, curvature with `c2`.

    >>> found = line_search(lambda x: (x * x).sum(), Tensor([1.0, 1.0]), Tensor([-1.0, -1.0]))
    >>> found.a_k, found.failed
    (1.0, False)
    """
    for name, argument in (("xk", xk), ("pk", pk)):
        if not isinstance(argument, Tensor):
            raise ArgumentTypeError(f"For 'line_search', '{name}' must be a Tensor, but got {argument!r}.")
    slope = grad(f) if jac is None else jac
    line_function = _LineFunction(f, slope, xk, pk)
    line_function.calls, line_function.slopes = int(old_fval is None), int(gfk is None)
    value = _number(f(xk) if old_fval is None else old_fval)
    gradient: Any = slope(xk) if gfk is None else gfk
    initial_slope = float((gradient * pk).sum().asnumpy())
    start: Any = (0.0, value, initial_slope)
    previous = start
    step, status = 1.0, 1
    current: Any = (step, *line_function(step))
    for iteration in range(1, maxiter + 1):
        point_step, current_value, current_slope = current
        if current_value > value + c1 * point_step * initial_slope or (
            iteration > 1 and current_value >= previous[1]
        ):
            return _zoom(line_function, start, previous, current, c1, c2, iteration, maxiter)
        if abs(current_slope) <= -c2 * initial_slope:
            return LineSearchResult(
                False,
                iteration,
                line_function.calls,
                line_function.slopes,
                iteration + 1,
                point_step,
                current_value,
                line_function.gradient,
                0,
            )
        if current_slope >= 0:
            return _zoom(line_function, start, current, previous, c1, c2, iteration, maxiter)
        previous = current
        step *= 2
        current = (step, *line_function(step))
    return LineSearchResult(
        True,
        maxiter,
        line_function.calls,
        line_function.slopes,
        maxiter,
        current[0],
        current[1],
        line_function.gradient,
        status,
    )


def _number(value: Any) -> float:
    return float(value.asnumpy()) if isinstance(value, Tensor) else float(value)


def _zoom(
    line_function: _LineFunction,
    start: Any,
    low: Any,
    high: Any,
    c1: float,
    c2: float,
    bracket_iterations: int,
    maxiter: int,
) -> LineSearchResult:
    """The zoom phase: search between two points that bracket an acceptable step."""
    _, value, initial_slope = start
    for iteration in range(maxiter):
        step = _cubic_minimizer(low, high)
        current_value, current_slope = line_function(step)
        current = (step, current_value, current_slope)
        if current_value > value + c1 * step * initial_slope or current_value >= low[1]:
            high = current
        else:
            if abs(current_slope) <= -c2 * initial_slope:
                return LineSearchResult(
                    False,
                    bracket_iterations + iteration,
                    line_function.calls,
                    line_function.slopes,
                    bracket_iterations + iteration + 1,
                    step,
                    current_value,
                    line_function.gradient,
                    0,
                )
            if current_slope * (high[0] - low[0]) >= 0:
                high = low
            low = current
        if abs(high[0] - low[0]) < 1e-12:
            break
    current_value, _ = line_function(low[0])
    succeeded = current_value <= value + c1 * low[0] * initial_slope and low[0] > 0
    return LineSearchResult(
        not succeeded,
        bracket_iterations + maxiter,
        line_function.calls,
        line_function.slopes,
        bracket_iterations,
        low[0],
        current_value,
        line_function.gradient,
        int(not succeeded),
    )
