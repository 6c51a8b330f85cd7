"""Argument checks of layers, with MindSpore's error texts."""

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
    "check_argument_type",
    "check_number",
    "check_positive_int",
    "check_shape",
    "ints_per_axis",
]


def check_argument_type(value: Any, name: str, owner: str, *types: type) -> Any:
    """Check that a value has one of these types; a bool is no int."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        names = [allowed_type.__name__ for allowed_type in types]
        expected = f"'{names[0]}'" if len(names) == 1 else f"one of '{names}'"
        raise ArgumentTypeError(
            f"{_subject(owner)} type of '{name}' should be {expected}, but got type '{type(value).__name__}'."
        )
    return value


def check_number(value: Any, name: str, owner: str) -> Any:
    """Check that a value is an int or a float."""
    return check_argument_type(value, name, owner, float, int)


def check_float(value: Any, name: str, owner: str, zero: bool = False) -> float:
    """Check that a value is a float above 0, or with `zero` at least 0; an int is rejected."""
    if not isinstance(value, float):
        raise ArgumentTypeError(f"{_subject(owner)} '{name}' must be float, but got '{type(value).__name__}'")
    if value < 0 or (value == 0 and not zero) or value != value:
        raise ArgumentValueError(
            f"{_subject(owner)} '{name}' must be float and must {'>=' if zero else '>'} 0, but got '{value}' with type "
            "'float'."
        )
    return value


def check_fraction(value: Any, name: str, owner: str) -> float:
    """Check that a value is a float in the open interval (0, 1)."""
    check_argument_type(value, name, owner, float)
    if not 0.0 < value < 1.0:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be in range of (0.0, 1.0), but got {value} with type 'float'."
        )
    return float(value)


def _subject(owner: str) -> str:
    return f"For '{owner}', the" if owner else "The"


def check_int(value: Any, name: str, owner: str, least: int) -> int:
    """Check that a value is an int of at least `least`."""
    check_argument_type(value, name, owner, int)
    if value < least:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be int and must >= {least}, but got '{value}' with type 'int'."
        )
    return int(value)


def check_positive_int(value: Any, name: str, owner: str) -> int:
    """Check that a value is a positive int."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"{_subject(owner)} '{name}' must be int, but got '{type(value).__name__}'")
    if value <= 0:
        raise ArgumentValueError(
            f"{_subject(owner)} '{name}' must be int and must > 0, but got '{value}' with type 'int'."
        )
    return value


def check_bool(value: Any, name: str, owner: str) -> bool:
    """Check that a value is a bool."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(
            f"For '{owner}', the '{name}' must be a bool, but got {type(value).__name__}."
        )
    return value


def check_choice(value: Any, name: str, owner: str, choices: list[str]) -> str:
    """Check that a value is one of some strings."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be str and must be in '{choices}', but got '{value}'."
        )
    return value


def check_shape(value: Any, shape: tuple[int, ...], name: str, owner: str) -> Any:
    """Check the shape of an initial value, if it is a tensor."""
    if isinstance(value, Tensor) and value.shape != shape:
        subject = name.removesuffix("_init")
        raise ArgumentValueError(
            f"For '{owner}', {subject} init shape error. The '{name}' must have the shape {shape}, but got "
            f"'{name}': {value} with the shape {value.shape}."
        )
    return value


def ints_per_axis(value: Any, count: int, name: str, owner: str, least: int = 1) -> tuple[int, ...]:
    """One int per axis, from a single int or a tuple."""
    values = value if isinstance(value, (tuple, list)) else (value,) * count
    for item in values:
        if isinstance(item, bool) or not isinstance(item, int):
            error_class = ArgumentValueError if count == 3 else ArgumentTypeError  # as MindSpore has it
            raise error_class(
                f"For '{owner}', the '{name}' must be an int or a tuple of {count} ints, but got {value!r}."
            )
    if len(values) != count or min(values) < least:
        raise ArgumentValueError(
            f"For '{owner}', the '{name} item' must be int and must >= {least}, and there must be {count} of them, "
            f"but got {value!r}."
        )
    return tuple(values)
