"""Writing a step down: every call that reaches PyTorch's kernels, forward, backward and optimizer alike.

The step really runs while it is recorded. A tensor in a recorded call is named by where it came from: an argument of
the step, a result of an earlier call, or something that lives outside (a Parameter, a constant), which is kept by
reference so that later writes to it are seen.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from millrace._src.runtime.tensor import storage
from millrace._src.runtime.tensor.backend.torch_private import (
    PRIVATE_OPERATORS,
    DispatchMode,
    describe_operator,
)
from millrace._src.runtime.tensor.source_location import user_source_line

__all__ = ["GraphBreak", "CapturedCall", "GraphCapture", "Slot"]

# Calls by which a value of a tensor reaches Python: what Python then does with it is not in the recording.
_HOST_READ_OPS = frozenset({"aten::is_nonzero", "aten::item", "aten::equal"}) | PRIVATE_OPERATORS["values"]
# Results whose shape depends on values: what Python does with such a shape is not in the recording.
_DATA_DEPENDENT_SHAPE_OPS = PRIVATE_OPERATORS["shapes"] | {
    "aten::nonzero", "aten::masked_select", "aten::unique_dim", "aten::unique_consecutive",
}  # fmt: skip
# Operators with a number, of which PyTorch makes a tensor in every call: that takes longer than the rest of it.
_SCALAR_OPERAND_OPS = {
    f"aten::{name}": getattr(torch.ops.aten, name).Tensor
    for name in ("add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_")
}
_SCALAR_TENSOR_DTYPES = (torch.float32, torch.float64)
# Below autograd these give the tensor itself.
_ALIAS_OPS = frozenset({"aten::detach", "aten::alias", "aten::lift_fresh"})


class Slot(NamedTuple):
    """Where a tensor comes from: an argument ("in"), an earlier call ("temp"), or outside ("out")."""

    source: str
    number: int


class CapturedCall(NamedTuple):
    """One call: the operator, its arguments with slots for tensors, the slots of its results, and the user's line."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[Slot | None, ...]
    # how the results come: "one", "many" (a tuple or list of them), "nest" (a tuple with lists in it), or "none"
    result_structure: str
    source_line: str
    # of a nest: how many results each list has, -1 for one that stands alone
    lengths: tuple[int, ...] = ()


class GraphBreak(NamedTuple):
    """Why a step cannot be replayed: what left for Python, and the user's line."""

    cause: str
    source_line: str


class GraphCapture(DispatchMode):
    """Runs and writes down what happens inside its ``with`` block."""

    def __init__(self, inputs: list[torch.Tensor]) -> None:
        super().__init__()
        self.calls: list[CapturedCall] = []
        self.external_tensors: list[torch.Tensor] = []
        self.num_temporaries = 0
        self.graph_break: GraphBreak | None = None
        self._slots: dict[int, tuple[weakref.ref[torch.Tensor], Slot]] = {}
        self._scalar_tensors: dict[tuple[torch.dtype, str], torch.Tensor] = {}
        # of results: shape, type, strides and device; and in whose storage those are that have none of their own
        self.result_specs: dict[Slot, Any] = {}
        self.storage_owners: dict[Slot, Slot] = {}
        for number, tensor in enumerate(inputs):
            self._assign_slot(tensor, Slot("in", number))

    def __enter__(self) -> GraphCapture:
        storage.host_read_listeners.append(self.break_graph)
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        storage.host_read_listeners.remove(self.break_graph)

    def break_graph(self, cause: str) -> None:
        """A value has gone where the recording cannot follow; the step itself goes on."""
        if self.graph_break is None:
            self.graph_break = GraphBreak(cause, user_source_line())

    def is_external(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is neither an input nor computed here: an attribute, or a constant."""
        known = self._slots.get(id(tensor))
        return known is None or known[0]() is not tensor or known[1].source == "out"

    # slots ------------------------------------------------------------------------------------------

    def _assign_slot(self, tensor: torch.Tensor, slot: Slot) -> None:
        self._slots[id(tensor)] = weakref.ref(tensor), slot

    def slot_of(self, tensor: torch.Tensor) -> Slot:
        known = self._slots.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        slot = Slot("out", len(self.external_tensors))
        self.external_tensors.append(tensor)  # alive from here on: its number stays its own
        self._assign_slot(tensor, slot)
        return slot

    def _template(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.slot_of(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self._template(part) for part in value)
        if isinstance(value, dict):
            return {key: self._template(part) for key, part in value.items()}
        return value

    # calls ------------------------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self.graph_break is None:
            self._record_call(func, args, kwargs, result)
        return result

    def _record_call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        name = describe_operator(func).name
        if name in _HOST_READ_OPS:
            self.break_graph("the value of a tensor")
            return
        if name in _DATA_DEPENDENT_SHAPE_OPS:
            self.break_graph(f"a shape that depends on values ({name.partition('::')[2]})")
            return
        if name in _ALIAS_OPS and isinstance(result, torch.Tensor) and isinstance(args[0], torch.Tensor):
            self._assign_slot(result, self.slot_of(args[0]))
            return
        if name in _SCALAR_OPERAND_OPS and not kwargs and len(args) == 2:
            func, args = self._replace_scalar_operand(func, *args)
        templates = self._template(args), self._template(kwargs)
        first_new = self.num_temporaries
        results, structure = self._slots_of_results(result)
        if self.num_temporaries > first_new:
            self._record_result_specs(result, (args, kwargs), first_new)
        if structure == "other" and not any(isinstance(each, torch.Tensor) for each in args):
            return  # a fact about types, say: the same in every replay
        if structure == "other":
            self.break_graph(f"a result that is no tensor ({name})")
            return
        lengths = tuple(len(m) if isinstance(m, list) else -1 for m in result) if structure == "nest" else ()
        self.calls.append(CapturedCall(func, *templates, results, structure, user_source_line(), lengths))

    def _replace_scalar_operand(self, func: Any, left: Any, right: Any) -> tuple[Any, tuple[Any, Any]]:
        """The same call with its number as a tensor that is made once.

        The bits stay: in the type of the other operand, to which PyTorch rounds it too, it cannot change the result's.
        """
        number = type(right) is float or (type(right) is int and abs(right) < 2**53)
        if not number or left.dtype not in _SCALAR_TENSOR_DTYPES or left.device.type != "cpu":
            return func, (left, right)
        key = (left.dtype, repr(float(right)))
        if key not in self._scalar_tensors:
            self._scalar_tensors[key] = torch.tensor(right, dtype=left.dtype)
        return _SCALAR_OPERAND_OPS[describe_operator(func).name], (left, self._scalar_tensors[key])

    def _slots_of_results(self, value: Any) -> tuple[tuple[Slot | None, ...], str]:
        if value is None:
            return (), "none"
        if isinstance(value, torch.Tensor):
            return (self._slot_of_result(value),), "one"
        if isinstance(value, (tuple, list)) and all(isinstance(m, torch.Tensor) or m is None for m in value):
            return tuple(None if m is None else self._slot_of_result(m) for m in value), "many"
        if isinstance(value, tuple) and all(isinstance(m, (torch.Tensor, list)) or m is None for m in value):
            flat = [part for m in value for part in (m if isinstance(m, list) else [m])]
            if all(isinstance(part, torch.Tensor) or part is None for part in flat):
                return tuple(None if part is None else self._slot_of_result(part) for part in flat), "nest"
        return (), "other"

    def _record_result_specs(self, result: Any, arguments: Any, first_new: int) -> None:
        """Note what new results are, and which argument's storage they are in, if it is one's."""
        storages = {_storage(tensor): self.slot_of(tensor) for tensor in _tensors(arguments)}
        for tensor in _tensors(result):
            slot = self.slot_of(tensor)
            if slot.source == "temp" and slot.number >= first_new:
                self.result_specs[slot] = tensor.shape, tensor.dtype, tensor.stride(), tensor.device
                holder = storages.setdefault(_storage(tensor), slot)
                if holder != slot:
                    self.storage_owners[slot] = holder

    def _slot_of_result(self, tensor: torch.Tensor) -> Slot:
        known = self._slots.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]  # written in place
        slot = Slot("temp", self.num_temporaries)
        self.num_temporaries += 1
        self._assign_slot(tensor, slot)
        return slot


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors inside arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)


def _storage(tensor: torch.Tensor) -> int:
    """Where its memory begins; 0 for all that have none, such as empty and sparse tensors."""
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0
