"""Hints for wrong input shapes in prediction: expected shape, actual shape, and the transforms that fix it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell

__all__ = ["advice", "expected_shape", "explain_shape_errors"]

# The first layer determines the expected shape: its class, the channel or feature axis, and the rank.
_CHANNELS = {
    "Conv1d": 3,
    "Conv2d": 4,
    "Conv3d": 5,
    "Conv1dTranspose": 3,
    "Conv2dTranspose": 4,
    "Conv3dTranspose": 5,
}


@contextmanager
def explain_shape_errors(
    network: Cell, inputs: tuple[Any, ...], seen: tuple[Any, ...] | None = None
) -> Iterator[None]:
    """Convert shape errors of the first input to errors with the expected shape and a fix.

    `seen` is the shape of an earlier valid input, if known.
    """
    try:
        yield
    except (ValueError, TypeError, RuntimeError) as error:
        got = next((value.shape for value in inputs if isinstance(value, Tensor)), None)
        wanted = seen if seen is not None else expected_shape(network)
        if got is None or wanted is None or fits(wanted, got):
            raise
        raise ArgumentValueError(
            f"For 'Model.predict', wrong shape of input: expected {_format_shape(wanted)}, but got {tuple(got)}. "
            f"{advice(wanted, tuple(got))} (the network's error: {str(error).splitlines()[0]})"
        ) from error


def expected_shape(network: Cell) -> tuple[Any, ...] | None:
    """Expected shape of the first layer, if known; names stand for arbitrary sizes."""
    for cell in network._all_cells():
        class_name = type(cell).__name__
        if class_name in _CHANNELS and hasattr(cell, "in_channels"):
            return (
                "N",
                cell.in_channels,
                *("DHW"[-(_CHANNELS[class_name] - 2) :] if class_name != "Conv1d" else "L"),
            )
        if class_name in ("Dense", "Linear") and hasattr(cell, "in_channels"):
            return ("N", cell.in_channels)
    return None


def fits(wanted: tuple[Any, ...], got: tuple[int, ...]) -> bool:
    """Whether a shape matches the expected shape."""
    return len(wanted) == len(got) and all(
        isinstance(want, str) or want == have for want, have in zip(wanted, got, strict=True)
    )


def _format_shape(wanted: tuple[Any, ...]) -> str:
    return "(" + ", ".join(str(each) for each in wanted) + ("," if len(wanted) == 1 else "") + ")"


def advice(wanted: tuple[Any, ...], got: tuple[int, ...]) -> str:
    """Transforms that convert one shape to another, in order.

    >>> advice(("N", 1, 32, 32), (28, 28, 1))
    'Fix it with vision.Resize((32, 32)), vision.HWC2CHW(), x.expand_dims(0).'
    >>> advice(("N", 784), (4, 1, 28, 28))
    'Fix it with x.reshape(4, 784).'
    """
    steps = _suggest_steps(wanted, got)
    if not steps:
        return "No transform converts one to the other: check how the training data were created."
    return f"Fix it with {', '.join(steps)}."


def _suggest_steps(wanted: tuple[Any, ...], got: tuple[int, ...]) -> list[str]:
    if len(wanted) == 2 and isinstance(wanted[1], int):
        return _suggest_flatten(wanted[1], got)
    image, batched = tuple(wanted[1:]), len(got) == len(wanted)
    have = tuple(got[1:]) if batched else tuple(got)
    steps: list[str] = []
    if len(image) == 3 and len(have) == 2:  # a grayscale image without a channel axis
        have = (1, *have)
        last = ["x.expand_dims(1)" if batched or len(got) == 3 else "x.expand_dims(0)"]
    elif (
        len(image) == 3
        and len(have) == 3
        and not _has_channels(image, have[0])
        and _has_channels(image, have[-1])
    ):
        have = (have[-1], *have[:-1])
        last = ["vision.HWC2CHW()"]
    else:
        last = []
    if len(image) != len(have):
        return []
    if len(image) == 3:
        if any(
            isinstance(want, int) and want != size for want, size in zip(image[1:], have[1:], strict=True)
        ):
            steps.append(f"vision.Resize(({image[1]}, {image[2]}))")
        if not _has_channels(image, have[0]):
            colours = {
                (1, 3): "vision.Grayscale(1)",
                (3, 1): "vision.Grayscale(3)",
                (3, 4): "vision.Decode()",
            }
            step = colours.get((image[0], have[0]))
            if step is None:
                return []
            steps.append(step)
    elif any(isinstance(want, int) and want != size for want, size in zip(image, have, strict=True)):
        return []
    return [*steps, *last, *([] if batched else ["x.expand_dims(0)"])]


def _has_channels(image: tuple[Any, ...], count: int) -> bool:
    return isinstance(image[0], str) or image[0] == count


def _suggest_flatten(features: int, got: tuple[int, ...]) -> list[str]:
    size = 1
    for each in got[1:]:
        size *= each
    if len(got) > 1 and size == features and len(got) != 2:
        return [f"x.reshape({got[0]}, {features})"]
    if size * got[0] == features:
        return [f"x.reshape(1, {features})"]
    return []
