"""A recording that can be kept in a file: its calls as plain data, its tensors by number.

Only operators of PyTorch's own library (``aten``) can be named in such a file, and only with numbers, words, types and
tensors: reading one runs nothing but these.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from millrace.core.errors import FormatError, OperationError
from millrace.tensor.private import below_autograd

from .recording import Recorder, Slot

__all__ = ["StoredGraph", "store"]

VERSION = 1
_NAMED: dict[str, dict[str, Any]] = {
    "dtype": {str(each): each for each in vars(torch).values() if isinstance(each, torch.dtype)},
    "layout": {str(each): each for each in (torch.strided, torch.sparse_coo)},
    "memory_format": {
        str(each): each for each in (torch.contiguous_format, torch.channels_last, torch.preserve_format)
    },
}
_OPERATOR = re.compile(r"aten::(\w+)(?:\.(\w+))?")


class StoredGraph:
    """What was recorded of a net's forward pass: called with tensors, it gives what the net gave.

    ``names`` are the parameters among its tensors, by place; ``inputs`` shapes and types of what it takes.
    """

    def __init__(self, described: dict[str, Any], tensors: list[torch.Tensor]) -> None:
        try:
            if described["version"] != VERSION:
                raise FormatError(
                    f"the archive has version {described['version']}, this Millrace reads {VERSION}"
                )
            self.calls = [_Call(each) for each in described["calls"]]
            self.results = [Slot(*each) for each in described["results"]]
            self.single = bool(described["single"])
            self.names: list[str | None] = list(described["names"])
            self.inputs = [(tuple(shape), str(dtype)) for shape, dtype in described["inputs"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"the archive's program is damaged: {error!r}") from error
        if len(tensors) != len(self.names):
            raise FormatError(
                f"the archive's program has {len(self.names)} tensors, but {len(tensors)} came with it"
            )
        self.tensors = tensors

    def __call__(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        values: dict[Slot, torch.Tensor] = {Slot("in", place): each for place, each in enumerate(inputs)}
        values |= {Slot("out", place): each for place, each in enumerate(self.tensors)}
        with below_autograd():
            for call in self.calls:
                call(values)
        return [values[slot] for slot in self.results]


class _Call:
    """One call of an operator."""

    def __init__(self, described: list[Any]) -> None:
        name, args, kwargs, results, self.form = described
        found = _OPERATOR.fullmatch(name)
        if found is None or self.form not in ("one", "many", "none"):
            raise ValueError(f"no operator of PyTorch: {name!r}")
        self.func = getattr(getattr(torch.ops.aten, found[1]), found[2] or "default")
        self.args, self.kwargs = _read(args), _read(kwargs)
        self.results: list[Slot | None] = _read(results)

    def __call__(self, values: dict[Slot, torch.Tensor]) -> None:
        made = self.func(*_filled(self.args, values), **_filled(self.kwargs, values))
        many = () if self.form == "none" else (made,) if self.form == "one" else made
        for slot, each in zip(self.results, many, strict=False):
            if slot is not None:
                values[slot] = each


def store(
    forward: Callable[[], Any], inputs: list[torch.Tensor], names: dict[int, str]
) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """What a net's forward pass does, as plain data, and the tensors that it needs; `names` by the ids of tensors."""
    recorder = Recorder(inputs)
    with torch.no_grad(), recorder:
        made = forward()
    if recorder.leaving is not None:
        raise OperationError(
            f"the net cannot be exported: {recorder.leaving.what} leaves for Python at "
            f"{recorder.leaving.where or 'a line unknown'}, and what Python does with it cannot be recorded"
        )
    single = isinstance(made, torch.Tensor)
    results = [recorder.slot_of(each) for each in ([made] if single else made)]
    described = {
        "version": VERSION,
        "calls": [
            [
                _name(each.func),
                _written(each.args),
                _written(each.kwargs),
                _written(list(each.results)),
                each.form,
            ]
            for each in recorder.calls
        ],
        "results": [list(each) for each in results],
        "single": single,
        "inputs": [[list(each.shape), str(each.dtype)] for each in inputs],
    }
    tensors = [each.detach() for each in recorder.outside]
    described["names"] = [names.get(each.untyped_storage().data_ptr()) for each in tensors]
    return described, tensors


def _name(func: Any) -> str:
    namespace, _, name = func._schema.name.partition("::")
    if namespace != "aten":
        raise OperationError(f"the net cannot be exported: {func} is no operator of PyTorch's own")
    overload = func._schema.overload_name
    return f"{namespace}::{name}.{overload}" if overload else f"{namespace}::{name}"


def _written(value: Any) -> Any:
    """A value as JSON: what JSON has not is a dict with one key."""
    if isinstance(value, Slot):
        return {"slot": list(value)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, (list, tuple)):
        return [_written(each) for each in value]
    if isinstance(value, dict):
        return {"dict": {key: _written(each) for key, each in value.items()}}
    if isinstance(value, torch.device):
        return {"device": "cpu"}
    for kind, known in _NAMED.items():
        if str(value) in known:
            return {kind: str(value)}
    raise OperationError(f"the net cannot be exported: it uses {value!r}, which has no place in a file")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "slot":
        return Slot(*inner)
    if kind == "float":
        return float.fromhex(inner)
    if kind == "dict":
        return {key: _read(each) for key, each in inner.items()}
    if kind == "device":
        return torch.device("cpu")
    return _NAMED[kind][inner]


def _filled(value: Any, values: dict[Slot, torch.Tensor]) -> Any:
    if isinstance(value, Slot):
        return values[value]
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, values) for key, each in value.items()}
    return value
