"""``minimize``: BFGS and L-BFGS minimization of a function of one tensor."""

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
    """Result of a minimization: the point, whether it converged and the reason (0: the gradient is small, 1:
    too many iterations, 3: the line search failed), the value, the gradient, the inverse Hessian, and the
    numbers of calls.
    """

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
    """The inverse Hessian as a matrix (BFGS)."""

    def __init__(self, like: Tensor) -> None:
        self.matrix = eye(like.size, like.size, like.dtype)

    def direction(self, gradient: Any) -> Any:
        return -matmul(self.matrix, gradient)

    def update(self, step: Any, change: Any) -> None:
        """Update with the change of the gradient over a step."""
        weight = 1 / (step * change).sum()
        left = eye(step.size, step.size, step.dtype) - outer(step, change) * weight
        self.matrix = matmul(matmul(left, self.matrix), left.T) + outer(step, step) * weight


class _LBFGSInverseHessian:
    """The inverse Hessian as the last steps and gradient changes (L-BFGS)."""

    matrix = None

    def __init__(self, count: int) -> None:
        self.history: deque[tuple[Any, Any]] = deque(maxlen=count)

    def direction(self, gradient: Any) -> Any:
        q, shares = gradient, []
        for step, change in reversed(self.history):
            share = (step * q).sum() / (step * change).sum()
            q = q - change * share
            shares.append(share)
        if self.history:
            step, change = self.history[-1]
            q = q * ((step * change).sum() / (change * change).sum())
        for (step, change), share in zip(self.history, reversed(shares), strict=True):
            q = q + step * (share - (change * q).sum() / (step * change).sum())
        return -q

    def update(self, step: Any, change: Any) -> None:
        self.history.append((step, change))


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
    """Minimize ``func(x, *args)``, a Tensor without axes, starting at `x0`, a vector.

    `method` is "BFGS", or "LBFGS" for long vectors. Options: "maxiter", "gtol" (tolerance of the gradient
    norm), "norm" (order of the norm), and "line_search_maxiter"; for LBFGS "maxcor" (number of stored steps)
    and "maxls" instead.

    >>> found = minimize(lambda x: ((x - 3) ** 2).sum(), Tensor([1.0, 2.0]), method="BFGS")
    >>> found.x.asnumpy().round(4).tolist(), found.success
    ([3.0, 3.0], True)
    """
    if method is None:
        raise ArgumentValueError("You must specify a solver.")
    if method.lower() == "lagrange":
        raise ArgumentValueError(
            "The method LAGRANGE is not supported: add the constraints of x to the function."
        )
    if method.lower() not in ("bfgs", "lbfgs"):
        raise ArgumentValueError(f"Method {method} not recognized")
    if not isinstance(x0, Tensor):
        raise ArgumentTypeError(f"For 'minimize', 'x0' must be a Tensor, but got {x0!r}.")
    if x0.ndim != 1:
        raise ArgumentValueError(f"For 'minimize', 'x0' must have one axis, but got the shape {x0.shape}.")
    settings = {**(options or {})}
    limited = method.lower() == "lbfgs"
    method_options = {"maxcor", "ftol", "maxfun", "maxgrad", "maxls"} if limited else {"line_search_maxiter"}
    known = {"maxiter", "gtol", "norm", *method_options}
    if unknown := sorted(set(settings) - known):
        raise ArgumentTypeError(
            f"For 'minimize' by {method}, the options are {sorted(known)}, but got {unknown}."
        )

    def objective(x: Tensor) -> Tensor:
        return func(x, *args)

    gradient_function = grad(objective) if jac is None else (lambda x: jac(x, *args))
    max_iterations = settings.get("maxiter") or x0.size * 200
    tolerance = settings.get("gtol", 1e-5 if tol is None else tol)
    norm = settings.get("norm", float("inf"))
    max_line_search = settings.get("maxls", 20) if limited else settings.get("line_search_maxiter", 10)
    inverse_hessian: Any = (
        _LBFGSInverseHessian(settings.get("maxcor", 10)) if limited else _BFGSInverseHessian(x0)
    )
    x: Any = x0
    function_value, gradient = float(objective(x0).asnumpy()), gradient_function(x0)
    calls, iterations, status = 1, 0, 0
    while _norm_of(gradient, norm) > tolerance:
        if iterations >= max_iterations:
            status = 1
            break
        direction = inverse_hessian.direction(gradient)
        search = line_search(
            objective, x, direction, gradient_function, gradient, function_value, maxiter=max_line_search
        )
        calls += search.nfev
        if search.failed:
            status = 3
            break
        step, change = direction * search.a_k, search.g_k - gradient
        x, function_value, gradient = x + step, search.f_k, search.g_k
        iterations += 1
        if float((step * change).sum().asnumpy()) > 0:
            inverse_hessian.update(step, change)
    return OptimizeResults(
        x, status == 0, status, function_value, gradient, inverse_hessian.matrix, calls, calls, iterations
    )


def _norm_of(gradient: Any, norm: float) -> float:
    values = gradient.abs()
    if norm == float("inf"):
        return float(values.max().asnumpy())
    return float(((values**norm).sum() ** (1 / norm)).asnumpy())
