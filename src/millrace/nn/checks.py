"""Checks of arguments in the words of MindSpore's layers."""

from __future__ import annotations

from typing import Any

from millrace.core.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["check_bool", "check_positive_int"]


def check_positive_int(value: Any, name: str, owner: str) -> int:
    """An int above 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"For '{owner}', the '{name}' must be int, but got '{type(value).__name__}'")
    if value <= 0:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be int and must > 0, but got '{value}' with type 'int'."
        )
    return value


def check_bool(value: Any, name: str, owner: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(
            f"For '{owner}', the '{name}' must be bool, but got '{type(value).__name__}'."
        )
    return value
