"""Elementwise operations on three tensors and sums of many: addcmul, addcdiv, lerp, addn."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "AccumulateNV2",
    "AddN",
    "Addcdiv",
    "Addcmul",
    "Lerp",
    "LerpScalar",
    "accumulate_n",
    "addcdiv",
    "addcdiv_mint",
    "addcdiv_of",
    "addcmul",
    "addcmul_of",
    "addn",
    "lerp",
]


def _add_scaled(input: Tensor, product: Tensor, value: Any) -> Tensor:
    return torch.add(input, product if isinstance(value, (int, float)) and value == 1 else product * value)


@op("ops", dtype=SAME)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return _add_scaled(input, torch.true_divide(tensor1, tensor2), value)


@op("mint:addcdiv", "Tensor:addcdiv", dtype=SAME)
def addcdiv_mint(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return addcdiv.raw(input, tensor1, tensor2, value)


@op("ops", "Tensor", dtype=SAME)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    return _add_scaled(input, torch.mul(tensor1, tensor2), value)


@op(dtype=SAME)
def addcdiv_of(input_data: Tensor, x1: Tensor, x2: Tensor, value: Tensor) -> Tensor:
    """input_data + value * x1 / x2."""
    return addcdiv.raw(input_data, x1, x2, value)


@op(dtype=SAME)
def addcmul_of(input_data: Tensor, x1: Tensor, x2: Tensor, value: Tensor) -> Tensor:
    """input_data + value * x1 * x2."""
    return addcmul.raw(input_data, x1, x2, value)


Addcdiv = primitive("Addcdiv", addcdiv_of)
Addcmul = primitive("Addcmul", addcmul_of)


@op("ops", "mint", "Tensor", dtype=SAME)
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """Linear interpolation between `input` and `end` by `weight`."""
    return torch.lerp(input, end, weight)


Lerp = primitive("Lerp", lerp)
LerpScalar = primitive("LerpScalar", lerp)


@op("ops", dtype=UNCHECKED)
def addn(x: Any) -> Tensor:
    """Sum of several tensors."""
    if isinstance(x, Tensor):
        return x.clone()
    if not isinstance(x, (tuple, list)) or not x or not all(isinstance(part, Tensor) for part in x):
        raise ArgumentTypeError(f"For 'addn', a list or tuple of Tensors is needed, but got {x!r}.")
    total = x[0]
    for part in x[1:]:
        if part.shape != total.shape:
            raise ArgumentValueError(
                f"For 'addn', shapes must be equal, but got {[tuple(p.shape) for p in x]}."
            )
        total = total + part
    return total if len(x) > 1 else total.clone()


@op("ops", dtype=UNCHECKED)
def accumulate_n(x: Any) -> Tensor:
    """Sum of several tensors."""
    return addn.raw(x)


AddN = primitive("AddN", addn, init=())
AccumulateNV2 = primitive("AccumulateNV2", accumulate_n, init=())
