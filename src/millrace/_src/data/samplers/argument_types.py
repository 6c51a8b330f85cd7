"""Argument checks of samplers, with MindSpore's error messages."""

from __future__ import annotations

from typing import Any

from millrace._src.core.args import INT64_MAX
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.random.permutation import Indices

__all__ = ["check_bool", "check_count", "check_integer", "check_rows"]


def check_count(value: Any, name: str = "num_samples") -> None:
    """Raise if a value is not a number of rows.

    >>> check_count("3")
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentTypeError: num_samples must be integer but was: 3.
    """
    if value is None:
        return
    check_integer(value, name)
    if not 0 <= value <= INT64_MAX:
        raise ArgumentValueError(f"{name} exceeds the boundary between 0 and {INT64_MAX}(INT64_MAX)!")


def check_integer(value: Any, name: str) -> None:
    """Raise if a value is not an integer (a bool is accepted, as in MindSpore's samplers)."""
    if not isinstance(value, int):
        raise ArgumentTypeError(f"{name} must be integer but was: {value}.")


def check_bool(value: Any, name: str) -> None:
    """Raise if a value is not a bool."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name} must be a boolean value but was: {value}.")


def check_rows(rows: Indices, size: int) -> None:
    """Raise for row numbers outside [0, size).

    >>> import numpy as np
    >>> check_rows(np.array([1, 5]), 5)
    Traceback (most recent call last):
    ...
    millrace.errors.PlanError: Sample ID (5) is out of bound, expected range [0, 4]
    """
    outside = (rows < 0) | (rows >= size)
    if outside.any():
        bad = int(rows[int(outside.argmax())])
        raise PlanError(f"Sample ID ({bad}) is out of bound, expected range [0, {size - 1}]")
