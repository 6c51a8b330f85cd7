"""Rewrite passes of captured calls. Each pass returns an equivalent tuple of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from millrace._src.runtime.tensor.backend.torch_private import PRIVATE_OPERATORS, describe_operator

from .capture import CapturedCall, Slot

__all__ = ["PASSES", "Calls", "rename_slots", "iter_slots"]

# A view of an external tensor stays valid: its storage is never replaced.
_VIEWS = frozenset(
    f"aten::{name}"
    for name in (
        "t", "transpose", "permute", "view", "expand", "unsqueeze", "squeeze", "select", "slice",
        "as_strided", "alias", "detach", "diagonal", "unfold", "reshape",
    )
) | PRIVATE_OPERATORS["views"]  # fmt: skip

ExternalTensors = list[torch.Tensor]
Calls = tuple[CapturedCall, ...]


def iter_slots(value: Any) -> Iterator[Slot]:
    """Iterate over the slots of arguments."""
    if isinstance(value, Slot):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from iter_slots(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from iter_slots(part)


def _rename_slots_in(value: Any, names: dict[Slot, Slot]) -> Any:
    if isinstance(value, Slot):
        return names.get(value, value)
    if isinstance(value, (list, tuple)):
        return type(value)(_rename_slots_in(part, names) for part in value)
    if isinstance(value, dict):
        return {key: _rename_slots_in(part, names) for key, part in value.items()}
    return value


def rename_slots(call: CapturedCall, names: dict[Slot, Slot]) -> CapturedCall:
    """The call with the slots of its arguments renamed."""
    if not names:
        return call
    return call._replace(args=_rename_slots_in(call.args, names), kwargs=_rename_slots_in(call.kwargs, names))


def fold_constant_views(
    calls: Calls, kept: set[Slot], outside: ExternalTensors
) -> tuple[Calls, dict[Slot, Slot]]:
    """Compute views of external tensors once."""
    names: dict[Slot, Slot] = {}
    remaining: list[CapturedCall] = []
    for call in calls:
        call = rename_slots(call, names)
        slots = list(iter_slots((call.args, call.kwargs)))
        fixed = all(slot.source == "out" for slot in slots)
        if describe_operator(call.func).name in _VIEWS and call.result_structure == "one" and slots and fixed:
            args, kwargs = _substitute_slots(call.args, outside), _substitute_slots(call.kwargs, outside)
            with torch.no_grad():
                view = call.func(*args, **kwargs)
            # `reshape` and the private variant of `view` may copy: then it is no view
            if view.untyped_storage().data_ptr() == outside[slots[0].number].untyped_storage().data_ptr():
                result = call.results[0]
                assert result is not None
                names[result] = Slot("out", len(outside))
                outside.append(view)
                continue
        remaining.append(call)
    return tuple(remaining), names


def _substitute_slots(value: Any, outside: ExternalTensors) -> Any:
    if isinstance(value, Slot):
        return outside[value.number].detach()
    if isinstance(value, (list, tuple)):
        return type(value)(_substitute_slots(part, outside) for part in value)
    if isinstance(value, dict):
        return {key: _substitute_slots(part, outside) for key, part in value.items()}
    return value


def cancel_transposes(
    calls: Calls, kept: set[Slot], outside: ExternalTensors
) -> tuple[Calls, dict[Slot, Slot]]:
    """Replace ``t(t(x))`` by x."""
    names: dict[Slot, Slot] = {}
    transposed: dict[Slot, Slot] = {}
    remaining: list[CapturedCall] = []
    for call in calls:
        call = rename_slots(call, names)
        if describe_operator(call.func).name == "aten::t" and call.result_structure == "one":
            operand, result = call.args[0], call.results[0]
            assert result is not None
            if operand in transposed:
                names[result] = transposed[operand]
                continue
            transposed[result] = operand
        remaining.append(call)
    return tuple(remaining), names


def eliminate_dead_calls(
    calls: Calls, kept: set[Slot], outside: ExternalTensors
) -> tuple[Calls, dict[Slot, Slot]]:
    """Remove calls with unused results, except those with side effects: writes, random numbers,
    communication.
    """
    needed = set(kept)
    remaining: list[CapturedCall] = []
    for call in reversed(calls):
        operator = describe_operator(call.func)
        effect = (
            operator.is_mutable
            or torch.Tag.nondeterministic_seeded in call.func.tags
            or call.result_structure == "none"
            or operator.name.startswith("millrace::")  # other processes take part in it
        )
        if effect or any(slot in needed for slot in call.results):
            needed.update(iter_slots((call.args, call.kwargs)))
            remaining.append(call)
    return tuple(reversed(remaining)), {}


Pass = Callable[[Calls, set[Slot], ExternalTensors], tuple[Calls, dict[Slot, Slot]]]
PASSES: tuple[Pass, ...] = (fold_constant_views, cancel_transposes, eliminate_dead_calls)
