"""Captured programs: straight-line Python that calls PyTorch's functions.

A program runs below autograd: the backward pass is part of the capture. A result is released after its last
use. Each line carries the user's source line.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from typing import Any

import torch

from millrace._src.runtime.tensor.backend.torch_private import below_autograd, describe_operator
from millrace._src.runtime.tensor.error_translation import translate_error

from .buffer_reuse import reuse_buffers
from .capture import CapturedCall, GraphCapture, Slot
from .fast_dispatch import fastest_callable
from .passes import PASSES, iter_slots

__all__ = ["Program"]

_VARIABLE_PREFIX = {"in": "i", "temp": "t", "out": "c"}


class Program:
    """An executable capture: called with the inputs, it returns the results."""

    # on a GPU: why it is replayed call by call instead of as one CUDA Graph
    cuda_graph_failure = ""

    def __init__(self, recorder: GraphCapture, results: list[Slot]) -> None:
        self.external_tensors = recorder.external_tensors
        calls, kept = tuple(recorder.calls), results
        for apply in PASSES:
            calls, names = apply(calls, set(kept), self.external_tensors)
            kept = [names.get(slot, slot) for slot in kept]
        calls, names = reuse_buffers(calls, set(kept), recorder.result_specs, recorder.storage_owners)
        kept = [names.get(slot, slot) for slot in kept]
        self.calls, self.results = calls, kept
        self._run = self._compile()

    def __call__(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        try:
            with below_autograd():
                results: list[torch.Tensor] = self._run(*inputs)
                return results
        except Exception as error:
            call = self.failed_call(error)
            if call is None:
                raise
            translated = translate_error(describe_operator(call.func).name.partition("::")[2], error)
            translated.add_note(f"  in a captured step, at {call.source_line or 'an unknown line'}")
            if translated is error:
                raise
            raise translated from None

    def failed_call(self, error: BaseException) -> CapturedCall | None:
        """The captured call that failed, with the user's source line."""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename == self._name and frame.lineno is not None:
                number = self._lines.get(frame.lineno)
                return None if number is None else self.calls[number]
        return None

    @property
    def source(self) -> str:
        """The source code of the program, with the user's source lines."""
        return self._text

    # code generation --------------------------------------------------------------------------------

    def _compile(self) -> Callable[..., Any]:
        scope: dict[str, Any] = {
            f"c{n}": _detached_alias(tensor) for n, tensor in enumerate(self.external_tensors)
        }
        last: dict[Slot, int] = {}
        for number, call in enumerate(self.calls):
            for slot in (*iter_slots((call.args, call.kwargs)), *(s for s in call.results if s is not None)):
                last[slot] = number
        held = set(self.results)
        count = 1 + max(
            (s.number for c in self.calls for s in iter_slots(c.args) if s.source == "in"), default=-1
        )
        count = max(count, 1 + max((s.number for s in self.results if s.source == "in"), default=-1))
        lines = [f"def run({', '.join([*(f'i{n}' for n in range(count)), '*_'])}):"]
        self._lines: dict[int, int] = {}
        for number, call in enumerate(self.calls):
            scope[f"f{number}"], unpack_sizes = fastest_callable(call)
            target = _assignment_target(call)
            shown = call.source_line.rpartition("/")[2]
            lines.append(
                f"    {target}f{number}({_arguments(call, scope, unpack_sizes)})  # {call.func} {shown}"
            )
            self._lines[len(lines)] = number
            used = [*iter_slots((call.args, call.kwargs)), *(s for s in call.results if s is not None)]
            dead = {s for s in used if s.source == "temp" and last[s] == number and s not in held}
            if dead:
                lines.append("    del " + ", ".join(sorted(_name(slot) for slot in dead)))
        lines.append(f"    return [{', '.join(_name(slot) for slot in self.results)}]")
        self._text = "\n".join(lines) + "\n"
        self._name = f"<captured step {id(self):#x}>"
        linecache.cache[self._name] = (len(self._text), None, self._text.splitlines(True), self._name)
        exec(compile(self._text, self._name, "exec"), scope)
        run: Callable[..., Any] = scope["run"]
        return run

    def close(self) -> None:
        linecache.cache.pop(self._name, None)


def _detached_alias(tensor: torch.Tensor) -> torch.Tensor:
    """An alias of the same storage without autograd history; writes to it are visible."""
    return tensor.detach() if tensor.requires_grad else tensor


def _name(slot: Slot) -> str:
    return f"{_VARIABLE_PREFIX[slot.source]}{slot.number}"


def _assignment_target(call: CapturedCall) -> str:
    mutable = describe_operator(call.func).is_mutable
    if call.result_structure == "none" or (
        call.result_structure == "one" and mutable and _returns_mutated_argument(call)
    ):
        return ""
    names = ["_" if slot is None else _name(slot) for slot in call.results]
    if call.result_structure == "one":
        return f"{names[0]} = "
    if call.result_structure == "nest":
        names = _nest_names(names, call.lengths)
    return f"({', '.join(names)},) = " if names else ""


def _nest_names(names: list[str], lengths: tuple[int, ...]) -> list[str]:
    """Names grouped like the nested results."""
    name_iterator, parts = iter(names), []
    for length in lengths:
        parts.append(
            next(name_iterator)
            if length < 0
            else "[" + ", ".join(next(name_iterator) for _ in range(length)) + "]"
        )
    return parts


def _returns_mutated_argument(call: CapturedCall) -> bool:
    """Whether the result is the argument that was written to."""
    return call.results[0] in set(iter_slots((call.args, call.kwargs)))


def _arguments(call: CapturedCall, scope: dict[str, Any], unpack_sizes: bool) -> str:
    args = (call.args[0], *call.args[1]) if unpack_sizes else call.args
    parts = [_literal(value, scope) for value in args]
    parts += [f"{key}={_literal(value, scope)}" for key, value in call.kwargs.items()]
    return ", ".join(parts)


def _literal(value: Any, scope: dict[str, Any]) -> str:
    if isinstance(value, Slot):
        return _name(value)
    if value is None or type(value) in (bool, int, str):
        return repr(value)
    if type(value) is list:
        return "[" + ", ".join(_literal(part, scope) for part in value) + "]"
    if type(value) is tuple:
        return "(" + "".join(_literal(part, scope) + ", " for part in value) + ")"
    name = f"k{len(scope)}"
    scope[name] = value
    return name
