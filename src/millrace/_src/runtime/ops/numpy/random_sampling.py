"""NumPy random sampling: rand, randn, randint."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.storage import to_torch_dtype

__all__ = ["rand", "randint", "randn"]


def _parse_shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    lengths = to_shape(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    return lengths or (1,)


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def randn(*shape: Any, dtype: Any = torch.float32) -> Tensor:
    """Samples from the standard normal distribution."""
    return torch.randn(_parse_shape(shape)).to(to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def rand(*shape: Any, dtype: Any = torch.float32) -> Tensor:
    """Samples from the uniform distribution over [0, 1)."""
    return torch.rand(_parse_shape(shape)).to(to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def randint(minval: int, maxval: int | None = None, shape: Any = None, dtype: Any = torch.int32) -> Tensor:
    """Random integers in [minval, maxval); one number is the upper limit, and the lower one is 0."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    if to_int(low, "minval") >= to_int(high, "maxval"):
        raise ArgumentValueError(f"For 'randint', minval must be below maxval, but got {low} and {high}.")
    return torch.randint(low, high, (1,) if shape is None else to_shape(shape)).to(to_torch_dtype(dtype))
