"""Comparison: equal, less, greater, isclose, allclose, check_numerics."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import OperationError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ApproximateEqual",
    "CheckNumerics",
    "CompareAndBitpack",
    "Equal",
    "EqualCount",
    "Greater",
    "GreaterEqual",
    "IsClose",
    "Less",
    "LessEqual",
    "NotEqual",
    "allclose",
    "approximate_equal",
    "approximate_equal_method",
    "check_numerics",
    "compare_and_bitpack",
    "equal",
    "equal_count",
    "equal_method",
    "greater",
    "greater_equal",
    "isclose",
    "less",
    "less_equal",
    "not_equal",
]


@op("ops", "Tensor:eq", "ops:eq", "mint:eq", dtype=BOOL, differentiable=False)
def equal(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Elementwise equality."""
    return torch.eq(*promote_operands(input, other))


@op("ops", "mint", "Tensor", "ops:ne", "mint:ne", "Tensor:ne", dtype=BOOL, differentiable=False)
def not_equal(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Elementwise inequality."""
    return torch.ne(*promote_operands(input, other))


@op("ops", "mint", "Tensor", "ops:lt", "mint:lt", "Tensor:lt", dtype=BOOL, differentiable=False)
def less(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Whether each element of the first operand is less than that of the second."""
    return torch.lt(*promote_operands(input, other))


@op("ops", "mint", "Tensor", "ops:le", "mint:le", "Tensor:le", dtype=BOOL, differentiable=False)
def less_equal(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Whether each element of the first operand is less than or equal to that of the second."""
    return torch.le(*promote_operands(input, other))


@op("ops", "mint", "Tensor", "ops:gt", "mint:gt", "Tensor:gt", dtype=BOOL, differentiable=False)
def greater(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Whether each element of the first operand is greater than that of the second."""
    return torch.gt(*promote_operands(input, other))


@op("ops", "mint", "Tensor", "ops:ge", "Tensor:ge", dtype=BOOL, differentiable=False)
def greater_equal(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Whether each element of the first operand is greater than or equal to that of the second."""
    return torch.ge(*promote_operands(input, other))


Equal = primitive("Equal", equal, init=())
NotEqual = primitive("NotEqual", not_equal, init=())
Less = primitive("Less", less, init=())
LessEqual = primitive("LessEqual", less_equal, init=())
Greater = primitive("Greater", greater, init=())
GreaterEqual = primitive("GreaterEqual", greater_equal, init=())


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether elements differ by at most atol + rtol * |other|."""
    return torch.isclose(input, other, rtol, atol, equal_nan)


IsClose = primitive("IsClose", isclose)


@op("mint", "Tensor", dtype=UNCHECKED, differentiable=False)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements differ by at most atol + rtol * |other|, as a Python bool."""
    return torch.allclose(input, other, rtol, atol, equal_nan)


@op("ops", dtype=BOOL, differentiable=False)
def approximate_equal(x: Tensor, y: Tensor, tolerance: float = 1e-05) -> Tensor:
    """Whether elements differ by less than `tolerance`."""
    return torch.abs(x - y) < tolerance


@op("Tensor:approximate_equal", dtype=BOOL, differentiable=False)
def approximate_equal_method(input: Tensor, other: Tensor, tolerance: float = 1e-05) -> Tensor:
    """Whether elements differ by less than `tolerance`."""
    return torch.abs(input - other) < tolerance


ApproximateEqual = primitive("ApproximateEqual", approximate_equal)


@op("Tensor:equal", dtype=BOOL, differentiable=False)
def equal_method(input: Tensor, other: Any) -> Tensor:
    """Elementwise equality."""
    return torch.eq(*promote_operands(input, other))


@op(dtype=UNCHECKED, differentiable=False)
def equal_count(x: Tensor, y: Tensor) -> Tensor:
    """Number of equal elements of two tensors, as a vector of length 1."""
    return torch.eq(x, y).sum().reshape(1).to(x.dtype)


EqualCount = primitive("EqualCount", equal_count)


@op(dtype=SAME)
def check_numerics(x: Tensor) -> Tensor:
    """Return the tensor, or raise an error if an element is NaN or infinite."""
    if not bool(torch.isfinite(x).all()):
        raise OperationError("For 'CheckNumerics', the tensor holds nan or infinite elements.")
    return x.clone()


CheckNumerics = primitive("CheckNumerics", check_numerics)


@op(dtype=UNCHECKED, differentiable=False)
def compare_and_bitpack(x: Tensor, threshold: Tensor) -> Tensor:
    """Whether elements are greater than a threshold, packed as eight elements of the last axis per byte."""
    bits = (x > threshold).reshape(*x.shape[:-1], -1, 8).to(torch.uint8)
    weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.uint8, device=x.device)
    return (bits * weights).sum(-1).to(torch.uint8)


CompareAndBitpack = primitive("CompareAndBitpack", compare_and_bitpack)

export_names(
    __name__, "ops", tensor_lt="less", tensor_le="less_equal", tensor_gt="greater", tensor_ge="greater_equal"
)
