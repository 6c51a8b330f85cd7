"""Argument types that the audio transforms share, as annotations."""

from __future__ import annotations

from typing import Annotated, Any

from millrace._src.core.args import INT32_MAX, Range, check_type
from millrace._src.core.errors import ArgumentValueError
from millrace._src.data.transforms.argument_types import FLOAT_MAX, INT32_MIN, ArgumentRule

__all__ = [
    "Float",
    "NonNegativeFloat",
    "NonNegativeReal",
    "NonZeroInt",
    "PositiveFloat",
    "PositiveReal",
    "Real",
    "check_window",
]


def _check_not_zero_int(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value == 0 or not INT32_MIN <= value <= INT32_MAX:
        raise ArgumentValueError(
            f"Input {name} is not within the required interval of [{INT32_MIN}, 0) and (0, {INT32_MAX}]."
        )


Float = Annotated[float | int, Range(-FLOAT_MAX, FLOAT_MAX)]
PositiveFloat = Annotated[float | int, Range(0, FLOAT_MAX, left_open=True)]
NonNegativeFloat = Annotated[float | int, Range(0, FLOAT_MAX)]
NonZeroInt = Annotated[Any, ArgumentRule(_check_not_zero_int)]
# the same, for messages of MindSpore that name int before float
Real = Annotated[int | float, Range(-FLOAT_MAX, FLOAT_MAX)]
PositiveReal = Annotated[int | float, Range(0, FLOAT_MAX, left_open=True)]
NonNegativeReal = Annotated[int | float, Range(0, FLOAT_MAX)]


def check_window(win_length: int | None, n_fft: int) -> None:
    """Raise an error for a window longer than the frame."""
    if win_length is not None and win_length > n_fft:
        raise ArgumentValueError(
            f"Input win_length should be no more than n_fft, but got win_length: {win_length} and n_fft: {n_fft}."
        )
