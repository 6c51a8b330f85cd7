"""A recording that can be kept in a file: its calls as plain data, its tensors by number.

Only operators of PyTorch's own library (``aten``) can be named in such a file, and only with numbers, words, types and
tensors: reading one runs nothing but these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from millrace.core.errors import FormatError, OperationError
from millrace.tensor.private import below_autograd, describe_operator

from .recording import Recorder, Slot

__all__ = ["StoredGraph", "for_any_rows", "store"]

# 1: lengths are what they were; 2: some are said by the number of rows
VERSIONS = (1, 2)
_NAMED: dict[str, dict[str, Any]] = {
    "dtype": {str(each): each for each in vars(torch).values() if isinstance(each, torch.dtype)},
    "layout": {str(each): each for each in (torch.strided, torch.sparse_coo)},
    "memory_format": {
        str(each): each for each in (torch.contiguous_format, torch.channels_last, torch.preserve_format)
    },
}
_OPERATOR = re.compile(r"aten::(\w+)(?:\.(\w+))?")


class Rows(NamedTuple):
    """A length that the number of rows says: so many times that number, and so many more."""

    times: int
    more: int


class StoredGraph:
    """What was recorded of a net's forward pass: called with tensors, it gives what the net gave.

    ``names`` are the parameters among its tensors, by place; ``inputs`` shapes and types of what it takes, -1 being the
    number of rows where any will do; ``input_names`` what the net calls them.
    """

    def __init__(self, described: dict[str, Any], tensors: list[torch.Tensor]) -> None:
        try:
            if described["version"] not in VERSIONS:
                raise FormatError(
                    f"the archive has version {described['version']}, this Millrace reads up to {VERSIONS[-1]}"
                )
            self.calls = [_Call(each) for each in described["calls"]]
            self.results = [Slot(*each) for each in described["results"]]
            self.single = bool(described["single"])
            self.names: list[str | None] = list(described["names"])
            self.inputs = [(tuple(map(int, shape)), str(dtype)) for shape, dtype in described["inputs"]]
            usual = [f"x{place}" for place in range(len(self.inputs))] if len(self.inputs) > 1 else ["x"]
            self.input_names = [str(name) for name in described.get("input_names", usual)]
            if len(self.input_names) != len(self.inputs):
                raise ValueError(f"{len(self.inputs)} inputs, {len(self.input_names)} names of inputs")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"the archive's program is damaged: {error!r}") from error
        if len(tensors) != len(self.names):
            raise FormatError(
                f"the archive's program has {len(self.names)} tensors, but {len(tensors)} came with it"
            )
        self.tensors = tensors

    def fits(self, found: Sequence[tuple[tuple[int, ...], str]]) -> bool:
        """Whether inputs of these shapes and types can be taken."""
        rows = {
            shape[0] for (shape, _), (mine, _) in zip(found, self.inputs, strict=False) if mine[:1] == (-1,)
        }
        if len(found) != len(self.inputs) or len(rows) > 1:
            return False
        return all(
            dtype == kind
            and len(shape) == len(mine)
            and all(m in (n, -1) for m, n in zip(mine, shape, strict=True))
            for (shape, dtype), (mine, kind) in zip(found, self.inputs, strict=True)
        )

    def __call__(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        values: dict[Any, Any] = {Slot("in", place): each for place, each in enumerate(inputs)}
        values |= {Slot("out", place): each for place, each in enumerate(self.tensors)}
        for each, (shape, _) in zip(inputs, self.inputs, strict=True):
            if shape[:1] == (-1,):
                values[Rows] = each.shape[0]
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

    def __call__(self, values: dict[Any, Any]) -> None:
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
        "version": VERSIONS[0],
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


def _name(func: Any) -> str:
    operator = describe_operator(func)
    namespace, _, name = operator.name.partition("::")
    if namespace != "aten":
        raise OperationError(f"the net cannot be exported: {func} is no operator of PyTorch's own")
    overload = operator.overload
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
    if kind == "rows":
        return Rows(*map(int, inner))
    if kind == "float":
        return float.fromhex(inner)
    if kind == "dict":
        return {key: _read(each) for key, each in inner.items()}
    if kind == "device":
        return torch.device("cpu")
    return _NAMED[kind][inner]


def _filled(value: Any, values: dict[Any, Any]) -> Any:
    if isinstance(value, Slot):
        return values[value]
    if isinstance(value, Rows):
        return value.times * values[Rows] + value.more
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, values) for key, each in value.items()}
    return value
