"""NumPy logic functions: array_equal, array_equiv, isscalar."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.numpy.type_promotion import promote_arrays, to_array

__all__ = ["array_equal", "array_equiv", "array_str", "isclose", "isscalar"]


@op("numpy", dtype=UNCHECKED, differentiable=False)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Whether two values have the same shape and elements, as a 0-d tensor."""
    left, right = to_array(a1), to_array(a2)
    if left.shape != right.shape:
        return torch.tensor(False)
    same = left == right
    if equal_nan and left.is_floating_point() and right.is_floating_point():
        same = same | (torch.isnan(left) & torch.isnan(right))
    return torch.all(same)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def array_equiv(a1: Any, a2: Any) -> Tensor:
    """Whether two values broadcast to the same elements, as a 0-d tensor."""
    left, right = to_array(a1), to_array(a2)
    try:
        torch.broadcast_shapes(left.shape, right.shape)
    except RuntimeError:
        return torch.tensor(False)
    return torch.all(left == right)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def isscalar(element: Any) -> bool:
    """Whether a value is a Python number or string."""
    return isinstance(element, (bool, int, float, complex, str))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def array_str(a: Tensor) -> str:
    """String representation of the elements."""
    to_python_list(a.detach())  # values are read on the host
    return str(a.detach().cpu().numpy())


@op("numpy", dtype=UNCHECKED, differentiable=False)
def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether elements are equal within a tolerance."""
    left, right = promote_arrays(a, b)
    common_dtype = torch.promote_types(left.dtype, right.dtype)
    return torch.isclose(left.to(common_dtype), right.to(common_dtype), rtol, atol, equal_nan)
