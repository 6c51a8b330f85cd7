"""Memory of a serialized program, computed before it runs on meta tensors, which have shapes and no memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from millrace._src.core import limits
from millrace._src.core.errors import FormatError
from millrace._src.runtime.tensor.backend.torch_private import below_autograd, storage_key

from .capture import Slot
from .shape_rules import RULES
from .stored_arguments import DTYPES, Rows

if TYPE_CHECKING:
    from .program_serialization import SerializedProgram, StoredCall

__all__ = ["ProgramSize", "SizeError", "measure_program"]

_META = torch.device("meta")


class SizeError(FormatError):
    """A program that needs more memory, or more rows, than the limits allow."""


class _LiveBytes:
    """Total bytes of the live storages."""

    def __init__(self) -> None:
        self.bytes = 0
        self._holders: dict[int, int] = {}
        self._storages: dict[int, int] = {}

    def hold(self, tensor: torch.Tensor) -> None:
        key = storage_key(tensor)
        holders = self._holders.get(key, 0)
        if not holders:
            self._storages[key] = tensor.untyped_storage().nbytes()
            self.bytes += self._storages[key]
        self._holders[key] = holders + 1
        logical = math.prod(tensor.shape) * tensor.element_size()
        most = limits.ARCHIVE.result_bytes
        if max(logical, self._storages[key]) > most:
            size = max(logical, self._storages[key])
            raise SizeError(f"a result has the shape {tuple(tensor.shape)}, {size} bytes, more than {most}")
        if self.bytes > limits.ARCHIVE.live_bytes:
            raise SizeError(
                f"the results take {self.bytes} bytes at one time, more than {limits.ARCHIVE.live_bytes}"
            )

    def release(self, tensor: torch.Tensor) -> None:
        key = storage_key(tensor)
        self._holders[key] -= 1
        if not self._holders[key]:
            self.bytes -= self._storages[key]


class ProgramSize(NamedTuple):
    """Properties of a program for one batch size."""

    # indices of inputs and constants that it writes to, or that it returns
    copies: set[int]
    # per call: index, shape and dtype of every result that is read later
    expected: list[list[tuple[int, torch.Size, torch.dtype]]]


def measure_program(graph: SerializedProgram, rows: int) -> ProgramSize:
    """Check every call of a program for a batch size, without running it.

    Raises FormatError if a call cannot be computed, or exceeds the limits.
    """
    values: list[Any] = [
        torch.empty((rows, *shape[1:]) if shape[:1] == (-1,) else shape, dtype=DTYPES[dtype], device=_META)
        for shape, dtype in graph.inputs
    ]
    values += [torch.empty(tensor.shape, dtype=tensor.dtype, device=_META) for tensor in graph.tensors]
    fixed = list(values)  # keeps their storages alive, so that keys are unique
    owners = {storage_key(tensor): index for index, tensor in enumerate(fixed)}
    values += [None] * (len(graph.value_indices) - len(values))
    live = _LiveBytes()
    copies: set[int] = set()
    expected = []
    with below_autograd():
        for number, call in enumerate(graph.calls):
            try:
                copies |= _owners_of(call.written_slots, values, graph.value_indices, owners)
                results = _infer(call, values, graph.value_indices, rows)
                expected.append(_store_results(call, results, values, graph.value_indices, live))
            except SizeError as error:
                message = f"the archive's program, call {number} ({call.operator.name}): {error.message}"
                raise SizeError(message) from None
            except Exception as error:  # meta kernels raise errors of many classes
                raise FormatError(
                    f"the archive's program, call {number} ({call.operator.name}): its result cannot be computed from "
                    f"the shapes of its arguments: {str(error)[:300]}"
                ) from error
            for index in call.unused:
                if values[index] is not None:
                    live.release(values[index])
                    values[index] = None
    if any(values[graph.value_indices[slot]] is None for slot in graph.results):
        raise FormatError("the archive's program returns a tensor that no program may read")
    returned = _owners_of(graph.results, values, graph.value_indices, owners)
    # modifying a result must not modify a constant
    copies |= {index for index in returned if index >= len(graph.inputs)}
    return ProgramSize(copies, expected)


def _owners_of(
    slots: list[Slot], values: list[Any], value_indices: dict[Slot, int], owners: dict[int, int]
) -> set[int]:
    """The indices of inputs and constants whose storage these tensors use."""
    keys = [storage_key(values[value_indices[slot]]) for slot in slots]
    return {owners[key] for key in keys if key in owners}


def _infer(call: StoredCall, values: list[Any], value_indices: dict[Slot, int], rows: int) -> Any:
    args = [_meta_argument(value, values, value_indices, rows) for value in call.args]
    kwargs = {name: _meta_argument(value, values, value_indices, rows) for name, value in call.kwargs.items()}
    if any(argument.type == "Device" for argument in call.operator.arguments):
        kwargs["device"] = _META  # else an operator that creates a tensor would allocate it here
    rule = RULES.get(call.operator.name)
    if rule is not None:
        result = rule(*args, **kwargs)
        if result is not NotImplemented:
            return result
    return call.func(*args, **kwargs)


def _store_results(
    call: StoredCall, computed: Any, values: list[Any], value_indices: dict[Slot, int], live: _LiveBytes
) -> list[tuple[int, torch.Size, torch.dtype]]:
    """Store the results of a call for later calls; returns what the CPU kernel must return."""
    results = () if call.form == "none" else (computed,) if call.form == "one" else tuple(computed)
    if len(results) != len(call.results):
        raise ValueError(f"expected {len(call.results)} results, got {len(results)}")
    expected = []
    for slot, tensor in zip(call.results, results, strict=True):
        if tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor) or tensor.device != _META or tensor.layout != torch.strided:
            raise ValueError("expected dense tensors as results")
        if slot is None:
            live.hold(tensor)
            live.release(tensor)
            continue
        index = value_indices[slot]
        if index not in call.unused:
            expected.append((index, tensor.shape, tensor.dtype))
        if values[index] is not tensor:
            live.hold(tensor)
            if slot.source == "temp" and values[index] is not None:
                live.release(values[index])
            values[index] = tensor
    return expected


def _meta_argument(value: Any, values: list[Any], value_indices: dict[Slot, int], rows: int) -> Any:
    if isinstance(value, Slot):
        return values[value_indices[value]]
    if isinstance(value, Rows):
        return value.times * rows + value.offset
    if isinstance(value, list):
        return [_meta_argument(item, values, value_indices, rows) for item in value]
    return _META if isinstance(value, torch.device) else value
