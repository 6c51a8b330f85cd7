"""Batch-axis rules of operators that index by the values of a tensor."""

from __future__ import annotations

import torch

from .arithmetic_rules import broadcast
from .state import Axis, CallView, Operand, RowsMixed, State, operands_in

__all__ = ["embedding", "gather", "index", "index_select", "scatter"]


def embedding(call: CallView) -> list[State]:
    call.require_constant("weight")
    return [call["indices"].axis]


def index_select(call: CallView) -> list[State]:
    source, positions = call["self"], call["index"]
    dim = source.wrap(call["dim"])
    if source.axis is None:
        return [positions.axis.with_position(dim)]
    if positions.axis is not None:
        raise RowsMixed("it looks rows up by values of the inputs")
    if dim == source.axis.position:
        raise RowsMixed("it selects along the batch axis")
    return [source.axis]


def gather(call: CallView) -> list[State]:
    source, positions = call["self"], call["index"]
    dim, axis = source.wrap(call["dim"]), positions.axis
    if axis is None:
        raise RowsMixed("it selects along the batch axis")
    if source.axis is None:
        if axis.position != dim:
            raise RowsMixed("it looks a constant up by the position of the row")
    elif source.axis != axis or axis.position == dim:
        raise RowsMixed("it looks rows up by values of the inputs")
    return [axis]


def scatter(call: CallView) -> list[State]:
    source, positions = call["self"], call["index"]
    axis = source.axis
    if axis is None or positions.axis != axis or source.wrap(call["dim"]) == axis.position:
        raise RowsMixed("it writes along the batch axis")
    for operand in operands_in(call.get("src")):
        if operand.axis != axis:
            raise RowsMixed("the batch axis of its values is not that of its result")
    for operand in operands_in(call.get("value")):
        if operand.axis is not None:
            raise RowsMixed("its value depends on the inputs")
    return [axis]


def index(call: CallView) -> list[State]:
    """Rule of advanced indexing: the index tensors must be adjacent."""
    source: Operand = call["self"]
    indices = call["indices"]
    indexed_axes = [number for number, operand in enumerate(indices) if operand is not None]
    tensors: list[Operand] = [indices[number] for number in indexed_axes]
    if any(operand.dtype in (torch.bool, torch.uint8) for operand in tensors):
        raise RowsMixed("it selects by a mask")
    if not indexed_axes or indexed_axes != list(range(indexed_axes[0], indexed_axes[-1] + 1)):
        raise RowsMixed("its indices are not adjacent")
    axis: Axis | None = broadcast(tensors)
    if source.axis is None:
        return [axis.with_position(indexed_axes[0] + axis.position) if axis is not None else None]
    if axis is not None:
        raise RowsMixed("it looks rows up by values of the inputs")
    position = source.axis.position
    if position in indexed_axes:
        raise RowsMixed("it selects along the batch axis")
    if position > indexed_axes[-1]:
        position += max(operand.ndim for operand in tensors) - len(indexed_axes)
    return [source.axis.with_position(position)]
