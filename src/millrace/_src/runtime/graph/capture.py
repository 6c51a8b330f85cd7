"""Graph capture: records every call that reaches PyTorch's kernels, forward, backward and optimizer alike.

The step runs while it is captured. A tensor in a captured call is identified by its source: an argument of
the step, a result of an earlier call, or an external tensor (a Parameter, a constant), which is kept by
reference so that later writes to it are visible.
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

# Calls that read a tensor's value from Python: what Python does with it cannot be captured.
_HOST_READ_OPS = frozenset({"aten::is_nonzero", "aten::item", "aten::equal"}) | PRIVATE_OPERATORS["values"]
# Calls whose result shape depends on values: what Python does with such a shape cannot be captured.
_DATA_DEPENDENT_SHAPE_OPS = PRIVATE_OPERATORS["shapes"] | {
    "aten::nonzero", "aten::masked_select", "aten::unique_dim", "aten::unique_consecutive",
}  # fmt: skip
# Operators with a scalar operand, which PyTorch converts to a tensor in every call: that takes longer than the kernel.
_SCALAR_OPERAND_OPS = {
    f"aten::{name}": getattr(torch.ops.aten, name).Tensor
    for name in ("add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_")
}
_SCALAR_TENSOR_DTYPES = (torch.float32, torch.float64)
# Below autograd these return the tensor itself.
_ALIAS_OPS = frozenset({"aten::detach", "aten::alias", "aten::lift_fresh"})


class Slot(NamedTuple):
    """The source of a tensor: an argument ("in"), an earlier call ("temp"), or an external tensor ("out")."""

    source: str
    number: int


class CapturedCall(NamedTuple):
    """A captured call: operator, arguments with slots for tensors, slots of the results, and the user's
    source line.
    """

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[Slot | None, ...]
    # structure of the results: "one", "many" (a tuple or list), "nest" (a tuple that contains lists), or "none"
    result_structure: str
    source_line: str
    # for "nest": the length of each list, -1 for a single tensor
    lengths: tuple[int, ...] = ()


class GraphBreak(NamedTuple):
    """Why a step cannot be replayed: what Python read, and the user's source line."""

    cause: str
    source_line: str


class GraphCapture(DispatchMode):
    """Runs and captures the operations inside its ``with`` block."""

    def __init__(self, inputs: list[torch.Tensor]) -> None:
        super().__init__()
        self.calls: list[CapturedCall] = []
        self.external_tensors: list[torch.Tensor] = []
        self.num_temporaries = 0
        self.graph_break: GraphBreak | None = None
        self._slots: dict[int, tuple[weakref.ref[torch.Tensor], Slot]] = {}
        self._scalar_tensors: dict[tuple[torch.dtype, str], torch.Tensor] = {}
        # of results: shape, dtype, strides and device; and the owner of the storage of those that share one
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
        """Record a graph break; the step itself continues."""
        if self.graph_break is None:
            self.graph_break = GraphBreak(cause, user_source_line())

    def is_external(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is neither an input nor computed in the capture: an attribute, or a constant."""
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
        self.external_tensors.append(tensor)  # a reference is kept, so that its id is not reused
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
            return  # for example a property of types: the same in every replay
        if structure == "other":
            self.break_graph(f"a result that is no tensor ({name})")
            return
        lengths = tuple(len(m) if isinstance(m, list) else -1 for m in result) if structure == "nest" else ()
        self.calls.append(CapturedCall(func, *templates, results, structure, user_source_line(), lengths))

    def _replace_scalar_operand(self, func: Any, left: Any, right: Any) -> tuple[Any, tuple[Any, Any]]:
        """The same call with its scalar operand as a cached tensor.

        The bits are the same: PyTorch rounds the scalar to the dtype of the other operand too, and the result
        dtype cannot change.
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
        """Record shape, dtype, strides and device of new results, and the argument whose storage they share."""
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
            return known[1]  # modified in place
        slot = Slot("temp", self.num_temporaries)
        self.num_temporaries += 1
        self._assign_slot(tensor, slot)
        return slot


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Iterate over the tensors of arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)


def _storage(tensor: torch.Tensor) -> int:
    """The address of the storage; 0 for tensors without one, such as empty and sparse tensors."""
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0
