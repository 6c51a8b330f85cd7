"""Batch-axis rules of arithmetic operators: elementwise, reductions, products, convolution, normalization,
attention.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .state import UNTRACKED, Axis, CallView, Dim, Operand, RowsMixed, State, operands_in

__all__ = [
    "addmm", "single_axis_rule", "attention", "baddbmm", "batch_norm", "bmm", "broadcast", "convolution", "dropout",
    "elementwise", "grid_sampler", "group_norm", "layer_norm", "linear", "lstm_cell", "mm", "mv", "last_axes_rule",
    "reduce", "rnn_layer",
]  # fmt: skip

Rule = Callable[[CallView], list[State]]


def broadcast(operands: Sequence[Operand]) -> Axis | None:
    """The batch axis of operands that are broadcast."""
    ndim = max((operand.ndim for operand in operands), default=0)
    axes = {
        operand.axis.with_position(operand.axis.position + ndim - operand.ndim)
        for operand in operands
        if operand.axis is not None
    }
    if len(axes) > 1:
        raise RowsMixed("it combines different rows: the batch axes of its operands are not aligned")
    return axes.pop() if axes else None


def elementwise(call: CallView) -> list[State]:
    return call.same(broadcast(call.operands))


def _source(call: CallView, name: str = "self") -> tuple[Operand, Axis]:
    source = call[name]
    if source.axis is None:
        raise RowsMixed(f"'{name}' does not depend on the inputs, another argument does")
    return source, source.axis


def single_axis_rule(what: str, default: int | None = None) -> Rule:
    """A rule for operators that work along one axis and keep it: softmax, cumulative sums, sorting."""

    def rule(call: CallView) -> list[State]:
        source, axis = _source(call)
        if len(call.batched) > 1:
            raise RowsMixed("two of its arguments depend on the inputs")
        dim = call.get("dim", default)
        if dim is None or source.wrap(dim) == axis.position:
            raise RowsMixed(f"it {what} along the batch axis")
        return call.same(axis)

    return rule


def reduce(call: CallView) -> list[State]:
    """Rule of reductions: sums, means, extremes."""
    source, axis = _source(call)
    dims = call.get("dim")
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        raise RowsMixed("it reduces over all axes, the batch axis included")
    reduced = {source.wrap(dim) for dim in (dims if isinstance(dims, (list, tuple)) else [dims])}
    if axis.position in reduced:
        raise RowsMixed("it reduces over the batch axis")
    if not call.get("keepdim"):
        axis = axis.with_position(axis.position - sum(1 for dim in reduced if dim < axis.position))
    return call.same(axis)


def last_axes_rule(count: int, what: str) -> Rule:
    """A rule for operators on the last axes of their first argument: pooling, resizing, padding."""

    def rule(call: CallView) -> list[State]:
        first = next(iter(call.arguments))
        source, axis = _source(call, first)
        call.require_constant(*(name for name in call.arguments if name != first))
        if axis.position >= source.ndim - count:
            raise RowsMixed(f"it {what} along the batch axis")
        return call.same(axis)

    return rule


# --- products --------------------------------------------------------------------------------------------------


def _product(left: Operand, right: Operand) -> Axis | None:
    """The batch axis of a matrix product, also of batched matrices with equal leading axes."""
    ndim = left.ndim
    for operand, contracted in ((left, ndim - 1), (right, ndim - 2)):
        if operand.axis is not None and operand.axis.position == contracted:
            raise RowsMixed("it sums over the batch axis")
    if left.axis is None or right.axis is None:
        return left.axis or right.axis
    if left.axis != right.axis or left.axis.position >= ndim - 2:
        raise RowsMixed("it multiplies different rows with each other")
    return left.axis


def _broadcast_with_product(term: Operand, product: Axis | None, dims: tuple[Dim, ...] | None) -> Axis | None:
    if dims is None:
        raise RowsMixed("it has no result")
    return broadcast([term, Operand(term.slot, dims, term.dtype, product)])


def mm(call: CallView) -> list[State]:
    return [_product(call["self"], call["mat2"])]


bmm = mm


def addmm(call: CallView) -> list[State]:
    return [_broadcast_with_product(call["self"], _product(call["mat1"], call["mat2"]), call.results[0])]


def baddbmm(call: CallView) -> list[State]:
    return [_broadcast_with_product(call["self"], _product(call["batch1"], call["batch2"]), call.results[0])]


def mv(call: CallView) -> list[State]:
    call.require_constant("vec")
    source, axis = _source(call)
    if axis.position != source.ndim - 2:
        raise RowsMixed("it sums over the batch axis")
    return [axis]


def linear(call: CallView) -> list[State]:
    call.require_constant("weight", "bias")
    source, axis = _source(call, "input")
    if axis.position == source.ndim - 1:
        raise RowsMixed("it sums over the batch axis")
    return [axis]


def convolution(call: CallView) -> list[State]:
    name = next(iter(call.arguments))
    source, axis = _source(call, name)
    call.require_constant(*(argument for argument in call.arguments if argument != name))
    if axis.position != 0 or source.ndim != call["weight"].ndim:
        raise RowsMixed("it sums over the batch axis")
    return call.same(axis)


# --- normalisation ---------------------------------------------------------------------------------------------


def layer_norm(call: CallView) -> list[State]:
    call.require_constant("weight", "bias")
    source, axis = _source(call, "input")
    if axis.position >= source.ndim - len(call["normalized_shape"]):
        raise RowsMixed("it normalises over the batch axis")
    return call.same(axis)


def group_norm(call: CallView) -> list[State]:
    call.require_constant("weight", "bias")
    _, axis = _source(call, "input")
    if axis.position != 0:
        raise RowsMixed("it normalises over the batch axis")
    return call.same(axis)


def batch_norm(call: CallView) -> list[State]:
    """Rule of batch normalization. In training mode the rows must be in the channel axis."""
    _, axis = _source(call, "input")
    per_channel = [
        operand
        for name in ("weight", "bias", "running_mean", "running_var")
        for operand in operands_in(call.get(name))
    ]
    if axis.position == 1:
        if any(operand.axis != axis.with_position(0) for operand in per_channel):
            raise RowsMixed("it normalises over the batch axis")
    elif call.get("training"):
        raise RowsMixed("in training mode it normalises over the batch axis")
    elif any(operand.axis is not None for operand in per_channel):
        raise RowsMixed("its statistics or weights depend on the inputs")
    return [axis, *(UNTRACKED for _ in call.results[1:])]


def dropout(call: CallView) -> list[State]:
    if call.get("train") is not False:
        raise RowsMixed("in training mode it is random")
    return call.same(_source(call, "input")[1])


# --- attention, recurrent layers, sampling -----------------------------------------------------------------------


def attention(call: CallView) -> list[State]:
    """Rule of scaled dot-product attention over [..., heads, length, width]: rows in a leading axis of all
    three.
    """
    query, key, value = call["query"], call["key"], call["value"]
    axis = query.axis
    if axis is None or key.axis != axis or value.axis != axis or query.ndim != key.ndim:
        raise RowsMixed("its queries, keys and values do not have the same batch axis")
    if axis.position >= query.ndim - 2:
        raise RowsMixed("it attends over the batch axis")
    if call.get("dropout_p"):
        raise RowsMixed("with dropout it is random")
    for operand in operands_in([call.get("attn_mask"), call.get("attn_bias")]):
        if (
            operand.axis is not None
            and operand.axis.with_position(operand.axis.position + query.ndim - operand.ndim) != axis
        ):
            raise RowsMixed("the batch axis of its mask is not that of its queries")
    return [axis, *(UNTRACKED for _ in call.results[1:])]


def rnn_layer(call: CallView) -> list[State]:
    """Rule of a recurrent layer over [time, batch, width], for any ``batch_first``; its states are [...,
    batch, width].
    """
    call.require_constant("weight0", "weight1", "weight2", "weight3")
    source, axis = _source(call, "input")
    if axis.position != 1 or source.ndim != 3:
        raise RowsMixed("it computes along the batch axis as time")
    for operand in operands_in([call["hx_"], call["cx_"]]):
        if operand.axis != axis.with_position(operand.ndim - 2):
            raise RowsMixed("the batch axis of its state is not that of its input")
    if call.get("train"):
        raise RowsMixed("it is in training mode")
    states = [axis.with_position(len(dims) - 2) if dims else UNTRACKED for dims in call.results[1:3]]
    return [axis, *states, *(UNTRACKED for _ in call.results[3:])]


def lstm_cell(call: CallView) -> list[State]:
    """Rule of a fused LSTM cell: elementwise over [batch, gates] with the state [batch, width]."""
    call.require_constant("input_bias", "hidden_bias")
    axes = {operand.axis for operand in call.batched}
    unbatched: list[Any] = [
        operand
        for name in ("input_gates", "hidden_gates", "cx", "hx")
        for operand in operands_in(call.get(name))
        if operand.axis is None
    ]
    if unbatched or len(axes) != 1:
        raise RowsMixed("its gates and its state do not have the same batch axis")
    axis = axes.pop()
    if axis is None or axis.position != 0:
        raise RowsMixed("it computes along the batch axis")
    return [*([axis] * min(2, len(call.results))), *(UNTRACKED for _ in call.results[2:])]


def grid_sampler(call: CallView) -> list[State]:
    axes = {operand.axis for operand in (call["input"], call["grid"])}
    axis = axes.pop()
    if axes or axis is None or axis.position != 0:
        raise RowsMixed("its input and its grid do not have the same batch axis")
    return [axis]
