"""What a Cell was told of its arguments by ``set_inputs``, and whether a call keeps to it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor

__all__ = ["InputSignature"]


class InputSignature:
    """The arguments of a Cell, some of whose lengths may change from call to call (they are -1)."""

    def __init__(
        self, construct: Any, inputs: tuple[Any, ...], named: dict[str, Any], strict: bool = False
    ) -> None:
        if inputs and named:
            raise ArgumentValueError(
                f"For Cell, set_inputs should only set inputs or kwargs(inputs: {inputs}, kwargs: {named})!"
            )
        parameters = _parameters(construct)
        if not named:
            self.told: Any = inputs
            self._wanted = dict(enumerate(inputs))
            self._count: int | None = len(inputs)
            if strict:
                _check_number(parameters, len(inputs))
            return
        names = [each.name for each in parameters]
        for name in named:
            if name not in names:
                raise ArgumentValueError(f"For dict mode, valid key is {names}, but got {name}!")
        self._wanted = {names.index(name): value for name, value in named.items()}
        self._count = None
        self.told = {
            "arg_specified_infos": [[number, value] for number, value in self._wanted.items()],
            "total_arg_length": len(names),
        }

    def check(self, args: tuple[Any, ...]) -> None:
        """Refuse a call that is not as it was said."""
        if self._count is not None and len(args) != self._count:
            raise ArgumentValueError(
                "For set_inputs, the length of input must be equal to expected one, "
                f"but got expected: {self._count} and input: {len(args)}!"
            )
        for number, wanted in self._wanted.items():
            if number < len(args):
                _compare(wanted, args[number], number + 1)


def _parameters(construct: Any) -> list[inspect.Parameter]:
    if construct is None:
        return []
    return list(inspect.signature(construct).parameters.values())


def _check_number(parameters: list[inspect.Parameter], count: int) -> None:
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return
    plain = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    needed = sum(each.default is each.empty for each in plain)
    if not needed <= count <= len(plain):
        raise ArgumentTypeError(
            f"For 'Cell', the function construct requires {needed} positional argument and {len(plain) - needed} "
            f"default argument, total {len(plain)}, but got {count}."
        )


def _compare(wanted: Any, got: Any, number: int) -> None:
    if isinstance(wanted, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(wanted):
            raise ArgumentTypeError(
                f"For set_inputs and tuple(list) in set_inputs, the {number}th input must be a tuple or list of "
                f"{len(wanted)}, but got {_kind(got)}!"
            )
        for inner, (part, given) in enumerate(zip(wanted, got, strict=True)):
            _compare(part, given, inner + 1)
        return
    if not isinstance(wanted, Tensor):
        return
    if not isinstance(got, Tensor) or got.dtype is not wanted.dtype:
        raise ArgumentTypeError(
            f"For set_inputs or tuple(list) in set_inputs, the {number}th type should be {_kind(wanted)}, "
            f"but got {_kind(got)}!"
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


def _kind(value: Any) -> str:
    return f"Tensor[{value.dtype}]" if isinstance(value, Tensor) else type(value).__name__


def check_dynamic_inputs(construct: Callable[..., Any], named: dict[str, Any]) -> InputSignature:
    """The same for a function that is no Cell's."""
    return InputSignature(construct, (), named)
