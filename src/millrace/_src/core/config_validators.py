"""Checks for the values of ``config`` settings."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from millrace._src.core.public import public

from .args import INT32_MAX, UINT32_MAX, check_type
from .errors import ArgumentTypeError, ArgumentValueError, PlanError
from .machine.cores import warn_too_many_workers
from .settings import DEFAULT_SEED, parse_bytes
from .stable_ids import stable_id

__all__ = [
    "Check",
    "ErrorSamplesMode",
    "count",
    "flag",
    "integer",
    "error_samples_mode",
    "new_file",
    "one_of",
    "rows",
    "seed",
    "fraction",
    "size",
    "tolerance",
    "workers",
]

# Checks a value and returns the one to store in the settings.
Check: TypeAlias = Callable[[Any], Any]


@public("dataset.config")
@stable_id("enum.ErrorSamplesMode")
class ErrorSamplesMode(enum.IntEnum):
    """What happens to a row that fails: its error is raised, another row replaces it, or it is skipped.

    >>> ErrorSamplesMode.SKIP
    <ErrorSamplesMode.SKIP: 2>
    """

    RETURN = 0
    REPLACE = 1
    SKIP = 2


def integer(wrong_type: str, low: int, high: int, out_of_range: str) -> Check:
    """An integer in [low, high]; bool is refused.

    >>> integer("size isn't of type int.", 1, 9, "out of range")(3)
    3
    """

    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ArgumentTypeError(wrong_type)
        if not low <= value <= high:
            raise ArgumentValueError(out_of_range)
        return value

    return check


def seed(value: Any) -> int | None:
    """A seed; MindSpore's default becomes None.

    >>> seed(7), seed(5489)
    (7, None)
    """
    out = f"seed given is not within the required range [0, UINT32_MAX({UINT32_MAX})]."
    number: int = integer("seed isn't of type int.", 0, UINT32_MAX, out)(value)
    return None if number == DEFAULT_SEED else number


def workers(wrong_type: str, low: int, high: int, out_of_range: str) -> Check:
    """An integer in [low, high]; thousands of workers are accepted with a warning.

    >>> workers("num isn't of type int.", 1, 9, "out of range")(3)
    3
    """
    is_integer = integer(wrong_type, low, high, out_of_range)

    def check(value: Any) -> Any:
        kept = is_integer(value)
        warn_too_many_workers("num_parallel_workers", kept, stacklevel=5)
        return kept

    return check


def flag(wrong_type: str) -> Check:
    """True or False.

    >>> flag("enable must be of type bool.")(True)
    True
    """

    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ArgumentTypeError(wrong_type)
        return value

    return check


def one_of(parameter: str, *choices: str | None) -> Check:
    """One of the choices; None is accepted if it is one of them.

    >>> one_of("backend", "CPU", None)("CPU")
    'CPU'
    """
    named = [choice for choice in choices if choice is not None]

    def check(value: Any) -> str | None:
        if value is None and None in choices:
            return None
        check_type(value, (str,), parameter)
        if value not in named:
            raise ArgumentValueError(f"Input {parameter} is not within the valid set of {named}.")
        return str(value)

    return check


def error_samples_mode(value: Any) -> str:
    """A member of ErrorSamplesMode, stored as its name.

    >>> error_samples_mode(ErrorSamplesMode.SKIP)
    'skip'
    """
    check_type(value, (ErrorSamplesMode,), "error_samples_mode")
    return str(value.name.lower())


def size(parameter: str, what: str) -> Check:
    """A number of bytes, from an integer or a text; None for no limit.

    >>> size("budget", "a memory budget")("2GB")
    2000000000
    """

    def check(value: Any) -> int | None:
        if value is None:
            return None
        check_type(value, (int, str), parameter)
        num_bytes = parse_bytes(value, ArgumentValueError)
        if num_bytes <= 0:
            raise ArgumentValueError(f"{what} must be positive, but got {value!r}")
        return num_bytes

    return check


def count(parameter: str) -> Check:
    """An integer of at least 1; None for no limit.

    >>> count("pixels")(10**9)
    1000000000
    """

    def check(value: Any) -> int | None:
        if value is None:
            return None
        check_type(value, (int,), parameter)
        if value < 1:
            raise ArgumentValueError(
                f"Input {parameter} must be at least 1, or None for no limit; got {value}."
            )
        return int(value)

    return check


def fraction(value: Any) -> float:
    """A number from 0 to 1.

    >>> fraction(1)
    1.0
    """
    check_type(value, (int, float), "limit")
    if not 0 <= value <= 1:
        raise ArgumentValueError(f"Input limit is not within the required interval of [0, 1], got {value}.")
    return float(value)


def tolerance(value: Any) -> float:
    """A tolerance in levels, from 0 to 255.

    >>> tolerance(4)
    4.0
    """
    check_type(value, (int, float), "levels")
    if not 0 <= value <= 255:
        raise ArgumentValueError(
            f"Input levels is not within the required interval of [0, 255], got {value}."
        )
    return float(value)


def rows(value: Any) -> int | None:
    """A number of rows, or None.

    >>> rows(64)
    64
    """
    if value is None:
        return None
    check_type(value, (int,), "rows")
    if not 1 <= value <= INT32_MAX:
        raise ArgumentValueError(f"Input rows is not within the required interval of [1, {INT32_MAX}].")
    return int(value)


def new_file(path: str, name: str) -> None:
    """Check that a file can be created at a path, before the pipeline runs.

    >>> new_file("tuned", "json_filepath")
    """
    if not path:
        raise PlanError(f"The value of {name} cannot be the empty string.")
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise PlanError(f"Invalid {name} parameter. <{path}> is a directory, not filename.")
    if not os.path.isdir(folder):
        raise PlanError(f"Invalid {name} parameter.  Directory <{folder}> does not exist.")
    if not os.access(folder, os.W_OK):
        raise PlanError(f"Invalid {name} parameter. Directory <{folder}> cannot be written to.")
