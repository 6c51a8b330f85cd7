"""Argument types of the image transforms, as annotations, with MindSpore's error messages.

See transforms/argument_types.py.
"""

from __future__ import annotations

import numbers
from typing import Annotated, Any

from millrace._src.core.args import INT32_MAX, check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    INT32_MIN,
    ArgumentRule,
    check_each_type,
    check_interval,
    check_order,
    check_positive,
)

__all__ = [
    "Bits",
    "Center",
    "CropSize",
    "Degrees",
    "FillValue",
    "Ignore",
    "Padding",
    "Points",
    "PositiveDegrees",
    "Ratio",
    "ResizeSize",
    "Scale",
    "as_pair",
    "as_padding",
    "as_triple",
]

_SIZE = "Size should be a single integer or a list/tuple (h, w) of length 2."


def _is_number(value: Any) -> bool:
    return isinstance(value, int)  # True and False too, which MindSpore accepts here


def _check_crop_size(name: str, value: Any) -> None:
    check_type(value, (int, list, tuple), name)
    if _is_number(value):
        check_interval(value, 1, FLOAT_MAX)
        return
    if len(value) != 2:
        raise ArgumentTypeError(_SIZE)
    for i, item in enumerate(value):
        check_type(item, (int,), f"{name}[{i}]")
        check_interval(item, 1, FLOAT_MAX)


def _check_resize_size(name: str, value: Any) -> None:
    if _is_number(value):
        check_interval(value, 1, FLOAT_MAX)
        return
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentTypeError(_SIZE)
    for i, item in enumerate(value):
        check_type(item, (int,), f"{name} at dim {i}")
        check_interval(item, 1, INT32_MAX, f"{name} at dim {i}")


def _check_fill_value(name: str, value: Any) -> None:
    if _is_number(value):
        check_type(value, (int,), name)
        check_interval(value, 0, 255, name)
    elif isinstance(value, tuple) and len(value) == 3:
        for i, item in enumerate(value):
            check_type(item, (int,), f"{name}[{i}]")
            check_interval(item, 0, 255, f"{name}[{i}]")
    else:
        raise ArgumentTypeError("fill_value should be a single integer or a 3-tuple.")


def _check_padding(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        check_type(value, (tuple, list, numbers.Number), name)
    if isinstance(value, numbers.Number):
        check_type(value, (int,), name)
        check_interval(value, 0, INT32_MAX, name)
        return
    if len(value) not in (2, 4):
        raise ArgumentValueError("The size of the padding list or tuple should be 2 or 4.")
    for i, item in enumerate(value):
        check_type(item, (int,), f"{name}[{i}]")
        check_interval(item, 0, INT32_MAX, "pad_value")


def _check_degrees(name: str, value: Any) -> None:
    check_type(value, (int, float, list, tuple), name)
    if isinstance(value, (int, float)):
        check_interval(value, 0, FLOAT_MAX, name)
        return
    if len(value) != 2:
        raise ArgumentTypeError("If degrees is a sequence, the length must be 2.")
    check_each_type(value, (int, float), name)
    for item in value:
        check_interval(item, -FLOAT_MAX, FLOAT_MAX, name)
    _check_range(name, value)


def _check_range(name: str, value: Any) -> None:
    if value[0] > value[1]:
        raise ArgumentValueError(f"{name} should be in (min,max) format. Got (max,min).")


def _check_positive_degrees(name: str, value: Any) -> None:
    if not isinstance(value, (list, tuple)):
        raise ArgumentTypeError("degrees must be either a tuple or a list.")
    check_each_type(value, (int, float), name)
    if len(value) != 2:
        raise ArgumentValueError("degrees must be a sequence with length 2.")
    for item in value:
        check_interval(item, 0, FLOAT_MAX)
    _check_range(name, value)


def _check_scale(name: str, value: Any) -> None:
    check_type(value, (tuple, list), name)
    if len(value) != 2:
        raise ArgumentTypeError("scale should be a list/tuple of length 2.")
    check_each_type(value, (float, int), name)
    _check_range(name, value)
    check_order(value, 0, FLOAT_MAX)
    check_positive(value[1], "scale[1]")


def _check_ratio(name: str, value: Any) -> None:
    check_type(value, (tuple, list), name)
    if len(value) != 2:
        raise ArgumentTypeError("ratio should be a list/tuple of length 2.")
    for i, item in enumerate(value):
        check_type(item, (float, int), f"ratio[{i}]")
        check_interval(item, 0, FLOAT_MAX, f"ratio[{i}]", left_open=True)
    _check_range(name, value)


def _check_center(name: str, value: Any) -> None:
    if not (isinstance(value, tuple) and len(value) == 2):
        raise ArgumentValueError(f"Value {name} needs to be a 2-tuple.")
    for item in value:
        check_type(item, (int, float), name)
        check_interval(item, INT32_MIN, INT32_MAX, name)


def _check_ignore(name: str, value: Any) -> None:
    check_type(value, (list, tuple, int), name)
    if _is_number(value):
        check_interval(value, 0, 255, name)
        return
    for item in value:
        check_type(item, (int,), "item")
        check_interval(item, 0, 255, name)


def _check_points(name: str, value: Any) -> None:
    check_each_type(value, (list, tuple), name)


def check_points(name: str, value: Any) -> None:
    """Check four corners with integer coordinates."""
    if len(value) != 4:
        raise ArgumentTypeError(f"{name} should be a list or tuple of length 4.")
    for i, point in enumerate(value):
        if len(point) != 2:
            raise ArgumentTypeError(f"{name}[{i}] should be a list or tuple of length 2.")
        for j, item in enumerate(point):
            check_type(item, (int,), f"{name}[{i}][{j}]")
            check_interval(item, INT32_MIN, INT32_MAX, f"{name}[{i}][{j}]")


def _check_bits(name: str, value: Any) -> None:
    check_type(value, (list, tuple, int), name)
    if _is_number(value):
        check_interval(value, 1, 8)
        return
    if len(value) != 2:
        raise ArgumentTypeError(
            "Size of bits should be a single integer or a list/tuple (min, max) of length 2."
        )
    for item in value:
        check_type(item, (int,), name)
        check_interval(item, 0, 255, name)
    check_order(value, 1, 8)


CropSize = Annotated[Any, ArgumentRule(_check_crop_size)]
ResizeSize = Annotated[Any, ArgumentRule(_check_resize_size)]
FillValue = Annotated[Any, ArgumentRule(_check_fill_value)]
Padding = Annotated[Any, ArgumentRule(_check_padding)]
Degrees = Annotated[Any, ArgumentRule(_check_degrees)]
PositiveDegrees = Annotated[Any, ArgumentRule(_check_positive_degrees)]
Scale = Annotated[Any, ArgumentRule(_check_scale)]
Ratio = Annotated[Any, ArgumentRule(_check_ratio)]
Center = Annotated[Any, ArgumentRule(_check_center)]
Ignore = Annotated[Any, ArgumentRule(_check_ignore)]
Points = Annotated[Any, ArgumentRule(_check_points)]
Bits = Annotated[Any, ArgumentRule(_check_bits)]


def as_pair(size: Any) -> tuple[int, int]:
    """(height, width) of a size of one or two integers.

    >>> as_pair(5), as_pair([2, 3])
    ((5, 5), (2, 3))
    """
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def as_triple(fill: Any) -> tuple[int, ...]:
    return (fill,) * 3 if isinstance(fill, int) else tuple(fill)


def as_padding(padding: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom).

    >>> as_padding(1), as_padding((2, 3))
    ((1, 1, 1, 1), (2, 3, 2, 3))
    """
    if isinstance(padding, int):
        return (padding,) * 4
    return (padding[0], padding[1], padding[0], padding[1]) if len(padding) == 2 else tuple(padding)
