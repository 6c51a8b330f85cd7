"""Adaptive average and max pooling: pooling to a given output size."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, REAL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool1d_mint",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_mint",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
]


def _parse_output_size(name: str, input: Tensor, output_size: Any, count: int) -> Any:
    """Output size of each axis; None (for maxima also -1) keeps the length of an axis."""
    if isinstance(output_size, Tensor):
        output_size = tuple(to_python_list(output_size))
    if isinstance(output_size, int) and not isinstance(output_size, bool):
        output_size = (output_size,) * count
    if not isinstance(output_size, (tuple, list)):
        raise ArgumentTypeError(
            f"For '{name}', 'output_size' must be an int or a tuple of {count}, but got {output_size!r}."
        )
    if input.ndim not in (count + 1, count + 2) or len(output_size) != count:
        raise ArgumentValueError(
            f"For '{name}', the input must have {count + 1} or {count + 2} axes and 'output_size' {count} numbers, but "
            f"got {list(input.shape)} and {output_size}."
        )
    unsaid = (None, -1) if "max" in name.lower() else (None,)
    sizes = tuple(h if n in unsaid else n for h, n in zip(input.shape[-count:], output_size, strict=True))
    if any(isinstance(n, bool) or not isinstance(n, int) for n in sizes):
        raise ArgumentTypeError(f"For '{name}', 'output_size' must hold ints or None, but got {output_size}.")
    if min(sizes) < 0:
        raise (OperationError if "max" in name.lower() else ArgumentValueError)(
            f"For '{name}', 'output_size' must not be below 0, but got {output_size}."
        )
    return sizes


def _check_divisible(name: str, input: Tensor, output_size: Any) -> int:
    """Output size of MindSpore's 1-D pooling, which must divide the input length."""
    if isinstance(output_size, bool) or not isinstance(output_size, int):
        raise ArgumentTypeError(f"For '{name}', 'output_size' must be an int, but got {output_size!r}.")
    if input.ndim != 3:
        raise ArgumentValueError(f"For {name} input must have 3 dim, but got {input.ndim}.")
    if output_size < 1 or input.shape[-1] % output_size:
        raise ArgumentValueError(
            f"For {name} input's last dimension must be divisible by output size {output_size}, but got "
            f"{input.shape[-1]}; mint.nn.functional.{name} takes any size."
        )
    return output_size


@op("ops", accepts=FLOATS, dtype=SAME)
def adaptive_avg_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Adaptive average pooling over the last axis; `output_size` divides its length."""
    return F.adaptive_avg_pool1d(input, _check_divisible("adaptive_avg_pool1d", input, output_size))


@op("mint.nn.functional:adaptive_avg_pool1d", accepts=FLOATS, dtype=SAME)
def adaptive_avg_pool1d_mint(input: Tensor, output_size: Any) -> Tensor:
    """Adaptive average pooling over the last axis."""
    return F.adaptive_avg_pool1d(input, output_size)


@op("ops", "ops:adaptive_avg_pool2d_ext", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Adaptive average pooling over the last two axes; None keeps the length of an axis."""
    return F.adaptive_avg_pool2d(input, _parse_output_size("adaptive_avg_pool2d", input, output_size, 2))


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Adaptive average pooling over the last three axes; None keeps the length of an axis."""
    return F.adaptive_avg_pool3d(input, _parse_output_size("adaptive_avg_pool3d", input, output_size, 3))


@op("ops", accepts=FLOATS, dtype=SAME)
def adaptive_max_pool1d(input: Tensor, output_size: int) -> Tensor:
    """Adaptive max pooling over the last axis; `output_size` divides its length."""
    return F.adaptive_max_pool1d(input, _check_divisible("adaptive_max_pool1d", input, output_size))


@op("mint.nn.functional:adaptive_max_pool1d", accepts=FLOATS, dtype=UNCHECKED)
def adaptive_max_pool1d_mint(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Adaptive max pooling over the last axis, optionally with indices."""
    return F.adaptive_max_pool1d(input, output_size, return_indices)


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=UNCHECKED)
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Adaptive max pooling over the last two axes, optionally with indices."""
    return F.adaptive_max_pool2d(
        input, _parse_output_size("adaptive_max_pool2d", input, output_size, 2), return_indices
    )


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Adaptive max pooling over the last three axes, optionally with indices."""
    values, where = adaptive_max_pool3d_with_indices.raw(input, output_size)
    return (values, where) if return_indices else values


@op(accepts=FLOATS, dtype=UNCHECKED)
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Adaptive max pooling over the last two axes, with indices."""
    size = _parse_output_size("AdaptiveMaxPool2D", input, output_size, 2)
    values, where = F.adaptive_max_pool2d(input, size, return_indices=True)
    return values, where


@op(accepts=REAL, dtype=UNCHECKED)
def adaptive_max_pool3d_with_indices(x: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Adaptive max pooling over the last three axes, with indices."""
    size = _parse_output_size("AdaptiveMaxPool3D", x, output_size, 3)
    values, where = F.adaptive_max_pool3d(x, size, return_indices=True)
    return values, where.to(torch.int32)


AdaptiveAvgPool2D = primitive("AdaptiveAvgPool2D", adaptive_avg_pool2d)
AdaptiveAvgPool3D = primitive("AdaptiveAvgPool3D", adaptive_avg_pool3d)
AdaptiveMaxPool2D = primitive("AdaptiveMaxPool2D", adaptive_max_pool2d_with_indices)
AdaptiveMaxPool3D = primitive("AdaptiveMaxPool3D", adaptive_max_pool3d_with_indices, init=())
