"""Where a function of one tensor is least: the methods of Broyden, Fletcher, Goldfarb and Shanno."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.autograd.grad import grad
from millrace._src.runtime.ops.array.creation import eye
from millrace._src.runtime.ops.linalg.matmul import matmul, outer

from .line_search import line_search

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """Where the search ended, whether it got there and the reason (0: the gradient is small, 1: too many iterations,
    3: no step fell), the value, the gradient and the inverse of the curvature there, and how many calls it took."""

    x: Tensor
    success: bool
    status: int
    fun: float
    jac: Tensor
    hess_inv: Tensor | None
    nfev: int
    njev: int
    nit: int


class _BFGSInverseHessian:
    """The inverse of the curvature as a matrix (BFGS)."""

    def __init__(self, like: Tensor) -> None:
        self.matrix = eye(like.size, like.size, like.dtype)

    def direction(self, gradient: Any) -> Any:
        return -matmul(self.matrix, gradient)

    def update(self, step: Any, change: Any) -> None:
        """The change of the gradient over a step."""
        weight = 1 / (step * change).sum()
        left = eye(step.size, step.size, step.dtype) - outer(step, change) * weight
        self.matrix = matmul(matmul(left, self.matrix), left.T) + outer(step, step) * weight


class _LBFGSInverseHessian:
    """The inverse of the curvature as the last steps and changes (L-BFGS)."""

    matrix = None

    def __init__(self, count: int) -> None:
        self.held: deque[tuple[Any, Any]] = deque(maxlen=count)

    def direction(self, gradient: Any) -> Any:
        q, shares = gradient, []
        for step, change in reversed(self.held):
            share = (step * q).sum() / (step * change).sum()
            q = q - change * share
            shares.append(share)
        if self.held:
            step, change = self.held[-1]
            q = q * ((step * change).sum() / (change * change).sum())
        for (step, change), share in zip(self.held, reversed(shares), strict=True):
            q = q + step * (share - (change * q).sum() / (step * change).sum())
        return -q

    def learn(self, step: Any, change: Any) -> None:
        self.held.append((step, change))


@public("scipy.optimize")
def minimize(
    func: Callable[..., Any],
    x0: Tensor,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    jac: Callable[..., Any] | None = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Any = None,
    options: dict[str, Any] | None = None,
) -> OptimizeResults:
    """Where ``func(x, *args)``, a Tensor without axes, is least, searched from `x0`, a vector. `method` is "BFGS", or
    "LBFGS" where x is long. Options: "maxiter", "gtol" (how small the gradient must be), "norm" (which norm of it), and
    "line_search_maxiter"; for LBFGS "maxcor" (how many steps it remembers) and "maxls" in its place.

    >>> found = minimize(lambda x: ((x - 3) ** 2).sum(), Tensor([1.0, 2.0]), method="BFGS")
    >>> found.x.asnumpy().round(4).tolist(), found.success
    ([3.0, 3.0], True)
    """
    if method is None:
        raise ArgumentValueError("You must specify a solver.")
    if method.lower() == "lagrange":
        raise ArgumentValueError("The method LAGRANGE is not here: add what constrains x to the function.")
    if method.lower() not in ("bfgs", "lbfgs"):
        raise ArgumentValueError(f"Method {method} not recognized")
    if not isinstance(x0, Tensor):
        raise ArgumentTypeError(f"For 'minimize', 'x0' must be a Tensor, but got {x0!r}.")
    if x0.ndim != 1:
        raise ArgumentValueError(f"For 'minimize', 'x0' must have one axis, but got the shape {x0.shape}.")
    wishes = {**(options or {})}
    limited = method.lower() == "lbfgs"
    more = {"maxcor", "ftol", "maxfun", "maxgrad", "maxls"} if limited else {"line_search_maxiter"}
    known = {"maxiter", "gtol", "norm", *more}
    if unknown := sorted(set(wishes) - known):
        raise ArgumentTypeError(
            f"For 'minimize' by {method}, the options are {sorted(known)}, but got {unknown}."
        )

    def value(x: Tensor) -> Tensor:
        return func(x, *args)

    slope = grad(value) if jac is None else (lambda x: jac(x, *args))
    most = wishes.get("maxiter") or x0.size * 200
    least = wishes.get("gtol", 1e-5 if tol is None else tol)
    norm = wishes.get("norm", float("inf"))
    searches = wishes.get("maxls", 20) if limited else wishes.get("line_search_maxiter", 10)
    curve: Any = _LBFGSInverseHessian(wishes.get("maxcor", 10)) if limited else _BFGSInverseHessian(x0)
    x: Any = x0
    height, gradient = float(value(x0).asnumpy()), slope(x0)
    calls, turns, status = 1, 0, 0
    while _size(gradient, norm) > least:
        if turns >= most:
            status = 1
            break
        direction = curve.direction(gradient)
        found = line_search(value, x, direction, slope, gradient, height, maxiter=searches)
        calls += found.nfev
        if found.failed:
            status = 3
            break
        step, change = direction * found.a_k, found.g_k - gradient
        x, height, gradient = x + step, found.f_k, found.g_k
        turns += 1
        if float((step * change).sum().asnumpy()) > 0:
            curve.update(step, change)
    return OptimizeResults(x, status == 0, status, height, gradient, curve.matrix, calls, calls, turns)


def _size(gradient: Any, norm: float) -> float:
    values = gradient.abs()
    if norm == float("inf"):
        return float(values.max().asnumpy())
    return float(((values**norm).sum() ** (1 / norm)).asnumpy())
