"""NumPy statistics: cov, corrcoef, bincount."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.numpy.type_promotion import cast_result, to_array, to_floating

__all__ = ["bincount", "corrcoef", "cov"]


def _to_variables(m: Any, y: Any, rowvar: bool) -> Tensor:
    """Variables as rows."""
    variables = torch.atleast_2d(to_floating(to_array(m)))
    if not rowvar and variables.shape[0] != 1:
        variables = variables.T
    if y is None:
        return variables
    extra = torch.atleast_2d(to_floating(to_array(y)))
    return torch.cat((variables, extra.T if not rowvar and extra.shape[0] != 1 else extra))


@op("numpy", dtype=UNCHECKED)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Tensor:
    """Covariance matrix of variables, one per row."""
    variables = cast_result(_to_variables(m, y, rowvar), dtype)
    counts = None if fweights is None else to_array(fweights).to(torch.int64)
    weights = None if aweights is None else to_floating(to_array(aweights))
    lost = (0 if bias else 1) if ddof is None else to_int(ddof, "ddof")
    return torch.cov(variables, correction=lost, fweights=counts, aweights=weights)


@op("numpy", dtype=UNCHECKED)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    """Correlation matrix of variables, one per row."""
    return torch.corrcoef(cast_result(_to_variables(x, y, rowvar), dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """Number of occurrences of each non-negative integer, or the sum of its weights, in float32."""
    values = to_array(x)
    if values.ndim != 1 or values.is_floating_point():
        raise ArgumentTypeError("For 'bincount', the input must be a vector of integers.")
    counted = torch.bincount(
        values.to(torch.int64),
        None if weights is None else to_array(weights),
        0 if length is not None else minlength,
    ).to(torch.float32)
    if length is None:
        return counted
    return F.pad(counted[:length], (0, max(length - counted.numel(), 0)))
