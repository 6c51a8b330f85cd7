"""Mathematical layers: matrix product, inverse, determinant, moments, gamma functions."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array.creation import arange
from millrace._src.runtime.ops.array.reshape import swapaxes
from millrace._src.runtime.ops.linalg.decomposition import det, inverse
from millrace._src.runtime.ops.linalg.matmul import matmul
from millrace._src.runtime.ops.math import special, statistics
from millrace._src.runtime.ops.math.reduction import logsumexp

from .activation import ParameterlessCell
from .argument_types import check_argument_type, check_number
from .cell import Cell

__all__ = [
    "DiGamma",
    "IGamma",
    "LBeta",
    "LGamma",
    "MatDet",
    "MatInverse",
    "MatMul",
    "Moments",
    "Range",
    "ReduceLogSumExp",
]


@public("nn")
class ReduceLogSumExp(Cell):
    """Log-sum-exp along axes."""

    def __init__(self, axis: Any, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis = check_argument_type(axis, "axis", "ReduceLogSumExp", int, list, tuple)
        self.keep_dims = check_argument_type(keep_dims, "keep_dims", "ReduceLogSumExp", bool)

    def construct(self, x: Any) -> Any:
        return logsumexp(x, self.axis, self.keep_dims)


@public("nn")
class Range(Cell):
    """Arithmetic sequence from `start` to `limit` (excluded) with step `delta`; called without arguments.

    >>> Range(1, 8, 3)().tolist()
    [1, 4, 7]
    """

    def __init__(self, start: Any, limit: Any = None, delta: Any = 1) -> None:
        super().__init__()
        for name, value in (("start", start), ("delta", delta)):
            check_number(value, name, "Range")
        if delta == 0:
            raise ArgumentValueError("For 'Range', the 'delta' can not be zero.")
        begin, end = (0, start) if limit is None else (start, check_number(limit, "limit", "Range"))
        whole = all(isinstance(value, int) for value in (begin, end, delta))
        self.arguments, self.dtype = (begin, end, delta), mstype.int32 if whole else mstype.float32

    def construct(self) -> Any:
        return arange(*self.arguments, dtype=self.dtype)


@public("nn")
class LGamma(ParameterlessCell):
    """Logarithm of the absolute value of the gamma function."""

    def construct(self, x: Any) -> Any:
        return special.lgamma_strict(x)


@public("nn")
class DiGamma(ParameterlessCell):
    """Digamma function: the derivative of the log-gamma function."""

    def construct(self, x: Any) -> Any:
        return special.digamma_strict(x)


@public("nn")
class IGamma(ParameterlessCell):
    """Regularized lower incomplete gamma function."""

    def __init__(self) -> None:
        super().__init__()
        self.lgamma = LGamma()

    def construct(self, a: Any, x: Any) -> Any:
        return special.igamma_strict(a, x)


@public("nn")
class LBeta(ParameterlessCell):
    """Logarithm of the beta function."""

    def __init__(self) -> None:
        super().__init__()
        self.lgamma = LGamma()

    def construct(self, x: Any, y: Any) -> Any:
        return special.lbeta(x, y)


@public("nn")
class MatMul(Cell):
    """Matrix product, with optional transposes."""

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1 = check_argument_type(transpose_x1, "transpose_x1", "MatMul", bool)
        self.transpose_x2 = check_argument_type(transpose_x2, "transpose_x2", "MatMul", bool)

    def construct(self, x1: Any, x2: Any) -> Any:
        x1 = swapaxes(x1, -2, -1) if self.transpose_x1 else x1
        x2 = swapaxes(x2, -2, -1) if self.transpose_x2 else x2
        return matmul(x1, x2)


@public("nn")
class Moments(Cell):
    """Mean and variance along axes; along all axes by default."""

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis = None if axis is None else check_argument_type(axis, "axis", "Moments", int, tuple)
        self.keep_dims = bool(keep_dims)

    def construct(self, x: Any) -> Any:
        return statistics.moments(x, self.axis, self.keep_dims)


@public("nn")
class MatInverse(ParameterlessCell):
    """Matrix inverse."""

    def construct(self, x: Any) -> Any:
        return inverse(x)


@public("nn")
class MatDet(ParameterlessCell):
    """Matrix determinant."""

    def construct(self, x: Any) -> Any:
        return det(x)
