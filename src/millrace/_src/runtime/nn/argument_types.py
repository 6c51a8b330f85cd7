"""Checks of arguments in the words of MindSpore's layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor

__all__ = [
    "check_bool",
    "check_choice",
    "check_float",
    "check_fraction",
    "check_int",
    "check_kind",
    "check_number",
    "check_positive_int",
    "check_shape",
    "numbers",
]


def check_kind(value: Any, name: str, owner: str, *kinds: type) -> Any:
    """A value of one of these types; True is no int here."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = [kind.__name__ for kind in kinds]
        wanted = f"'{names[0]}'" if len(names) == 1 else f"one of '{names}'"
        raise ArgumentTypeError(
            f"{_the(owner)} type of '{name}' should be {wanted}, but got type '{type(value).__name__}'."
        )
    return value


def check_number(value: Any, name: str, owner: str) -> Any:
    """An int or a float."""
    return check_kind(value, name, owner, float, int)


def check_float(value: Any, name: str, owner: str, zero: bool = False) -> float:
    """A float above 0, or also 0; an int is none."""
    if not isinstance(value, float):
        raise ArgumentTypeError(f"{_the(owner)} '{name}' must be float, but got '{type(value).__name__}'")
    if value < 0 or (value == 0 and not zero) or value != value:
        raise ArgumentValueError(
            f"{_the(owner)} '{name}' must be float and must {'>=' if zero else '>'} 0, but got '{value}' with type "
            "'float'."
        )
    return value


def check_fraction(value: Any, name: str, owner: str) -> float:
    """A float between 0 and 1, without both."""
    check_kind(value, name, owner, float)
    if not 0.0 < value < 1.0:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be in range of (0.0, 1.0), but got {value} with type 'float'."
        )
    return float(value)


def _the(owner: str) -> str:
    return f"For '{owner}', the" if owner else "The"


def check_int(value: Any, name: str, owner: str, least: int) -> int:
    """An int, at least so large."""
    check_kind(value, name, owner, int)
    if value < least:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be int and must >= {least}, but got '{value}' with type 'int'."
        )
    return int(value)


def check_positive_int(value: Any, name: str, owner: str) -> int:
    """An int above 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"{_the(owner)} '{name}' must be int, but got '{type(value).__name__}'")
    if value <= 0:
        raise ArgumentValueError(
            f"{_the(owner)} '{name}' must be int and must > 0, but got '{value}' with type 'int'."
        )
    return value


def check_bool(value: Any, name: str, owner: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(
            f"For '{owner}', the '{name}' must be a bool, but got {type(value).__name__}."
        )
    return value


def check_choice(value: Any, name: str, owner: str, choices: list[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be str and must be in '{choices}', but got '{value}'."
        )
    return value


def check_shape(value: Any, shape: tuple[int, ...], name: str, owner: str) -> Any:
    """A value to begin with: if it is a tensor, of this shape."""
    if isinstance(value, Tensor) and value.shape != shape:
        what = name.removesuffix("_init")
        raise ArgumentValueError(
            f"For '{owner}', {what} init shape error. The '{name}' must have the shape {shape}, but got "
            f"'{name}': {value} with the shape {value.shape}."
        )
    return value


def numbers(value: Any, count: int, name: str, owner: str, least: int = 1) -> tuple[int, ...]:
    """A number per axis, from one for all or a tuple of them."""
    found = value if isinstance(value, (tuple, list)) else (value,) * count
    for each in found:
        if isinstance(each, bool) or not isinstance(each, int):
            kind = ArgumentValueError if count == 3 else ArgumentTypeError  # as MindSpore has it
            raise kind(
                f"For '{owner}', the '{name}' must be an int or a tuple of {count} ints, but got {value!r}."
            )
    if len(found) != count or min(found) < least:
        raise ArgumentValueError(
            f"For '{owner}', the '{name} item' must be int and must >= {least}, and there must be {count} of them, "
            f"but got {value!r}."
        )
    return tuple(found)
