"""Export of a captured program as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import OperationError
from millrace._src.runtime.tensor.backend.torch_private import describe_operator

from .allowed_operators import denial_reason, is_emitted
from .capture import CapturedCall, GraphCapture
from .stored_arguments import slots_in, write_value

__all__ = ["UNINITIALISED", "VERSIONS", "generalize_rows", "qualified_name", "store_program"]

# 1: lengths are constants; 2: some depend on the batch size
VERSIONS = (1, 2)
# Operators that return uninitialized memory -> their replacement in the file. Calls with unused results are omitted.
UNINITIALISED = {
    "aten::empty.memory_format": torch.ops.aten.zeros.default,
    "aten::empty_like": torch.ops.aten.zeros_like.default,
    "aten::new_empty": torch.ops.aten.new_zeros.default,
}


def store_program(
    forward: Callable[[], Any], inputs: list[torch.Tensor], names: dict[int, str]
) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """The forward pass of a network as plain data, and its tensors; `names` maps ids of tensors to names."""
    recorder = GraphCapture(inputs)
    with torch.no_grad(), recorder:
        outputs = forward()
    if recorder.graph_break is not None:
        raise OperationError(
            f"the network cannot be exported: Python reads {recorder.graph_break.cause} at "
            f"{recorder.graph_break.source_line or 'an unknown line'}, and what Python does with it cannot be captured"
        )
    single = isinstance(outputs, torch.Tensor)
    results = [recorder.slot_of(tensor) for tensor in ([outputs] if single else outputs)]
    used = {slot for call in recorder.calls for slot in slots_in(_tuples_to_lists([call.args, call.kwargs]))}
    used |= set(results)
    calls = [
        _replace_uninitialised(call)
        for call in recorder.calls
        if qualified_name(call.func) not in UNINITIALISED or used.intersection(call.results)
    ]
    described = {
        "version": VERSIONS[0],
        "calls": [
            [
                _name(call.func, call.source_line),
                write_value(call.args),
                write_value(call.kwargs),
                write_value(list(call.results)),
                call.result_structure,
            ]
            for call in calls
        ],
        "results": [list(slot) for slot in results],
        "single": single,
        "inputs": [[list(tensor.shape), str(tensor.dtype)] for tensor in inputs],
    }
    tensors = [tensor.detach() for tensor in recorder.external_tensors]
    described["names"] = [names.get(tensor.untyped_storage().data_ptr()) for tensor in tensors]
    return described, tensors


def generalize_rows(recorded: Sequence[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """One program for any batch size, from captures of the same network with several batch sizes.

    An integer that differs between them must be an affine function of the batch size.
    """
    program = _merge_values([rows for rows, _ in recorded], [description for _, description in recorded], ())
    program["version"] = VERSIONS[1]
    return program


def _merge_values(rows: list[int], values: list[Any], path: tuple[Any, ...]) -> Any:
    first = values[0]
    if all(value == first for value in values):
        return first
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        times, remainder = divmod(values[1] - first, rows[1] - rows[0])
        offset = first - times * rows[0]
        if not remainder and all(times * n + offset == value for n, value in zip(rows, values, strict=True)):
            return -1 if path and path[0] == "inputs" else {"rows": [times, offset]}
    elif all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [
            _merge_values(rows, list(value), (*path, n)) for n, value in enumerate(zip(*values, strict=True))
        ]
    elif all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        return {key: _merge_values(rows, [value[key] for value in values], (*path, key)) for key in first}
    raise OperationError(
        "the network cannot be exported for any number of rows: with "
        f"{', '.join(map(str, rows))} rows its programs differ ({'.'.join(map(str, path))}: "
        f"{', '.join(str(value)[:60] for value in values)}). Export it for one number of rows, "
        "with tensors of that shape"
    )


def _tuples_to_lists(value: Any) -> Any:
    return [_tuples_to_lists(item) for item in value] if type(value) in (list, tuple) else value


def _replace_uninitialised(call: CapturedCall) -> CapturedCall:
    """The call with zeros instead of uninitialized memory."""
    zeros = UNINITIALISED.get(qualified_name(call.func))
    if zeros is None:
        return call
    kept = {
        name: value
        for name, value in call.kwargs.items()
        if name != "memory_format" or "like" in zeros.__name__
    }
    return call._replace(func=zeros, kwargs=kept)


def qualified_name(func: Any) -> str:
    """The name of an operator in the table, ``aten::add.Tensor``."""
    operator = describe_operator(func)
    return f"{operator.name}.{operator.overload}" if operator.overload else operator.name


def _name(func: Any, where: str) -> str:
    name = qualified_name(func)
    if not is_emitted(name):
        reason = denial_reason(name) or "it is not in the operator table"
        raise OperationError(
            f"the network cannot be exported: a program in a file cannot call {name} ({where or 'line unknown'}): "
            f"{reason}. Compute it outside of the network, or export as ONNX"
        )
    return name
