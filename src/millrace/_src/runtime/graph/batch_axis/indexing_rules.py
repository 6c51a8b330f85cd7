"""Rules of operators that look elements up by the values of a tensor."""

from __future__ import annotations

import torch

from .arithmetic_rules import broadcast
from .state import Axis, CallView, Operand, RowsMixed, State, operands_in

__all__ = ["embedding", "gather", "index", "index_select", "scatter"]


def embedding(call: CallView) -> list[State]:
    call.constant("weight")
    return [call["indices"].axis]


def index_select(call: CallView) -> list[State]:
    source, positions = call["self"], call["index"]
    dim = source.wrap(call["dim"])
    if source.axis is None:
        return [positions.axis.at(dim)]
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
    """Indexing with tensors, which must stand next to each other; the axes that they index become theirs."""
    source: Operand = call["self"]
    given = call["indices"]
    used = [number for number, each in enumerate(given) if each is not None]
    tensors: list[Operand] = [given[number] for number in used]
    if any(each.dtype in (torch.bool, torch.uint8) for each in tensors):
        raise RowsMixed("it selects by a mask")
    if not used or used != list(range(used[0], used[-1] + 1)):
        raise RowsMixed("its indices do not stand next to each other")
    axis: Axis | None = broadcast(tensors)
    if source.axis is None:
        return [axis.at(used[0] + axis.position) if axis is not None else None]
    if axis is not None:
        raise RowsMixed("it looks rows up by values of the inputs")
    position = source.axis.position
    if position in used:
        raise RowsMixed("it selects along the batch axis")
    if position > used[-1]:
        position += max(each.ndim for each in tensors) - len(used)
    return [source.axis.at(position)]
