"""Padding layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.ops.array.pad import pad

from .cell import Cell

__all__ = [
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad2d",
]


class _ConstantPadNd(Cell):
    """Constant padding of the last axes; negative widths crop."""

    count = 1

    def __init__(self, padding: Any, value: Any) -> None:
        super().__init__()
        owner = type(self).__name__
        if isinstance(padding, bool) or not isinstance(padding, (int, tuple)):
            raise ArgumentTypeError(
                f"For '{owner}', the type of parameter 'padding' must be in [int, tuple], but got {type(padding)}"
            )
        if not isinstance(value, (int, float)):
            raise ArgumentTypeError(
                f"For '{owner}', the type of parameter 'value' must be in [int, float], but got {type(value)}"
            )
        widths = (padding,) * (2 * self.count) if isinstance(padding, int) else padding
        if len(widths) % 2 or len(widths) > 2 * self.count:
            raise ArgumentValueError(
                f"For '{owner}', the length of parameter 'padding' with tuple type must be even and no more than "
                f"{2 * self.count}, but got {len(widths)}"
            )
        self.padding, self.value = widths, value

    def construct(self, x: Any) -> Any:
        return pad(x, self.padding, "constant", self.value)


@public("nn", "mint.nn")
class ConstantPad1d(_ConstantPadNd):
    """Constant padding of the last axis."""


@public("nn", "mint.nn")
class ConstantPad2d(_ConstantPadNd):
    """Constant padding of the last two axes."""

    count = 2


@public("nn", "mint.nn")
class ConstantPad3d(_ConstantPadNd):
    """Constant padding of the last three axes."""

    count = 3


@public("nn", "mint.nn")
class ZeroPad2d(_ConstantPadNd):
    """Zero padding of the last two axes."""

    count = 2

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class _EdgePadNd(Cell):
    """Padding with elements of the tensor."""

    count, mode = 1, "reflect"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        owner = type(self).__name__
        if isinstance(padding, bool) or not isinstance(padding, (int, tuple)):
            raise ArgumentTypeError(
                f"For '{owner}' the input 'padding' must be an integer or tuple, but got {type(padding).__name__}"
            )
        widths = (padding,) * (2 * self.count) if isinstance(padding, int) else padding
        if len(widths) % 2:
            raise ArgumentValueError(
                f"For '{owner}' the length of input 'padding' must be divisible by 2, but got padding of length "
                f"{len(widths)}. "
            )
        if any(isinstance(width, bool) or not isinstance(width, int) for width in widths):
            raise ArgumentTypeError(
                f"For '{owner}' every element in 'padding' must be an int, but got {widths}."
            )
        if self.mode == "reflect" and min(widths) < 0:
            raise ArgumentValueError(
                f"For '{owner}' every element in 'padding' must be >= 0. but got {widths}."
            )
        self.padding = widths

    def construct(self, x: Any) -> Any:
        return pad(x, self.padding, self.mode)


@public("nn", "mint.nn")
class ReflectionPad1d(_EdgePadNd):
    """Reflection padding of the last axis."""


@public("nn", "mint.nn")
class ReflectionPad2d(_EdgePadNd):
    """Reflection padding of the last two axes."""

    count = 2


@public("nn", "mint.nn")
class ReflectionPad3d(_EdgePadNd):
    """Reflection padding of the last three axes."""

    count = 3


@public("nn", "mint.nn")
class ReplicationPad1d(_EdgePadNd):
    """Replication padding of the last axis."""

    mode = "replicate"


@public("nn", "mint.nn")
class ReplicationPad2d(_EdgePadNd):
    """Replication padding of the last two axes."""

    count, mode = 2, "replicate"


@public("nn", "mint.nn")
class ReplicationPad3d(_EdgePadNd):
    """Replication padding of the last three axes."""

    count, mode = 3, "replicate"
