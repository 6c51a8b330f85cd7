"""Writing a recording as plain data: what the exporter emits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import OperationError
from millrace._src.runtime.tensor.backend.torch_private import describe_operator

from .allowed_operators import denial, emitted
from .capture import CapturedCall, GraphCapture
from .stored_arguments import slots_in, write_value

__all__ = ["UNINITIALISED", "VERSIONS", "for_any_rows", "qualified_name", "store"]

# 1: lengths are constants; 2: some depend on the number of rows
VERSIONS = (1, 2)
# Operators that return uninitialised memory -> what is written in their place. Unused results are not written at all.
UNINITIALISED = {
    "aten::empty.memory_format": torch.ops.aten.zeros.default,
    "aten::empty_like": torch.ops.aten.zeros_like.default,
    "aten::new_empty": torch.ops.aten.new_zeros.default,
}


def store(
    forward: Callable[[], Any], inputs: list[torch.Tensor], names: dict[int, str]
) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """The forward pass of a network as plain data, and the tensors that it needs; `names` by the ids of tensors."""
    recorder = GraphCapture(inputs)
    with torch.no_grad(), recorder:
        outputs = forward()
    if recorder.graph_break is not None:
        raise OperationError(
            f"the net cannot be exported: {recorder.graph_break.what} leaves for Python at "
            f"{recorder.graph_break.where or 'a line unknown'}, and what Python does with it cannot be recorded"
        )
    single = isinstance(outputs, torch.Tensor)
    results = [recorder.slot_of(tensor) for tensor in ([outputs] if single else outputs)]
    used = {slot for call in recorder.calls for slot in slots_in(_lists([call.args, call.kwargs]))}
    used |= set(results)
    calls = [
        _initialised(call)
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


def for_any_rows(recorded: Sequence[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """One program for any number of rows, from recordings of the same net with several such numbers.

    A number that differs between them must follow from the number of rows: so many times it, and so many more.
    """
    made = _common([rows for rows, _ in recorded], [each for _, each in recorded], ())
    made["version"] = VERSIONS[1]
    return made


def _common(rows: list[int], found: list[Any], place: tuple[Any, ...]) -> Any:
    first = found[0]
    if all(each == first for each in found):
        return first
    if all(isinstance(each, int) and not isinstance(each, bool) for each in found):
        times, left = divmod(found[1] - first, rows[1] - rows[0])
        more = first - times * rows[0]
        if not left and all(times * n + more == each for n, each in zip(rows, found, strict=True)):
            return -1 if place and place[0] == "inputs" else {"rows": [times, more]}
    elif all(isinstance(each, list) and len(each) == len(first) for each in found):
        return [_common(rows, list(each), (*place, n)) for n, each in enumerate(zip(*found, strict=True))]
    elif all(isinstance(each, dict) and each.keys() == first.keys() for each in found):
        return {key: _common(rows, [each[key] for each in found], (*place, key)) for key in first}
    raise OperationError(
        "the net cannot be exported for any number of rows: with "
        f"{', '.join(map(str, rows))} rows it does different things ({'.'.join(map(str, place))}: "
        f"{', '.join(str(each)[:60] for each in found)}). Export it for one number, with tensors of that shape"
    )


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if type(value) in (list, tuple) else value


def _initialised(call: CapturedCall) -> CapturedCall:
    """The call, with zeros in the place of uninitialised memory."""
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
    """The name of an operator as the table has it, ``aten::add.Tensor``."""
    operator = describe_operator(func)
    return f"{operator.name}.{operator.overload}" if operator.overload else operator.name


def _name(func: Any, where: str) -> str:
    name = qualified_name(func)
    if not emitted(name):
        reason = denial(name) or "it is not in the operator table"
        raise OperationError(
            f"the network cannot be exported: a program in a file cannot call {name} ({where or 'line unknown'}): "
            f"{reason}. Compute it outside of the network, or export as ONNX"
        )
    return name
