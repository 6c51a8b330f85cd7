"""Batch-axis rules of operators that change the shape or the order of axes, or select elements along fixed
axes.
"""

from __future__ import annotations

import math
from typing import Any

from millrace._src.runtime.graph.program_serialization import Rows

from .state import Axis, CallView, Dim, Operand, RowsMixed, State

__all__ = [
    "cat", "constant_pad", "copy", "diagonal_band", "expand", "factory", "flip", "like", "narrow", "permute", "repeat",
    "reshape", "roll", "select", "slice_", "split", "squeeze", "stack", "transpose", "unbind", "unfold", "unsqueeze",
]  # fmt: skip

_END = 2**63 - 1


def _source(call: CallView) -> tuple[Operand, Axis]:
    source = call["self"]
    if source.axis is None:
        raise RowsMixed("its shape follows from the number of rows, its values do not follow from the inputs")
    return source, source.axis


def _lengths(dims: tuple[Dim, ...]) -> list[int]:
    """Lengths, which must not depend on the batch size."""
    if any(dim.times for dim in dims):
        raise RowsMixed("a second axis follows from the number of rows")
    return [dim.offset for dim in dims]


def _result(call: CallView) -> tuple[Dim, ...]:
    (dims,) = call.results
    if dims is None:
        raise RowsMixed("it has no result")
    return dims


def copy(call: CallView) -> list[State]:
    """Rule: results of the same shape with the same batch axis."""
    return call.same(_source(call)[1])


def like(call: CallView) -> list[State]:
    """Rule: a tensor filled with one number, with the shape of another; all rows are equal."""
    return copy(call)


def factory(call: CallView) -> list[State]:
    """Rule: a tensor filled with one number, one of whose lengths is a multiple of the batch size."""
    if call.batched and not any(isinstance(value, Rows) for value in call["size"]):
        return [None]  # new_zeros: only the dtype of the operand is used
    return [_uniform_axis(_result(call))]


def _uniform_axis(dims: tuple[Dim, ...]) -> Axis:
    positions = [position for position, dim in enumerate(dims) if dim.times]
    if len(positions) != 1 or dims[positions[0]].offset:
        raise RowsMixed("more than one of its lengths follows from the number of rows")
    return Axis(positions[0], 1, dims[positions[0]].times)


def reshape(call: CallView) -> list[State]:
    """Rule: the batch axis must stay a factor of one axis, with the same elements before and after it in
    memory order.
    """
    source, axis = _source(call)
    before = axis.outer * math.prod(_lengths(source.dims[: axis.position]))
    after = axis.inner * math.prod(_lengths(source.dims[axis.position + 1 :]))
    dims = _result(call)
    positions = [position for position, dim in enumerate(dims) if dim.times]
    if len(positions) != 1 or not before or not after:
        raise RowsMixed("the batch axis does not stay one axis")
    position = positions[0]
    before_now = math.prod(_lengths(dims[:position]))
    after_now = math.prod(_lengths(dims[position + 1 :]))
    if dims[position].offset or before % before_now or after % after_now:
        raise RowsMixed("elements of several rows get into one row")
    return [Axis(position, before // before_now, after // after_now)]


def permute(call: CallView) -> list[State]:
    source, axis = _source(call)
    order = [source.wrap(dim) for dim in call["dims"]]
    return [axis.with_position(order.index(axis.position))]


def transpose(call: CallView) -> list[State]:
    source, axis = _source(call)
    first, second = (0, 1) if "dim0" not in call.arguments else (call["dim0"], call["dim1"])
    if source.ndim < 2:
        return [axis]
    swapped = {source.wrap(first): source.wrap(second), source.wrap(second): source.wrap(first)}
    return [axis.with_position(swapped.get(axis.position, axis.position))]


def unsqueeze(call: CallView) -> list[State]:
    source, axis = _source(call)
    dim = call["dim"] % (source.ndim + 1)
    return [axis.with_position(axis.position + (dim <= axis.position))]


def squeeze(call: CallView) -> list[State]:
    source, axis = _source(call)
    if call.get("dim") is None:
        raise RowsMixed("without 'dim' it removes the batch axis of a single row")
    dims = call["dim"] if isinstance(call["dim"], (list, tuple)) else [call["dim"]]
    removed = {source.wrap(dim) for dim in dims}
    if axis.position in removed:
        raise RowsMixed("it removes the batch axis of a single row")
    gone = sum(1 for dim in removed if dim < axis.position and source.dims[dim] == Dim(0, 1))
    return [axis.with_position(axis.position - gone)]


def expand(call: CallView) -> list[State]:
    source, dims = call["self"], _result(call)
    if source.axis is None:
        axis = _uniform_axis(dims)
        inner = axis.position - (len(dims) - source.ndim)
        if inner >= 0 and source.dims[inner] != Dim(0, 1):
            raise RowsMixed(
                "its shape follows from the number of rows, its values do not follow from the inputs"
            )
        return [axis]
    return [source.axis.with_position(source.axis.position + len(dims) - source.ndim)]


def repeat(call: CallView) -> list[State]:
    source, repeats = call["self"], call["repeats"]
    added = len(repeats) - source.ndim
    if source.axis is None:
        positions = [position for position, value in enumerate(repeats) if isinstance(value, Rows)]
        if len(positions) != 1 or repeats[positions[0]] != Rows(1, 0):
            raise RowsMixed("it repeats a constant by more than the number of rows")
        length = 1 if positions[0] < added else source.dims[positions[0] - added].offset
        return [Axis(positions[0], 1, length)]
    if any(isinstance(value, Rows) for value in repeats):
        raise RowsMixed("it repeats rows by the number of rows")
    position = source.axis.position + added
    return [Axis(position, source.axis.outer * repeats[position], source.axis.inner)]


def _common_axis(call: CallView) -> tuple[Operand, Axis]:
    tensors = call["tensors"]
    first = tensors[0]
    if (
        any(tensor.axis != first.axis or tensor.ndim != first.ndim for tensor in tensors)
        or first.axis is None
    ):
        raise RowsMixed("it joins tensors whose batch axes differ")
    return first, first.axis


def cat(call: CallView) -> list[State]:
    first, axis = _common_axis(call)
    if first.wrap(call["dim"]) == axis.position:
        raise RowsMixed("it joins tensors along the batch axis")
    return [axis]


def stack(call: CallView) -> list[State]:
    first, axis = _common_axis(call)
    dim = call["dim"] % (first.ndim + 1)
    return [axis.with_position(axis.position + (dim <= axis.position))]


def _is_whole(source: Operand, start: Any, end: Any, step: Any) -> bool:
    length = source.dims[source.axis.position] if source.axis is not None else None
    at_end = end is None or end == _END or (isinstance(end, Rows) and Dim(*end) == length)
    return start in (None, 0) and at_end and step == 1


def slice_(call: CallView) -> list[State]:
    source, axis = _source(call)
    start, end, step = call["start"], call["end"], call["step"]
    if source.wrap(call["dim"]) == axis.position:
        if not _is_whole(source, start, end, step):
            raise RowsMixed("it selects along the batch axis")
    elif any(isinstance(value, Rows) for value in (start, end, step)):
        raise RowsMixed("it selects by the number of rows")
    return [axis]


def _require_non_batch_dim(call: CallView, what: str) -> tuple[int, Axis]:
    source, axis = _source(call)
    dim = source.wrap(call["dim"])
    if dim == axis.position:
        raise RowsMixed(f"it {what} along the batch axis")
    return dim, axis


def narrow(call: CallView) -> list[State]:
    return [_require_non_batch_dim(call, "selects")[1]]


def select(call: CallView) -> list[State]:
    dim, axis = _require_non_batch_dim(call, "selects")
    return [axis.with_position(axis.position - (dim < axis.position))]


def split(call: CallView) -> list[State]:
    return call.same(_require_non_batch_dim(call, "splits")[1])


def unbind(call: CallView) -> list[State]:
    dim, axis = _require_non_batch_dim(call, "splits")
    return call.same(axis.with_position(axis.position - (dim < axis.position)))


def flip(call: CallView) -> list[State]:
    source, axis = _source(call)
    if axis.position in {source.wrap(dim) for dim in call["dims"]}:
        raise RowsMixed("it reverses the order of the rows")
    return [axis]


def roll(call: CallView) -> list[State]:
    source, axis = _source(call)
    if not call["dims"] or axis.position in {source.wrap(dim) for dim in call["dims"]}:
        raise RowsMixed("it moves rows along the batch axis")
    return [axis]


def unfold(call: CallView) -> list[State]:
    source, axis = _source(call)
    if source.wrap(call["dimension"]) == axis.position:
        raise RowsMixed("its windows are taken along the batch axis")
    return [axis]


def diagonal_band(call: CallView) -> list[State]:
    """Rule of ``tril`` and ``triu``, which select by the position in the last two axes."""
    source, axis = _source(call)
    if axis.position >= source.ndim - 2:
        raise RowsMixed("it selects along the batch axis")
    return [axis]


def constant_pad(call: CallView) -> list[State]:
    source, axis = _source(call)
    pair = 2 * (source.ndim - 1 - axis.position)
    if any(call["pad"][pair : pair + 2]):
        raise RowsMixed("it pads the batch axis")
    return [axis]
