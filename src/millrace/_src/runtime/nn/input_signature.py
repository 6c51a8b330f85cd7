"""Input signature of a Cell from ``set_inputs``, and the check of a call against it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor

__all__ = ["InputSignature"]


class InputSignature:
    """The declared arguments of a Cell; lengths that may change are -1."""

    def __init__(
        self, construct: Any, inputs: tuple[Any, ...], named: dict[str, Any], strict: bool = False
    ) -> None:
        if inputs and named:
            raise ArgumentValueError(
                f"For Cell, set_inputs should only set inputs or kwargs(inputs: {inputs}, kwargs: {named})!"
            )
        parameters = _parameters(construct)
        if not named:
            self.declared_inputs: Any = inputs
            self._expected = dict(enumerate(inputs))
            self._count: int | None = len(inputs)
            if strict:
                _check_number(parameters, len(inputs))
            return
        names = [each.name for each in parameters]
        for name in named:
            if name not in names:
                raise ArgumentValueError(f"For dict mode, valid key is {names}, but got {name}!")
        self._expected = {names.index(name): value for name, value in named.items()}
        self._count = None
        self.declared_inputs = {
            "arg_specified_infos": [[number, value] for number, value in self._expected.items()],
            "total_arg_length": len(names),
        }

    def check(self, args: tuple[Any, ...]) -> None:
        """Check a call against the declaration."""
        if self._count is not None and len(args) != self._count:
            raise ArgumentValueError(
                "For set_inputs, the length of input must be equal to expected one, "
                f"but got expected: {self._count} and input: {len(args)}!"
            )
        for number, wanted in self._expected.items():
            if number < len(args):
                _compare(wanted, args[number], number + 1)


def _parameters(construct: Any) -> list[inspect.Parameter]:
    if construct is None:
        return []
    return list(inspect.signature(construct).parameters.values())


def _check_number(parameters: list[inspect.Parameter], count: int) -> None:
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return
    positional = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    required = sum(each.default is each.empty for each in positional)
    if not required <= count <= len(positional):
        raise ArgumentTypeError(
            f"For 'Cell', the function construct requires {required} positional argument and "
            f"{len(positional) - required} default argument, total {len(positional)}, but got {count}."
        )


def _compare(wanted: Any, got: Any, number: int) -> None:
    if isinstance(wanted, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(wanted):
            raise ArgumentTypeError(
                f"For set_inputs and tuple(list) in set_inputs, the {number}th input must be a tuple or list of "
                f"{len(wanted)}, but got {_describe_type(got)}!"
            )
        for inner, (part, argument) in enumerate(zip(wanted, got, strict=True)):
            _compare(part, argument, inner + 1)
        return
    if not isinstance(wanted, Tensor):
        return
    if not isinstance(got, Tensor) or got.dtype is not wanted.dtype:
        raise ArgumentTypeError(
            f"For set_inputs or tuple(list) in set_inputs, the {number}th type should be {_describe_type(wanted)}, "
            f"but got {_describe_type(got)}!"
        )
    if len(got.shape) != len(wanted.shape):
        raise ArgumentValueError(
            f"For set_inputs and tuple(list) in set_inputs, the dims of {number}th input must be the same as expected, "
            f"but got expected: {len(wanted.shape)}, and input: {len(got.shape)}!"
        )
    for expected, length in zip(wanted.shape, got.shape, strict=True):
        if expected not in (-1, length):
            raise ArgumentValueError(
                f"For set_inputs and tuple(list) in set_inputs, the shape of {number}th input must be the same as "
                f"expected, but got expected: {expected}, and input: {length}! ({wanted.shape} and {got.shape})"
            )


def _describe_type(value: Any) -> str:
    return f"Tensor[{value.dtype}]" if isinstance(value, Tensor) else type(value).__name__


def check_dynamic_inputs(construct: Callable[..., Any], named: dict[str, Any]) -> InputSignature:
    """The input signature of a function."""
    return InputSignature(construct, (), named)
