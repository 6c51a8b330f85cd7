"""Conditional selection: where, select, choose."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import PROMOTE, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["Select", "choose", "select", "select_method", "where", "where_method", "where_mint"]


@op("ops", dtype=PROMOTE)
def where(condition: Tensor, input: Tensor | float, other: Tensor | float) -> Tensor:
    """Elements of `input` where `condition` is true, else of `other`."""
    return torch.where(condition.bool(), *promote_operands(input, other))


@op("mint:where", dtype=UNCHECKED)
def where_mint(
    condition: Tensor, input: Tensor | float | None = None, other: Tensor | float | None = None
) -> Any:
    """Elements of `input` where `condition` is true, else of `other`; without both, where it is true."""
    if input is None and other is None:
        return torch.nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise ArgumentValueError("For where, give both 'input' and 'other', or neither.")
    return torch.where(condition.bool(), *promote_operands(input, other))


@op("Tensor:where", dtype=PROMOTE)
def where_method(input: Tensor, condition: Tensor, y: Tensor | float) -> Tensor:
    """Elements of the tensor where `condition` is true, else of `y`."""
    return torch.where(condition.bool(), *promote_operands(input, y))


@op("ops", dtype=PROMOTE)
def select(condition: Tensor, input: Tensor | float, other: Tensor | float) -> Tensor:
    """Elements of `input` where `condition` is true, else of `other`."""
    return torch.where(condition.bool(), *promote_operands(input, other))


@op("Tensor:select", dtype=PROMOTE)
def select_method(input: Tensor, condition: Tensor | int, y: Tensor | float) -> Tensor:
    """Elements of the tensor where `condition` is true, else of `y`; with two integers, one slice of an axis."""
    if isinstance(condition, int) and isinstance(y, int):
        return input.select(condition, y)
    return torch.where(torch.as_tensor(condition).bool(), *promote_operands(input, y))


Select = primitive("Select", select, init=())


@op("Tensor", dtype=UNCHECKED)
def choose(input: Tensor, choices: Any, mode: str = "clip") -> Tensor:
    """For each element of the index tensor, the element of the choice with that index. Indices out of range are
    clipped or wrapped.
    """
    parts = torch.stack(
        torch.broadcast_tensors(*[torch.as_tensor(each, device=input.device) for each in choices])
    )
    count = parts.shape[0]
    index = input.long() % count if mode == "wrap" else input.long().clamp(0, count - 1)
    shape = torch.broadcast_shapes(index.shape, parts.shape[1:])
    return torch.gather(parts.expand(count, *shape), 0, index.expand(shape).unsqueeze(0)).squeeze(0)
