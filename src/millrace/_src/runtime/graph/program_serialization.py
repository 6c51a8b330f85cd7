"""A recording that a file can hold: its calls as plain data, its tensors by number.

Reading one runs nothing. A program calls operators of the table in ``operators.py`` only, with arguments that fit their
schemas; the size of every result is computed with tensors that have no memory, and bounded, before the first call runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core import limits
from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.runtime.tensor.backend.torch_private import below_autograd

from .allowed_operators import UNDECLARED_WRITES, Operator, refusal, resolve
from .capture import Slot
from .program_export import UNINITIALISED, VERSIONS, for_any_rows, store
from .stored_arguments import DTYPES, Rows, parse_arguments, parse_slot, slots_in
from .stored_sizes import Measured, SizeError, measure

__all__ = ["DTYPES", "Rows", "StoredCall", "SerializedProgram", "for_any_rows", "store"]

_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
# How many different numbers of rows are remembered as checked.
_REMEMBERED = 4096


class SerializedProgram:
    """The recorded forward pass of a network: called with tensors, it returns what the network returned.

    ``calls`` are the operators in order; ``results`` the slots that are returned; ``names`` the parameters among its
    ``tensors``, by position; ``inputs`` shapes and types of what it takes, -1 being a free number of rows;
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
            usual = ["x"] if len(self.inputs) == 1 else [f"x{place}" for place in range(len(self.inputs))]
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
        self._free = [place for place, (shape, _) in enumerate(self.inputs) if shape[:1] == (-1,)]
        self._compile()
        # numbers of rows whose first call has shown that kernels return what was computed for them
        self._checked: set[int] = set()
        self._measured: dict[int, Measured] = {}
        for rows in (1, 2) if self._free else (0,):
            self._measure(rows)

    def _parse_calls(self, described: Any) -> tuple[list[StoredCall], set[Slot]]:
        defined = {Slot("in", place) for place in range(len(self.inputs))}
        defined |= {Slot("out", place) for place in range(len(self.names))}
        skipped: dict[Slot, str] = {}
        calls = []
        for number, item in enumerate(_list(described, limits.ARCHIVE.calls)):
            try:
                if not isinstance(item, list) or len(item) != 5:
                    raise ValueError("expected an operator, its arguments, its results and their form")
                if isinstance(item[0], str) and item[0] in UNINITIALISED:
                    # Version 0.2.0 wrote such calls for BatchNorm, whose results nobody reads: they do not run.
                    skipped |= {slot: item[0] for slot in map(_parse_result, _list(item[3], 1)) if slot}
                    continue
                call = StoredCall(item)
                for slot in (*slots_in(call.args), *slots_in(call.kwargs)):
                    if slot in skipped:
                        raise FormatError(refusal(skipped[slot]))
                    if slot not in defined:
                        raise ValueError(f"the tensor {tuple(slot)} is read before it is computed")
                defined |= call.define(defined | skipped.keys())
                calls.append(call)
            except _DAMAGED as error:
                raise ValueError(f"call {number}, {ascii(item)[:60]}: {error}") from error
        return calls, defined

    def _compile(self) -> None:
        """Prepare the calls: tensors by position in a list, and which of them no later call reads."""
        order = [Slot("in", place) for place in range(len(self.inputs))]
        order += [Slot("out", place) for place in range(len(self.tensors))]
        fixed = len(order)
        order += sorted(
            {slot for call in self.calls for slot in call.results if slot and slot.source == "temp"}
        )
        self.places = {slot: place for place, slot in enumerate(order)}
        self._blank = [None] * (len(order) - fixed)
        last: dict[Slot, int] = {}
        for number, call in enumerate(self.calls):
            for slot in (*slots_in(call.args), *slots_in(call.kwargs), *filter(None, call.results)):
                last[slot] = number
        kept = set(self.results)
        for slot, number in last.items():
            if slot.source == "temp" and slot not in kept:
                self.calls[number].unused.append(self.places[slot])
        self._steps = [(*call.compile(self.places), number) for number, call in enumerate(self.calls)]
        self._results = [self.places[slot] for slot in self.results]
        self._copies: set[int] = set()

    def accepts_inputs(self, given: Sequence[tuple[tuple[int, ...], str]]) -> bool:
        """Whether the program takes inputs of these shapes and types."""
        rows = {
            shape[0]
            for (shape, _), (mine, _) in zip(given, self.inputs, strict=False)
            if mine[:1] == (-1,) and shape
        }
        if len(given) != len(self.inputs) or len(rows) > 1:
            return False
        return all(
            dtype == my_dtype
            and len(shape) == len(mine)
            and all(m in (n, -1) for m, n in zip(mine, shape, strict=True))
            for (shape, dtype), (mine, my_dtype) in zip(given, self.inputs, strict=True)
        )

    def _measure(self, rows: int) -> Measured:
        """What a call with this number of rows takes; FormatError beyond the limits."""
        if rows > limits.ARCHIVE.rows:
            raise SizeError(f"expected at most {limits.ARCHIVE.rows} rows, got {rows}. Send fewer at a time")
        if rows not in self._measured:
            if len(self._measured) >= _REMEMBERED:
                self._measured.clear()
            self._measured[rows] = measure(self, rows)
        self._copies |= self._measured[rows].copies
        return self._measured[rows]

    def __call__(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        given = [(tuple(tensor.shape), str(tensor.dtype)) for tensor in inputs]
        if not self.accepts_inputs(given):
            raise ArgumentValueError(f"the program: expected inputs {self.inputs}, got {given}")
        rows = inputs[self._free[0]].shape[0] if self._free else 0
        if rows in self._checked:
            return self._run(inputs, rows, None)
        results = self._run(inputs, rows, self._measure(rows).expected)
        if len(self._checked) >= _REMEMBERED:
            self._checked.clear()
        self._checked.add(rows)
        self._measured.pop(rows, None)
        return results

    def _run(self, inputs: list[torch.Tensor], rows: int, expected: Any) -> list[torch.Tensor]:
        values: list[Any] = [*inputs, *self.tensors, *self._blank]
        with below_autograd():
            for place in self._copies:
                values[place] = values[place].clone()
            for func, template, tensors, filled, kwargs, results, unused, number in self._steps:
                args = template.copy()
                for place, source in tensors:
                    args[place] = values[source]
                if filled:
                    kwargs = _fill(filled, args, kwargs, values, rows)
                made = func(*args, **kwargs)
                if type(results) is int:
                    values[results] = made
                else:
                    for place, tensor in zip(results, made or (), strict=False):
                        if place >= 0:
                            values[place] = tensor
                if expected is not None:
                    self._compare(number, expected[number], values)
                for place in unused:
                    values[place] = None
        return [values[place] for place in self._results]

    def _compare(self, number: int, expected: Any, values: list[Any]) -> None:
        """Stop where a kernel returns something else than what the sizes were computed with."""
        for place, shape, dtype in expected:
            tensor = values[place]
            if tensor.shape != shape or tensor.dtype != dtype:
                raise FormatError(
                    f"the archive's program, call {number} ({self.calls[number].operator.name}): expected "
                    f"{tuple(shape)} of {dtype}, got {tuple(tensor.shape)} of {tensor.dtype}"
                )


class StoredCall:
    """One call of an operator: ``func``, ``args`` and ``kwargs`` with slots for tensors, the slots of ``results``."""

    def __init__(self, described: list[Any]) -> None:
        name, args, kwargs, results, self.form = described
        self.operator: Operator = resolve(name)
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
    def written(self) -> list[Slot]:
        """The tensors that the call writes into."""
        given = {
            argument.name: self.args[place] if place < len(self.args) else self.kwargs.get(argument.name)
            for place, argument in enumerate(self.operator.arguments)
        }
        names = [argument.name for argument in self.operator.arguments if argument.written]
        if self.operator.name in UNDECLARED_WRITES:
            condition, undeclared = UNDECLARED_WRITES[self.operator.name]
            names += undeclared if given[condition] else ()
        return [slot for name in names for slot in slots_in([given[name]])]

    def define(self, known: set[Slot]) -> set[Slot]:
        """The slots that the call computes. Each is computed once, and none is an input or a constant."""
        fresh: set[Slot] = set()
        returned = self.operator.returned or (None,) * len(self.results)
        for slot, source in zip(self.results, returned, strict=True):
            if slot is None:
                continue
            if source is not None and source < len(self.args) and slot == self.args[source]:
                continue
            if slot.source != "temp" or slot in known or slot in fresh or source is not None:
                raise ValueError(f"the tensor {tuple(slot)} cannot be assigned here")
            fresh.add(slot)
        return fresh

    def compile(self, places: dict[Slot, int]) -> tuple[Any, ...]:
        """The arguments of one call: constants in a template, and the slots of tensors."""
        template: list[Any] = list(self.args)
        tensors: list[tuple[int, int]] = []
        filled: list[tuple[Any, Any]] = []
        for place, value in enumerate(self.args):
            if isinstance(value, Slot):
                template[place] = None
                tensors.append((place, places[value]))
            elif _is_open(value):
                filled.append((place, _located(value, places)))
        for name, value in self.kwargs.items():
            if _is_open(value):
                filled.append((name, _located(value, places)))
        numbers: Any = tuple(-1 if slot is None else places[slot] for slot in self.results)
        if self.form == "one" and numbers[0] >= 0:
            numbers = numbers[0]
        elif self.form == "one":
            numbers = ()
        return (
            self.func,
            template,
            tuple(tensors),
            tuple(filled),
            self.kwargs,
            numbers,
            tuple(self.unused),
        )


class _Place(int):
    """A position in the list of values."""


def _is_open(value: Any) -> bool:
    """Whether a value holds a tensor or a length that depends on the number of rows."""
    return isinstance(value, (Slot, Rows)) or (isinstance(value, list) and any(map(_is_open, value)))


def _located(value: Any, places: dict[Slot, int]) -> Any:
    if isinstance(value, Slot):
        return _Place(places[value])
    return [_located(item, places) for item in value] if isinstance(value, list) else value


def _fill(
    filled: Sequence[tuple[Any, Any]], args: list[Any], kwargs: dict[str, Any], values: list[Any], rows: int
) -> dict[str, Any]:
    """Put tensors and lengths where the template cannot hold them; the keyword arguments."""
    for place, value in filled:
        if type(place) is int:
            args[place] = _value(value, values, rows)
        else:
            kwargs = {**kwargs, place: _value(value, values, rows)}
    return kwargs


def _value(value: Any, values: list[Any], rows: int) -> Any:
    if type(value) is _Place:
        return values[value]
    if type(value) is Rows:
        return value.times * rows + value.more
    return [_value(item, values, rows) for item in value] if isinstance(value, list) else value


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
            type(length) is not int or length < (0 if place else -1) for place, length in enumerate(lengths)
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
