"""Logical and bitwise operations and bit shifts."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.arguments import promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import (
    BOOL,
    INTEGERS,
    INTEGERS_BOOL,
    PROMOTE,
    SAME,
    UNCHECKED,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Invert",
    "LeftShift",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "LogicalXor",
    "PopulationCount",
    "RightShift",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "invert",
    "left_shift",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "population_count",
    "right_shift",
]


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def logical_and(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Logical AND of two tensors."""
    return torch.logical_and(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def logical_or(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Logical OR of two tensors."""
    return torch.logical_or(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def logical_xor(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Logical XOR of two tensors."""
    return torch.logical_xor(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=PROMOTE, accepts=INTEGERS_BOOL)
def bitwise_and(input: Tensor | int, other: Tensor | int) -> Tensor:
    """Bitwise AND of two tensors."""
    return torch.bitwise_and(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=PROMOTE, accepts=INTEGERS_BOOL)
def bitwise_or(input: Tensor | int, other: Tensor | int) -> Tensor:
    """Bitwise OR of two tensors."""
    return torch.bitwise_or(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=PROMOTE, accepts=INTEGERS_BOOL)
def bitwise_xor(input: Tensor | int, other: Tensor | int) -> Tensor:
    """Bitwise XOR of two tensors."""
    return torch.bitwise_xor(*promote_operands(input, other))


LogicalAnd = primitive("LogicalAnd", logical_and, init=())
LogicalOr = primitive("LogicalOr", logical_or, init=())
LogicalXor = primitive("LogicalXor", logical_xor, init=())
BitwiseAnd = primitive("BitwiseAnd", bitwise_and, init=())
BitwiseOr = primitive("BitwiseOr", bitwise_or, init=())
BitwiseXor = primitive("BitwiseXor", bitwise_xor, init=())


@op("ops", "Tensor", accepts=INTEGERS, dtype=SAME, differentiable=False)
def invert(x: Tensor) -> Tensor:
    """Bitwise NOT of each element."""
    return torch.bitwise_not(x)


@op("mint", "Tensor", accepts=INTEGERS_BOOL, dtype=SAME, differentiable=False)
def bitwise_not(input: Tensor) -> Tensor:
    """Bitwise NOT of each element."""
    return torch.bitwise_not(input)


Invert = primitive("Invert", invert)


@op("ops", dtype=UNCHECKED, differentiable=False)
def population_count(input_x: Tensor) -> Tensor:
    """Number of set bits of each element."""
    bit_positions = torch.arange(8 * input_x.element_size(), device=input_x.device, dtype=input_x.dtype)
    return ((input_x.unsqueeze(-1) >> bit_positions) & 1).sum(-1).to(torch.uint8)


PopulationCount = primitive("PopulationCount", population_count)


@op("ops", "Tensor", dtype=PROMOTE, accepts=INTEGERS, differentiable=False)
def bitwise_left_shift(input: Tensor | int, other: Tensor | int) -> Tensor:
    """Bitwise left shift."""
    return torch.bitwise_left_shift(*promote_operands(input, other))


@op("ops", "Tensor", dtype=PROMOTE, accepts=INTEGERS, differentiable=False)
def bitwise_right_shift(input: Tensor | int, other: Tensor | int) -> Tensor:
    """Arithmetic right shift: the sign is kept."""
    return torch.bitwise_right_shift(*promote_operands(input, other))


@op(dtype=PROMOTE, accepts=INTEGERS, differentiable=False)
def left_shift(x1: Tensor, x2: Tensor) -> Tensor:
    """Bitwise left shift."""
    return torch.bitwise_left_shift(x1, x2)


@op(dtype=PROMOTE, accepts=INTEGERS, differentiable=False)
def right_shift(input_x: Tensor, input_y: Tensor) -> Tensor:
    """Arithmetic right shift: the sign is kept."""
    return torch.bitwise_right_shift(input_x, input_y)


LeftShift = primitive("LeftShift", left_shift, init=())
RightShift = primitive("RightShift", right_shift, init=())


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def logical_not(input: Tensor) -> Tensor:
    """Logical NOT of each element."""
    return torch.logical_not(input)


LogicalNot = primitive("LogicalNot", logical_not)
