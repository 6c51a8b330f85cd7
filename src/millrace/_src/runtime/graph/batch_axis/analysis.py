"""Propagation of the batch axis through a serialized program.

Shapes come from two parallel runs of the program on zeros, with two batch sizes: a length that differs
between them depends on the batch size. Every state that a rule returns is checked against the computed
shapes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from millrace._src.runtime.graph.capture import Slot
from millrace._src.runtime.graph.program_serialization import DTYPES, Rows, SerializedProgram, StoredCall
from millrace._src.runtime.tensor.backend.torch_private import below_autograd, operator_schema

from .rule_table import METADATA, RULES
from .state import Axis, CallView, Dim, Operand, RowsMixed, State, Untracked, bind_arguments
from .training_mode import AliasRoots, find_training, operator_name, written_arguments

__all__ = ["Mixing", "find_mixing"]

_FEW_ROWS, _MANY_ROWS = 2, 3


class Mixing(NamedTuple):
    """Why rows cannot be computed together: the operator, the parameter used last, and the reason."""

    operator: str
    layer: str | None
    reason: str

    def __str__(self) -> str:
        layer = f" (in or after '{self.layer}')" if self.layer else ""
        return f"{self.operator}{layer}: {self.reason}"


def find_mixing(graph: SerializedProgram, *, evaluation_checked: bool = False) -> Mixing | None:
    """The first operator that may mix rows; None if every row of every result depends on its own row only.

    An operator without a rule counts as mixing: the table is closed. Pass ``evaluation_checked`` if
    `find_training` returned None for this graph.
    """
    training = None if evaluation_checked else find_training(graph)
    if training is not None:
        return Mixing("the program", None, training)
    analysis = _Analysis(graph)
    for number in range(len(graph.inputs)):
        reason = analysis.input_problem(Slot("in", number))
        if reason:
            return Mixing(f"input {number}", None, reason)
    with below_autograd(), torch.no_grad():
        for number, call in enumerate(graph.calls):
            try:
                analysis.step(number, call)
            except RowsMixed as error:
                return Mixing(operator_name(call.func), analysis.layer, str(error))
    for number, slot in enumerate(graph.results):
        reason = analysis.result_problem(slot)
        if reason:
            return Mixing(f"result {number}", analysis.layer, reason)
    return None


class _Analysis:
    def __init__(self, graph: SerializedProgram) -> None:
        self.graph = graph
        self.layer: str | None = None
        self._states: dict[Slot, State] = {}
        self._roots = AliasRoots()
        self._runs = [self._inputs(rows) for rows in (_FEW_ROWS, _MANY_ROWS)]
        self._last_use = _last_uses(graph)
        for number, (shape, _) in enumerate(graph.inputs):
            self._states[Slot("in", number)] = Axis(0) if shape[:1] == (-1,) else None

    def _inputs(self, rows: int) -> dict[Any, Any]:
        values: dict[Any, Any] = {Rows: rows}
        values |= {Slot("out", number): tensor for number, tensor in enumerate(self.graph.tensors)}
        for number, (shape, dtype) in enumerate(self.graph.inputs):
            lengths = [rows if length == -1 else length for length in shape]
            values[Slot("in", number)] = torch.zeros(lengths, dtype=DTYPES[dtype])
        return values

    # --- one call ----------------------------------------------------------------------------------------

    def step(self, number: int, call: Any) -> None:
        schema = operator_schema(call.func)
        bound = bind_arguments(call.func, call.args, call.kwargs)
        arguments = {name: self._argument(value) for name, value in bound.items()}
        self._update_layer(bound)
        self._run(call)
        results = [None if slot is None else self._dims(slot) for slot in call.results]
        view = CallView(call.func, arguments, results)
        states = self._apply(view, schema.name.partition("::")[2], bound)
        self._check_writes(call, arguments, states)
        self._roots.add(call)
        for slot, state, dims in zip(call.results, states, results, strict=True):
            if slot is not None and dims is not None:
                self._states[slot] = _check_state(state, dims)
        for slot in self._last_use.get(number, ()):
            for values in self._runs:
                values.pop(slot, None)

    def _run(self, call: Any) -> None:
        try:
            for values in self._runs:
                _evaluate(call, values)
        except Exception as error:
            raise RowsMixed(f"it fails on zeros: {str(error).strip().splitlines()[:1]}") from error

    def _apply(self, view: CallView, name: str, bound: dict[str, Any]) -> list[State]:
        base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        entry = RULES.get(base)
        if entry is None or (base == "view" and "size" not in bound) or "out" in bound:
            if torch.Tag.nondeterministic_seeded in view.func.tags:
                raise RowsMixed("it is random")
            raise RowsMixed("there is no rule for it")
        by_rows = [argument for argument, value in bound.items() if _holds_rows(value)]
        for argument in by_rows:
            if argument not in entry.rows:
                raise RowsMixed(f"its argument '{argument}' is the number of rows")
        if not entry.always and not view.batched and not by_rows:
            if torch.Tag.nondeterministic_seeded in view.func.tags:
                raise RowsMixed("it may be random")
            return view.same(None)
        try:
            states = entry.rule(view)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise RowsMixed(f"its arguments are not those of its rule: {error!r}") from error
        if len(states) != len(view.results):
            raise RowsMixed(f"it has {len(view.results)} results, expected {len(states)}")
        return states

    def _check_writes(self, call: Any, arguments: dict[str, Any], states: list[State]) -> None:
        """Check that a write keeps the batch axis of the memory, which other tensors may be views of."""
        name = operator_schema(call.func).name.partition("::")[2].removesuffix("_")
        for argument in written_arguments(call.func):
            target = arguments[argument]
            if not isinstance(target, Operand) or call.results != [target.slot] or len(states) != 1:
                raise RowsMixed(f"it writes to its argument '{argument}'")
            if name in METADATA or states[0] == target.axis:
                continue
            if self._roots.shared(target.slot) or self._roots.root(target.slot).source == "out":
                raise RowsMixed("it writes rows into a tensor that others are views of")

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Slot):
            state = self._states.get(value)
            if isinstance(state, Untracked):
                raise RowsMixed("it uses a by-product of another operator")
            return Operand(value, self._dims(value), self._runs[0][value].dtype, state)
        if isinstance(value, list):
            return [self._argument(part) for part in value]
        return value

    def _dims(self, slot: Slot) -> tuple[Dim, ...]:
        few, many = (values[slot].shape for values in self._runs)
        if len(few) != len(many):
            raise RowsMixed("its number of axes depends on the number of rows")
        dims = []
        for small, large in zip(few, many, strict=True):
            times = (large - small) // (_MANY_ROWS - _FEW_ROWS)
            dims.append(Dim(times, small - times * _FEW_ROWS))
        return tuple(dims)

    def _update_layer(self, bound: dict[str, Any]) -> None:
        for value in bound.values():
            if isinstance(value, Slot) and value.source == "out" and self.graph.names[value.number]:
                self.layer = self.graph.names[value.number]

    # --- inputs and results -------------------------------------------------------------------------------

    def input_problem(self, slot: Slot) -> str | None:
        """Why an input cannot be batched from several requests."""
        if self._dims(slot)[:1] != (Dim(1, 0),):
            return "its number of rows is fixed"
        if any(dim.times for dim in self._dims(slot)[1:]):
            return "a second axis follows from the number of rows"
        return None

    def result_problem(self, slot: Slot) -> str | None:
        """Why a result of the program cannot be split among requests."""
        state = self._states.get(slot)
        if state == Axis(0):
            return None
        if isinstance(state, Axis):
            return f"its batch axis is not axis 0 with one row per row of the inputs, but {tuple(state)}"
        return "it has no batch axis"


def _check_state(state: State, dims: tuple[Dim, ...]) -> State:
    """Check a state against the computed lengths: only the batch axis may depend on the batch size."""
    if isinstance(state, Untracked):
        return state
    for position, dim in enumerate(dims):
        expected = state.dim if isinstance(state, Axis) and position == state.position else Dim(0, dim.offset)
        if dim != expected:
            raise RowsMixed(f"axis {position} of its result follows from the number of rows")
    if isinstance(state, Axis) and state.position >= len(dims):
        raise RowsMixed("its result has no batch axis")
    return state


def _evaluate(call: StoredCall, values: dict[Any, Any]) -> None:
    """Run a call on the values of slots, and store its results."""
    args = [_substitute_slots(value, values) for value in call.args]
    computed = call.func(
        *args, **{name: _substitute_slots(value, values) for name, value in call.kwargs.items()}
    )
    results = (computed,) if call.form == "one" else computed or ()
    for slot, tensor in zip(call.results, results, strict=False):
        if slot is not None:
            values[slot] = tensor


def _substitute_slots(value: Any, values: dict[Any, Any]) -> Any:
    if isinstance(value, Slot):
        return values[value]
    if isinstance(value, Rows):
        return value.times * values[Rows] + value.offset
    return [_substitute_slots(item, values) for item in value] if isinstance(value, list) else value


def _holds_rows(value: Any) -> bool:
    if isinstance(value, Rows):
        return True
    return isinstance(value, list) and any(map(_holds_rows, value))


def _last_uses(graph: SerializedProgram) -> dict[int, list[Slot]]:
    """Temporary tensors by the index of the last call that uses them."""
    last: dict[Slot, int] = {}
    for number, call in enumerate(graph.calls):
        for slot in (*_slots([call.args, list(call.kwargs.values())]), *call.results):
            if slot is not None and slot.source == "temp":
                last[slot] = number
    for slot in graph.results:
        last.pop(slot, None)
    released: dict[int, list[Slot]] = {}
    for slot, number in last.items():
        released.setdefault(number, []).append(slot)
    return released


def _slots(value: Any) -> list[Slot]:
    if isinstance(value, Slot):
        return [value]
    if isinstance(value, list):
        return [slot for part in value for slot in _slots(part)]
    return []
