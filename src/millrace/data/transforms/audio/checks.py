"""Arguments that audio transforms share, as annotations."""

from __future__ import annotations

from typing import Annotated, Any

from millrace.core.args import INT32_MAX, Range, check_type
from millrace.core.errors import ArgumentValueError
from millrace.data.transforms.checks import FLOAT_MAX, INT32_MIN, Rule

__all__ = ["Float", "NonNegativeFloat", "NonZeroInt", "PositiveFloat"]


def _not_zero_int(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value == 0 or not INT32_MIN <= value <= INT32_MAX:
        raise ArgumentValueError(
            f"Input {name} is not within the required interval of [{INT32_MIN}, 0) and (0, {INT32_MAX}]."
        )


Float = Annotated[float | int, Range(-FLOAT_MAX, FLOAT_MAX)]
PositiveFloat = Annotated[float | int, Range(0, FLOAT_MAX, left_open=True)]
NonNegativeFloat = Annotated[float | int, Range(0, FLOAT_MAX)]
NonZeroInt = Annotated[Any, Rule(_not_zero_int)]
