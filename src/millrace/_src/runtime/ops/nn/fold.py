"""Sliding local blocks: unfold, fold, im2col, col2im, extract_patches."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import to_shape
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.pixel_shuffle import _check_image
from millrace._src.runtime.ops.nn.sliding_window import (
    check_pad_mode,
    compute_padding,
    expand_per_axis,
    parse_padding,
)

__all__ = [
    "Col2Im",
    "ExtractImagePatches",
    "ExtractVolumePatches",
    "Im2Col",
    "col2im",
    "col_to_image",
    "extract_patches",
    "extract_volume_patches",
    "fold",
    "image_to_col",
    "unfold",
]


@op(dtype=SAME)
def extract_patches(input_x: Tensor, ksizes: Any, strides: Any, rates: Any, padding: str = "VALID") -> Tensor:
    """Sliding windows of (N, C, H, W) as channels: (N, rows * columns * C, H', W')."""
    from millrace._src.runtime.ops.nn.sliding_window import compute_padding

    name = "ExtractImagePatches"
    numbers = []
    for label, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if not isinstance(value, (tuple, list)) or len(value) != 4 or value[0] != 1 or value[3] != 1:
            raise ArgumentValueError(
                f"For '{name}', '{label}' must be [1, rows, columns, 1], but got {value!r}."
            )
        numbers.append(tuple(value[1:3]))
    if padding.lower() not in ("valid", "same"):
        raise ArgumentValueError(f"For '{name}', 'padding' must be VALID or SAME, but got {padding!r}.")
    kernel, steps, dilated = numbers
    around = compute_padding(
        name, padding.lower(), ((0, 0), (0, 0)), tuple(input_x.shape[2:]), kernel, steps, dilated
    )
    (top, bottom), (left, right) = around
    x = torch.nn.functional.pad(input_x, (left, right, top, bottom))
    for axis, (k, s, d) in enumerate(zip(kernel, steps, dilated, strict=True), 2):
        x = x.unfold(axis, d * (k - 1) + 1, s)[..., ::d]
    return x.permute(0, 4, 5, 1, 2, 3).reshape(x.shape[0], -1, x.shape[2], x.shape[3])


ExtractImagePatches = primitive("ExtractImagePatches", extract_patches)


@op(dtype=SAME)
def extract_volume_patches(input_x: Tensor, kernel_size: Any, strides: Any, padding: str) -> Tensor:
    """Sliding windows of (N, C, D, H, W) as channels: (N, elements * C, D', H', W')."""
    name = "ExtractVolumePatches"
    kernel, steps = (
        expand_per_axis(name, "kernel_size", kernel_size, 3),
        expand_per_axis(name, "strides", strides, 3),
    )
    way = check_pad_mode(name, padding, ("valid", "same"), fold=True)
    if input_x.ndim != 5:
        raise ArgumentValueError(f"For '{name}', the input must have 5 axes, but got {list(input_x.shape)}.")
    none = parse_padding(name, 0, 3)
    around = compute_padding(name, way, none, tuple(input_x.shape[2:]), kernel, steps, (1, 1, 1))
    x = F.pad(input_x, [side for pair in reversed(around) for side in pair])
    for axis, (k, s) in enumerate(zip(kernel, steps, strict=True), 2):
        x = x.unfold(axis, k, s)
    return x.permute(0, 5, 6, 7, 1, 2, 3, 4).reshape(x.shape[0], -1, *x.shape[2:5])


ExtractVolumePatches = primitive("ExtractVolumePatches", extract_volume_patches)


def _parse_pair(value: Any, name: str, least: int) -> tuple[int, int]:
    pair = to_shape(value)
    if len(pair) not in (1, 2) or min(pair) < least:
        raise ArgumentValueError(f"the '{name}' must be one or two ints >= {least}, but got {value}.")
    return pair[0], pair[-1]


@op("ops", "Tensor", dtype=SAME)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sliding windows of images as columns (im2col): [batch, channels * window, windows]."""
    return _unfold_windows(input, kernel_size, dilation, padding, stride)


def _unfold_windows(input: Tensor, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    if isinstance(padding, (tuple, list)) and len(padding) == 4:
        top, bottom, left, right = to_shape(padding)
        input, padding = F.pad(input, (left, right, top, bottom)), 0
    return F.unfold(
        _check_image(input, "unfold"),
        _parse_pair(kernel, "kernel_size", 1),
        _parse_pair(dilation, "dilation", 1),
        _parse_pair(padding, "padding", 0),
        _parse_pair(stride, "stride", 1),
    )


@op("ops", "Tensor", dtype=SAME)
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Combine sliding windows [batch, channels * window, windows] into images; overlapping values are summed."""
    return _fold_columns(
        _columns(input) if input.ndim == 4 else input, output_size, kernel_size, dilation, padding, stride
    )


def _fold_columns(
    columns: Tensor, output: Any, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> Tensor:
    return F.fold(
        columns,
        _parse_pair(output, "output_size", 1),
        _parse_pair(kernel, "kernel_size", 1),
        _parse_pair(dilation, "dilation", 1),
        _parse_pair(padding, "padding", 0),
        _parse_pair(stride, "stride", 1),
    )


@op(dtype=SAME)
def image_to_col(x: Tensor, ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0) -> Tensor:
    """Sliding windows of images as columns: [batch, channels, window, windows]."""
    columns = _unfold_windows(x, ksizes, dilations, pads, strides)
    return columns.reshape(x.shape[0], x.shape[1], -1, columns.shape[-1])


def _columns(x: Tensor) -> Tensor:
    if x.ndim != 4:
        raise ArgumentValueError(
            f"For 'Col2Im', the input must be [batch, channels, window, windows]: {tuple(x.shape)}."
        )
    return x.reshape(x.shape[0], -1, x.shape[-1])


@op("ops", "Tensor", dtype=SAME)
def col2im(
    input_x: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding_value: Any, stride: Any
) -> Tensor:
    """Combine sliding windows [batch, channels, window, windows] into images; overlapping values are summed."""
    return _fold_columns(_columns(input_x), output_size, kernel_size, dilation, padding_value, stride)


@op(dtype=SAME)
def col_to_image(
    x: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Combine sliding windows [batch, channels, window, windows] into images; overlapping values are summed."""
    return _fold_columns(_columns(x), output_size, kernel_size, dilation, padding, stride)


Im2Col = primitive("Im2Col", image_to_col, init=("ksizes", "strides", "dilations", "pads"))
Col2Im = primitive("Col2Im", col_to_image, init=("kernel_size", "dilation", "padding", "stride"))

export_names(__name__, "mint.nn.functional", "fold", "unfold")
