"""Max unpooling."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import REAL, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.sliding_window import expand_per_axis

__all__ = [
    "MaxUnpool2D",
    "MaxUnpool3D",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool2d_mint",
    "max_unpool2d_of",
    "max_unpool3d",
    "max_unpool3d_of",
]


def _max_unpool(
    name: str,
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_size: Any,
    count: int,
) -> Tensor:
    """Put each maximum at its index; other elements are 0."""
    kernel = expand_per_axis(name, "kernel_size", kernel_size, count)
    steps = kernel if stride is None or stride == 0 else expand_per_axis(name, "stride", stride, count)
    around = expand_per_axis(name, "padding", padding, count, 0)
    if indices.shape != x.shape or x.ndim not in (count + 1, count + 2):
        raise ArgumentValueError(
            f"For '{name}', 'indices' must have the shape of the input, of {count + 1} or {count + 2} axes, but got "
            f"{list(indices.shape)} and {list(x.shape)}."
        )
    if indices.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For '{name}', 'indices' must be int32 or int64, but got {indices.dtype}.")
    size = tuple(output_size) if output_size else None
    if size is None:
        size = tuple(
            (n - 1) * s - 2 * p + k
            for n, s, p, k in zip(x.shape[-count:], steps, around, kernel, strict=True)
        )
    flat = x.flatten(-count)
    whole = 1
    for n in size[-count:]:
        whole *= n
    unpooled = torch.zeros((*flat.shape[:-1], whole), dtype=x.dtype, device=x.device)
    return unpooled.scatter(-1, indices.flatten(-count).long(), flat).reshape(
        *flat.shape[:-1], *size[-count:]
    )


@op("ops", accepts=REAL, dtype=SAME)
def max_unpool1d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Max unpooling over one axis: each maximum at its index, 0 elsewhere."""
    return _max_unpool("max_unpool1d", x, indices, kernel_size, stride, padding, output_size, 1)


@op("ops", accepts=REAL, dtype=SAME)
def max_unpool2d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Max unpooling over two axes: each maximum at its index, 0 elsewhere."""
    return _max_unpool("max_unpool2d", x, indices, kernel_size, stride, padding, output_size, 2)


@op("ops", accepts=REAL, dtype=SAME)
def max_unpool3d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Max unpooling over three axes: each maximum at its index, 0 elsewhere."""
    return _max_unpool("max_unpool3d", x, indices, kernel_size, stride, padding, output_size, 3)


@op("mint.nn.functional:max_unpool2d", accepts=REAL, dtype=SAME)
def max_unpool2d_mint(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Max unpooling over two axes: each maximum at its index, 0 elsewhere."""
    return _max_unpool("max_unpool2d", input, indices, kernel_size, stride, padding, output_size, 2)


@op(accepts=REAL, dtype=SAME)
def max_unpool2d_of(
    x: Tensor,
    argmax: Tensor,
    ksize: Any,
    strides: Any = 0,
    pads: Any = 0,
    output_shape: Any = (),
    data_format: str = "NCHW",
) -> Tensor:
    """Max unpooling over two axes: each maximum at its index, 0 elsewhere."""
    return _max_unpool("MaxUnpool2D", x, argmax, ksize, strides, pads, output_shape, 2)


@op(accepts=REAL, dtype=SAME)
def max_unpool3d_of(
    x: Tensor,
    argmax: Tensor,
    ksize: Any,
    strides: Any = 0,
    pads: Any = 0,
    output_shape: Any = (),
    data_format: str = "NCDHW",
) -> Tensor:
    """Max unpooling over three axes: each maximum at its index, 0 elsewhere."""
    return _max_unpool("MaxUnpool3D", x, argmax, ksize, strides, pads, output_shape, 3)


MaxUnpool2D = primitive("MaxUnpool2D", max_unpool2d_of)
MaxUnpool3D = primitive("MaxUnpool3D", max_unpool3d_of)
