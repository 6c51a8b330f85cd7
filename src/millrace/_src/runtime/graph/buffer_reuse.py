"""Buffer reuse: results overwrite an operand that is no longer needed, which saves allocations.

The kernel is the same and reads each element before it writes it, so the bits are the same. An operand is
overwritten if it is the whole of a storage that an earlier call of the capture allocated, if this call is the
last that uses that storage, and if the result has the same shape, dtype and strides.
"""

from __future__ import annotations

from typing import Any

import torch

from .capture import CapturedCall, Slot
from .passes import Calls, iter_slots, rename_slots

__all__ = ["reuse_buffers"]

_aten = torch.ops.aten
# Operators with an in-place variant.
_INPLACE_VARIANTS = {
    getattr(_aten, name).default: getattr(_aten, f"{name}_").default
    for name in ("relu", "neg", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "reciprocal", "abs", "hardswish", "silu")
} | {
    getattr(_aten, name).Tensor: getattr(_aten, f"{name}_").Tensor for name in ("add", "sub", "mul", "div")
}  # fmt: skip
# Operators with an out variant; all are elementwise.
_OUT_VARIANTS = {
    getattr(_aten, name).default: (getattr(_aten, name).grad_input, "grad_input")
    for name in (
        "threshold_backward", "sigmoid_backward", "tanh_backward", "gelu_backward", "silu_backward",
        "leaky_relu_backward",
    )
}  # fmt: skip


def reuse_buffers(
    calls: Calls, kept: set[Slot], result_specs: dict[Slot, Any], storage_owners: dict[Slot, Slot]
) -> tuple[Calls, dict[Slot, Slot]]:
    """Let results reuse the memory of operands at their last use.

    `result_specs` holds shape, dtype, strides and device of results, `storage_owners` the owner of the
    storage of results that share one.
    """
    parents = dict(storage_owners)
    last: dict[Slot, int] = {}
    for number, call in enumerate(calls):
        for slot in (*iter_slots((call.args, call.kwargs)), *call.results):
            if slot is not None:
                last[_storage_root(slot, parents)] = number
    for slot in kept:
        last[_storage_root(slot, parents)] = len(calls)
    names: dict[Slot, Slot] = {}
    remaining: list[CapturedCall] = []
    for number, call in enumerate(calls):
        call = rename_slots(call, names)
        operand = _reusable_operand(call, result_specs, parents)
        if operand is None or last[operand] != number:
            remaining.append(call)
            continue
        result = call.results[0]
        assert result is not None
        # tensors that share the result's storage now share the operand's
        last[operand] = last[result]
        names[result] = parents[result] = operand
        remaining.append(_inplace_call(call, operand))
    return tuple(remaining), names


def _storage_root(slot: Slot, parents: dict[Slot, Slot]) -> Slot:
    """The slot that owns the storage of this one."""
    while slot in parents:
        slot = parents[slot]
    return slot


def _reusable_operand(
    call: CapturedCall, result_specs: dict[Slot, Any], parents: dict[Slot, Slot]
) -> Slot | None:
    """The operand that the result can overwrite, if it is not needed afterwards."""
    if call.result_structure != "one" or (
        call.func not in _INPLACE_VARIANTS and call.func not in _OUT_VARIANTS
    ):
        return None
    operand, result = call.args[0], call.results[0]
    if not isinstance(operand, Slot) or operand.source != "temp" or result is None or result in parents:
        return None
    if (
        operand in parents
        or result_specs.get(operand) is None
        or result_specs.get(operand) != result_specs.get(result)
    ):
        return None
    remaining_slots = [slot for slot in iter_slots((call.args[1:], call.kwargs)) if slot != operand]
    if any(_storage_root(slot, parents) == operand for slot in remaining_slots):
        return None  # another view of the same memory would be read after it was overwritten
    return operand


def _inplace_call(call: CapturedCall, operand: Slot) -> CapturedCall:
    if call.func in _INPLACE_VARIANTS:
        return call._replace(func=_INPLACE_VARIANTS[call.func], results=(operand,))
    func, out_argument = _OUT_VARIANTS[call.func]
    return call._replace(func=func, kwargs={**call.kwargs, out_argument: operand}, results=(operand,))
