"""Checks of image kernels: type of the value, shape, leading batch dimensions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError, DataError

__all__ = [
    "Array",
    "as_array",
    "describe",
    "map_images",
    "is_pil",
    "restore_channel_axis",
    "check_image",
    "check_pil_image",
]

Array = npt.NDArray[Any]

_SHAPE_NAMES = {2: "<H,W>", 3: "<H,W,C>"}


def is_pil(value: Any) -> bool:
    """Whether a value is a Pillow image; never imports Pillow."""
    if type(value) is np.ndarray:
        return False
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def as_array(value: Any) -> Array:
    """The array itself, or the pixels of a Pillow image as an array."""
    return value if type(value) is np.ndarray else np.asarray(value)


def describe(value: Any) -> str:
    """Description of a value for an error message.

    >>> describe(np.zeros((2, 3), np.uint8))
    'an array of shape (2, 3) and type uint8'
    """
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    if is_pil(value):
        return f"a Pillow image of mode {value.mode} and size {value.size[1]} x {value.size[0]}"
    return f"a value of {type(value)}"


def check_image(
    op: str,
    x: Array,
    ranks: Collection[int] = (2, 3),
    channels: Collection[int] | None = None,
    type_codes: str = "biuf",
) -> None:
    """Raise an error for an array whose rank, number of channels or type the operation does not support."""
    if x.ndim not in ranks:
        shapes = " or ".join(_SHAPE_NAMES.get(r, f"{r} dimensions") for r in sorted(ranks))
        raise DataError(
            f"{op}: input tensor is not in shape of {shapes}, but got rank: {x.ndim} ({describe(x)}). "
            "An encoded image needs Decode() first."
        )
    if x.dtype.kind not in type_codes:
        raise DataError(f"{op}: the data type of image tensor does not match, but got {describe(x)}.")
    if channels is not None and x.ndim == 3 and x.shape[2] not in channels:
        wanted = " or ".join(map(str, channels))
        raise DataError(
            f"{op}: the number of channels of input tensor is not {wanted}, but got: {x.shape[2]} ({describe(x)})."
        )


def check_pil_image(op: str, value: Any) -> None:
    """Raise an error for anything but a Pillow image."""
    if not is_pil(value):
        raise ArgumentTypeError(
            f"img should be PIL image. Got {type(value)}. Use Decode() for encoded data or ToPIL() for decoded "
            f"data. ({op} got {describe(value)}.)"
        )


def map_images(function: Callable[[Array], Array], x: Array, op: str, max_dims: int | None = None) -> Array:
    """Apply a function to one image, or to every image of <..., H, W, C>."""
    if x.ndim < 2:
        raise DataError(
            f"{op}: input tensor should have at least 2 dimensions, but got: {x.ndim} ({describe(x)}). "
            "An encoded image needs Decode() first."
        )
    if x.ndim <= 3:
        return function(x)
    if max_dims is not None and x.ndim > max_dims:
        raise DataError(
            f"{op}: input tensor should have at most {max_dims} dimensions, but got {describe(x)}."
        )
    lead = x.shape[:-3]
    flat = x.reshape(-1, *x.shape[-3:])
    outputs = np.stack([function(image) for image in flat])
    return outputs.reshape(*lead, *outputs.shape[1:])


def restore_channel_axis(output: Array, original: Array) -> Array:
    """Restore a channel axis of length one, which OpenCV drops."""
    return output[:, :, None] if original.ndim == 3 and output.ndim == 2 else output
