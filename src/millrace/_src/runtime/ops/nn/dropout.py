"""Dropout and its masks: dropout, dropout2d, dropout_gen_mask."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "DropoutDoMask",
    "DropoutGenMask",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout2d_mask",
    "dropout2d_mint",
    "dropout3d",
    "dropout3d_mask",
    "dropout_do_mask",
    "dropout_gen_mask",
    "dropout_mask",
    "dropout_mint",
]


# Operations with the same arguments as in `ops`.


def _check_probability(name: str, p: Any) -> float:
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'p' must be a number, but got {p!r}.")
    if not 0 <= p < 1:
        raise OperationError(f"For '{name}', 'p' must be in [0, 1), but got {p}.")
    return p


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Dropout: elements are zeroed with probability `p`, the others divided by 1 - p. Returns the input unless
    `training`.
    """
    if not training or p == 0:
        return input
    if seed is not None:
        uniform = torch.rand(input.shape, generator=torch.Generator().manual_seed(seed)).to(input.device)
        return input * (uniform >= _check_probability("dropout", p)) / (1 - p)
    return F.dropout(input, _check_probability("dropout", p))


@op("mint.nn.functional:dropout", accepts=FLOATS, dtype=SAME, random=True)
def dropout_mint(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout: elements are zeroed with probability `p`, the others divided by 1 - p."""
    return F.dropout(input, p, training, inplace)


def _dropout_channels(name: str, x: Tensor, p: Any, training: bool, ndims: tuple[int, ...]) -> Tensor:
    """Zero whole channels."""
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'p' must be a number, but got {p!r}.")
    if not 0 <= p <= 1:
        raise ArgumentValueError(f"For '{name}', 'p' must be in [0, 1], but got {p}.")
    if x.ndim not in ndims:
        raise ArgumentValueError(
            f"For '{name}', the input must have {' or '.join(map(str, ndims))} axes, but got {list(x.shape)}."
        )
    if not training:
        return x
    channels = x.shape[: 2 if x.ndim == ndims[-1] else 1]
    shape = (*channels, *(1,) * (x.ndim - len(channels)))
    kept = torch.rand(shape, device=x.device) >= p
    return x * kept / (1 - p) if p < 1 else torch.zeros_like(x)


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L) with probability `p`."""
    return _dropout_channels("dropout1d", input, p, training, (2, 3))


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout of whole channels of (N, C, H, W) with probability `p`."""
    return _dropout_channels("dropout2d", input, p, training, (4,))


@op("mint.nn.functional:dropout2d", accepts=FLOATS, dtype=SAME, random=True)
def dropout2d_mint(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout of whole channels of (N, C, H, W) or (C, H, W) with probability `p`."""
    return _dropout_channels("dropout2d", input, p, training, (3, 4))


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W) with probability `p`."""
    return _dropout_channels("dropout3d", input, p, training, (5,))


@op(accepts=FLOATS, dtype=UNCHECKED, random=True)
def dropout_mask(x: Tensor, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> tuple[Tensor, Tensor]:
    """Dropout that keeps elements with probability `keep_prob`, and the mask of kept elements."""
    p = 1 - keep_prob
    _check_probability("Dropout", p)
    mask = (torch.rand(x.shape, device=x.device) >= p).to(x.dtype)
    return x * mask / keep_prob, mask


def _channel_mask(name: str, x: Tensor, keep_prob: float, ndim: int) -> tuple[Tensor, Tensor]:
    if isinstance(keep_prob, bool) or not isinstance(keep_prob, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'keep_prob' must be a number, but got {keep_prob!r}.")
    if not 0 <= keep_prob <= 1 or x.ndim != ndim:
        raise ArgumentValueError(
            f"For '{name}', 'keep_prob' must be in [0, 1] and the input have {ndim} axes, but got {keep_prob} and "
            f"{list(x.shape)}."
        )
    kept = torch.rand((*x.shape[:2], *(1,) * (ndim - 2)), device=x.device) < keep_prob
    return x * kept / (keep_prob or 1), kept.expand(x.shape).clone()


@op(accepts=FLOATS, dtype=UNCHECKED, random=True)
def dropout2d_mask(x: Tensor, keep_prob: float = 0.5) -> tuple[Tensor, Tensor]:
    """Dropout that keeps whole channels of (N, C, H, W) with probability `keep_prob`, and the mask of kept elements."""
    return _channel_mask("Dropout2D", x, keep_prob, 4)


@op(accepts=FLOATS, dtype=UNCHECKED, random=True)
def dropout3d_mask(x: Tensor, keep_prob: float = 0.5) -> tuple[Tensor, Tensor]:
    """Dropout that keeps whole channels of (N, C, D, H, W) with probability `keep_prob`, and the mask of kept
    elements.
    """
    return _channel_mask("Dropout3D", x, keep_prob, 5)


@op(dtype=UNCHECKED, differentiable=False, random=True)
def dropout_gen_mask(shape: Any, keep_prob: Any, Seed0: int = 0, Seed1: int = 0) -> Tensor:
    """Mask for DropoutDoMask: eight elements per byte, padded to blocks of 128 elements."""
    count = 1
    for size in shape:
        count *= size
    bits = (torch.rand(-(-count // 128) * 128) < keep_prob).reshape(-1, 8)
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
    return (bits.to(torch.uint8) * weights).sum(1).to(torch.uint8)


@op(dtype=SAME)
def dropout_do_mask(input_x: Tensor, mask: Tensor, keep_prob: Any) -> Tensor:
    """Apply a mask of DropoutGenMask: set bits keep the element, divided by `keep_prob`; the others are 0."""
    bit_positions = torch.arange(8, dtype=torch.uint8, device=mask.device)
    bits = (mask.reshape(-1, 1) >> bit_positions & 1).reshape(-1)[: input_x.numel()].reshape(input_x.shape)
    return input_x * bits.to(input_x.dtype) / keep_prob


Dropout = primitive("Dropout", dropout_mask)
Dropout2D = primitive("Dropout2D", dropout2d_mask)
Dropout3D = primitive("Dropout3D", dropout3d_mask)
DropoutGenMask = primitive("DropoutGenMask", dropout_gen_mask, init=("Seed0", "Seed1"))
DropoutDoMask = primitive("DropoutDoMask", dropout_do_mask, init=())
