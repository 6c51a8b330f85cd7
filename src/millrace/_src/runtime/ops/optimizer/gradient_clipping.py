"""Gradient clipping by norm."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from torch import Tensor

from millrace._src.core.args import Range
from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.arguments import normalize_axes
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["clip_by_global_norm", "clip_by_norm", "clip_by_norm_along"]


def _to_float32(part: Tensor) -> Tensor:
    """Compute norms in float32 at least."""
    return part if part.dtype is torch.float64 else part.to(torch.float32)


@op("ops", dtype=UNCHECKED)
def clip_by_global_norm(
    x: list[Tensor] | tuple[Tensor, ...], clip_norm: Any = 1.0, use_norm: None = None
) -> Any:
    """Scale tensors so that their global norm is at most `clip_norm`."""
    if isinstance(clip_norm, (int, float)) and clip_norm <= 0:
        raise ArgumentValueError(
            f"For 'clip_by_global_norm', the argument 'clip_norm' must > 0.0, but got {clip_norm}."
        )
    if use_norm is not None:
        raise ArgumentValueError(
            f"For 'clip_by_global_norm', input 'use_norm' only supports None currently, but got 'use_norm': {use_norm}"
        )
    if len(x) == 0:
        raise ArgumentValueError(
            "For 'clip_by_global_norm', 'x' must hold at least one tensor, but it is empty."
        )
    squares = [_to_float32(part).square().sum() for part in x]
    norm = torch.stack(squares).sum().sqrt()
    scale = clip_norm / torch.clamp(norm, min=clip_norm)
    return tuple((part * scale).to(part.dtype) for part in x)


@op("ops", dtype=UNCHECKED)
def clip_by_norm(
    x: Tensor | list[Tensor] | tuple[Tensor, ...],
    max_norm: Annotated[float | int, Range(0, float("inf"))],
    norm_type: float | int = 2.0,
    error_if_nonfinite: bool = False,
) -> Any:
    """Scale tensors so that their joint norm, of any order, is at most `max_norm`."""
    several = [x] if isinstance(x, Tensor) else list(x)
    if not several:
        raise ArgumentValueError("For 'clip_by_norm', 'x' must hold at least one tensor, but it is empty.")
    norms = torch.stack([torch.linalg.vector_norm(_to_float32(part), float(norm_type)) for part in several])
    total = torch.linalg.vector_norm(norms, float(norm_type))
    if error_if_nonfinite and not bool(torch.isfinite(total)):
        raise OperationError(
            f"For clip_by_norm, the total norm of order {norm_type} from input is non-finite."
        )
    # the small number avoids a division by a norm of 0
    scale = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    clipped = tuple((part * scale).to(part.dtype) for part in several)
    return clipped[0] if isinstance(x, Tensor) else clipped


@op(accepts=FLOATS, dtype=SAME)
def clip_by_norm_along(x: Tensor, clip_norm: Tensor, axis: Any = None) -> Tensor:
    """Scale a tensor down so that its norm along axes is at most `clip_norm`."""
    over = normalize_axes(() if axis is None else tuple(axis) if isinstance(axis, list) else axis, x.ndim)
    norm = torch.linalg.vector_norm(x, 2, over, True)
    return x * clip_norm / torch.maximum(norm, clip_norm.to(x.dtype))
