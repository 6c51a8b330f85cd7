"""Serialized programs: captured calls as plain data, tensors by index.

Reading a program runs nothing. It calls only operators of the table in ``allowed_operators.py``, with
arguments that fit their schemas. The size of every result is computed with meta tensors and limited before
the first call runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core import limits
from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.runtime.tensor.backend.torch_private import below_autograd

from .allowed_operators import UNDECLARED_WRITES, Operator, refusal_message, resolve_operator
from .capture import Slot
from .program_export import UNINITIALISED, VERSIONS, generalize_rows, store_program
from .stored_arguments import DTYPES, Rows, parse_arguments, parse_slot, slots_in
from .stored_sizes import ProgramSize, SizeError, measure_program

__all__ = ["DTYPES", "Rows", "StoredCall", "SerializedProgram", "generalize_rows", "store_program"]

_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
# Maximum number of batch sizes that are remembered as checked.
_REMEMBERED = 4096


class SerializedProgram:
    """The captured forward pass of a network: called with tensors, it returns the network's results.

    ``calls`` are the operators in order; ``results`` the returned slots; ``names`` the parameter names of its
    ``tensors``, by index; ``inputs`` the shapes and dtypes of the inputs, with -1 for a free batch size;
    ``input_names`` their names.
    """

    def __init__(self, described: dict[str, Any], tensors: list[torch.Tensor]) -> None:
        if not isinstance(described, dict):
            raise FormatError("the archive's program is damaged: expected an object")
        version = described.get("version")
        if type(version) is not int or version not in VERSIONS:
            raise FormatError(
                f"the archive has version {str(version)[:20]}, this Millrace reads up to {VERSIONS[-1]}"
            )
        try:
            self.inputs = _parse_inputs(described["inputs"])
            self.names: list[str | None] = _parse_names(described["names"])
            usual = ["x"] if len(self.inputs) == 1 else [f"x{index}" for index in range(len(self.inputs))]
            self.input_names = _parse_input_names(described.get("input_names", usual), len(self.inputs))
            self.has_single_result = _parse_bool(described["single"])
            self.calls, defined = self._parse_calls(described["calls"])
            self.results = [parse_slot(item) for item in _list(described["results"], limits.ARCHIVE.results)]
            unknown = [slot for slot in self.results if slot not in defined]
            if unknown:
                raise ValueError(f"the result {tuple(unknown[0])} is computed nowhere")
            if self.has_single_result and len(self.results) != 1:
                raise ValueError(f"expected one result, got {len(self.results)}")
        except _DAMAGED as error:
            raise FormatError(f"the archive's program is damaged: {error}") from error
        if len(tensors) != len(self.names):
            raise FormatError(
                f"the archive's program has {len(self.names)} tensors, but {len(tensors)} came with it"
            )
        self.tensors = tensors
        self._free = [index for index, (shape, _) in enumerate(self.inputs) if shape[:1] == (-1,)]
        self._compile()
        # batch sizes for which a first call confirmed the computed result shapes
        self._checked: set[int] = set()
        self._sizes: dict[int, ProgramSize] = {}
        for rows in (1, 2) if self._free else (0,):
            self._compute_size(rows)

    def _parse_calls(self, described: Any) -> tuple[list[StoredCall], set[Slot]]:
        defined = {Slot("in", index) for index in range(len(self.inputs))}
        defined |= {Slot("out", index) for index in range(len(self.names))}
        skipped: dict[Slot, str] = {}
        calls = []
        for number, item in enumerate(_list(described, limits.ARCHIVE.calls)):
            try:
                if not isinstance(item, list) or len(item) != 5:
                    raise ValueError("expected an operator, its arguments, its results and their form")
                if isinstance(item[0], str) and item[0] in UNINITIALISED:
                    # Version 0.2.0 wrote such calls for BatchNorm; their results are unused, and they are skipped.
                    skipped |= {slot: item[0] for slot in map(_parse_result, _list(item[3], 1)) if slot}
                    continue
                call = StoredCall(item)
                for slot in (*slots_in(call.args), *slots_in(call.kwargs)):
                    if slot in skipped:
                        raise FormatError(refusal_message(skipped[slot]))
                    if slot not in defined:
                        raise ValueError(f"the tensor {tuple(slot)} is read before it is computed")
                defined |= call.define(defined | skipped.keys())
                calls.append(call)
            except _DAMAGED as error:
                raise ValueError(f"call {number}, {ascii(item)[:60]}: {error}") from error
        return calls, defined

    def _compile(self) -> None:
        """Prepare the calls: tensors by index in a list of values, and which of them no later call reads."""
        order = [Slot("in", index) for index in range(len(self.inputs))]
        order += [Slot("out", index) for index in range(len(self.tensors))]
        fixed = len(order)
        order += sorted(
            {slot for call in self.calls for slot in call.results if slot and slot.source == "temp"}
        )
        self.value_indices = {slot: index for index, slot in enumerate(order)}
        self._blank = [None] * (len(order) - fixed)
        last: dict[Slot, int] = {}
        for number, call in enumerate(self.calls):
            for slot in (*slots_in(call.args), *slots_in(call.kwargs), *filter(None, call.results)):
                last[slot] = number
        kept = set(self.results)
        for slot, number in last.items():
            if slot.source == "temp" and slot not in kept:
                self.calls[number].unused.append(self.value_indices[slot])
        self._steps = [(*call.compile(self.value_indices), number) for number, call in enumerate(self.calls)]
        self._results = [self.value_indices[slot] for slot in self.results]
        self._copies: set[int] = set()

    def accepts_inputs(self, specs: Sequence[tuple[tuple[int, ...], str]]) -> bool:
        """Whether the program accepts inputs of these shapes and dtypes."""
        rows = {
            shape[0]
            for (shape, _), (declared_shape, _) in zip(specs, self.inputs, strict=False)
            if declared_shape[:1] == (-1,) and shape
        }
        if len(specs) != len(self.inputs) or len(rows) > 1:
            return False
        return all(
            dtype == declared_dtype
            and len(shape) == len(declared_shape)
            and all(m in (n, -1) for m, n in zip(declared_shape, shape, strict=True))
            for (shape, dtype), (declared_shape, declared_dtype) in zip(specs, self.inputs, strict=True)
        )

    def _compute_size(self, rows: int) -> ProgramSize:
        """The memory of a call with this batch size; raises FormatError beyond the limits."""
        if rows > limits.ARCHIVE.rows:
            raise SizeError(f"expected at most {limits.ARCHIVE.rows} rows, got {rows}. Send fewer at a time")
        if rows not in self._sizes:
            if len(self._sizes) >= _REMEMBERED:
                self._sizes.clear()
            self._sizes[rows] = measure_program(self, rows)
        self._copies |= self._sizes[rows].copies
        return self._sizes[rows]

    def __call__(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        specs = [(tuple(tensor.shape), str(tensor.dtype)) for tensor in inputs]
        if not self.accepts_inputs(specs):
            raise ArgumentValueError(f"the program: expected inputs {self.inputs}, got {specs}")
        rows = inputs[self._free[0]].shape[0] if self._free else 0
        if rows in self._checked:
            return self._run(inputs, rows, None)
        results = self._run(inputs, rows, self._compute_size(rows).expected)
        if len(self._checked) >= _REMEMBERED:
            self._checked.clear()
        self._checked.add(rows)
        self._sizes.pop(rows, None)
        return results

    def _run(self, inputs: list[torch.Tensor], rows: int, expected: Any) -> list[torch.Tensor]:
        values: list[Any] = [*inputs, *self.tensors, *self._blank]
        with below_autograd():
            for index in self._copies:
                values[index] = values[index].clone()
            for func, template, tensors, open_arguments, kwargs, results, unused, number in self._steps:
                args = template.copy()
                for index, source in tensors:
                    args[index] = values[source]
                if open_arguments:
                    kwargs = _fill_arguments(open_arguments, args, kwargs, values, rows)
                result = func(*args, **kwargs)
                if type(results) is int:
                    values[results] = result
                else:
                    for index, tensor in zip(results, result or (), strict=False):
                        if index >= 0:
                            values[index] = tensor
                if expected is not None:
                    self._compare(number, expected[number], values)
                for index in unused:
                    values[index] = None
        return [values[index] for index in self._results]

    def _compare(self, number: int, expected: Any, values: list[Any]) -> None:
        """Raise an error if a kernel returns another shape or dtype than was computed."""
        for index, shape, dtype in expected:
            tensor = values[index]
            if tensor.shape != shape or tensor.dtype != dtype:
                raise FormatError(
                    f"the archive's program, call {number} ({self.calls[number].operator.name}): expected "
                    f"{tuple(shape)} of {dtype}, got {tuple(tensor.shape)} of {tensor.dtype}"
                )


class StoredCall:
    """One call of an operator: ``func``, ``args`` and ``kwargs`` with slots for tensors, the slots of ``results``."""

    def __init__(self, described: list[Any]) -> None:
        name, args, kwargs, results, self.form = described
        self.operator: Operator = resolve_operator(name)
        self.func = self.operator.func
        if self.form != self.operator.form:
            raise ValueError(
                f"expected results of the form {self.operator.form!r}, got {ascii(self.form)[:20]}"
            )
        self.args, self.kwargs = parse_arguments(self.operator, args, kwargs)
        self.results = [_parse_result(item) for item in _list(results, limits.ARCHIVE.list_items)]
        expected = len(self.operator.returned)
        if expected and len(self.results) != expected:
            raise ValueError(f"expected {expected} results, got {len(self.results)}")
        self.unused: list[int] = []

    @property
    def written_slots(self) -> list[Slot]:
        """The tensors that the call writes to."""
        arguments = {
            argument.name: self.args[index] if index < len(self.args) else self.kwargs.get(argument.name)
            for index, argument in enumerate(self.operator.arguments)
        }
        names = [argument.name for argument in self.operator.arguments if argument.written]
        if self.operator.name in UNDECLARED_WRITES:
            condition, undeclared = UNDECLARED_WRITES[self.operator.name]
            names += undeclared if arguments[condition] else ()
        return [slot for name in names for slot in slots_in([arguments[name]])]

    def define(self, known: set[Slot]) -> set[Slot]:
        """The slots that the call computes. Each is computed once, and none is an input or a constant."""
        computed: set[Slot] = set()
        returned = self.operator.returned or (None,) * len(self.results)
        for slot, source in zip(self.results, returned, strict=True):
            if slot is None:
                continue
            if source is not None and source < len(self.args) and slot == self.args[source]:
                continue
            if slot.source != "temp" or slot in known or slot in computed or source is not None:
                raise ValueError(f"the tensor {tuple(slot)} cannot be assigned here")
            computed.add(slot)
        return computed

    def compile(self, value_indices: dict[Slot, int]) -> tuple[Any, ...]:
        """The compiled form for :meth:`SerializedProgram.__call__`: a template of constants, and where
        tensors are inserted.
        """
        template: list[Any] = list(self.args)
        tensors: list[tuple[int, int]] = []
        open_arguments: list[tuple[Any, Any]] = []
        for index, value in enumerate(self.args):
            if isinstance(value, Slot):
                template[index] = None
                tensors.append((index, value_indices[value]))
            elif _is_open(value):
                open_arguments.append((index, _to_value_indices(value, value_indices)))
        for name, value in self.kwargs.items():
            if _is_open(value):
                open_arguments.append((name, _to_value_indices(value, value_indices)))
        result_indices: Any = tuple(-1 if slot is None else value_indices[slot] for slot in self.results)
        if self.form == "one" and result_indices[0] >= 0:
            result_indices = result_indices[0]
        elif self.form == "one":
            result_indices = ()
        return (
            self.func,
            template,
            tuple(tensors),
            tuple(open_arguments),
            self.kwargs,
            result_indices,
            tuple(self.unused),
        )


class _ValueIndex(int):
    """An index into the list of values."""


def _is_open(value: Any) -> bool:
    """Whether a value contains a tensor or a length that depends on the batch size."""
    return isinstance(value, (Slot, Rows)) or (isinstance(value, list) and any(map(_is_open, value)))


def _to_value_indices(value: Any, value_indices: dict[Slot, int]) -> Any:
    if isinstance(value, Slot):
        return _ValueIndex(value_indices[value])
    return [_to_value_indices(item, value_indices) for item in value] if isinstance(value, list) else value


def _fill_arguments(
    open_arguments: Sequence[tuple[Any, Any]],
    args: list[Any],
    kwargs: dict[str, Any],
    values: list[Any],
    rows: int,
) -> dict[str, Any]:
    """Insert tensors and lengths into the template; returns the keyword arguments."""
    for index, value in open_arguments:
        if type(index) is int:
            args[index] = _resolve_value(value, values, rows)
        else:
            kwargs = {**kwargs, index: _resolve_value(value, values, rows)}
    return kwargs


def _resolve_value(value: Any, values: list[Any], rows: int) -> Any:
    if type(value) is _ValueIndex:
        return values[value]
    if type(value) is Rows:
        return value.times * rows + value.offset
    return [_resolve_value(item, values, rows) for item in value] if isinstance(value, list) else value


def _parse_result(value: Any) -> Slot | None:
    if value is None:
        return None
    if not isinstance(value, dict) or list(value) != ["slot"]:
        raise ValueError("expected the number of a tensor as a result")
    return parse_slot(value["slot"])


def _parse_inputs(value: Any) -> list[tuple[tuple[int, ...], str]]:
    inputs = []
    for item in _list(value, limits.ARCHIVE.inputs):
        shape, dtype = item
        lengths = tuple(_list(shape, limits.ARCHIVE.rank))
        if any(
            type(length) is not int or length < (0 if index else -1) for index, length in enumerate(lengths)
        ):
            raise ValueError("expected the shape of an input, with -1 for a free number of rows")
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ValueError(f"expected the type of an input, got {ascii(dtype)[:40]}")
        inputs.append((lengths, dtype))
    return inputs


def _parse_names(value: Any) -> list[str | None]:
    names = _list(value, limits.ARCHIVE.tensors)
    for name in names:
        if name is not None and not (isinstance(name, str) and 0 < len(name) <= limits.ARCHIVE.text):
            raise ValueError("expected the name of a parameter, or null")
    return names


def _parse_input_names(value: Any, count: int) -> list[str]:
    names = _list(value, limits.ARCHIVE.inputs)
    if any(not isinstance(name, str) or len(name) > limits.ARCHIVE.text for name in names):
        raise ValueError("expected names of inputs")
    if len(names) != count:
        raise ValueError(f"{count} inputs, {len(names)} names of inputs")
    return names


def _parse_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected a truth value")
    return value


def _list(value: Any, limit: int) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("expected a list")
    if len(value) > limit:
        raise ValueError(f"expected at most {limit} items, got {len(value)}")
    return list(value)
