"""Losses behind layers: Dice, focal, Poisson, triplet margin with distance."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

from .loss import apply_reduction, check_same_shape

__all__ = [
    "dice_loss",
    "focal_loss",
    "poisson_nll_loss",
    "triplet_margin_with_distance",
    "weighted_reduction",
]


@op(dtype=UNCHECKED)
def weighted_reduction(x: Tensor, weights: Any = 1.0, reduction: str = "mean") -> Tensor:
    """Weighted losses, reduced in float32 and returned in their dtype."""
    wide = x if x.dtype is torch.float64 else x.to(torch.float32)
    total = apply_reduction("get_loss", wide * weights, reduction)
    return total.to(x.dtype)


@op(dtype=SAME)
def dice_loss(logits: Tensor, label: Tensor, smooth: float = 1e-5) -> Tensor:
    """Dice loss: 1 minus twice the intersection divided by the sum of both sizes."""
    if logits.shape != label.shape:
        raise ArgumentValueError(
            f"For 'DiceLoss', the 'logits_shape' should be = label_shape: {tuple(label.shape)}, but got "
            f"{tuple(logits.shape)}."
        )
    label = label.to(logits.dtype)
    both = (logits * label).sum()
    return 1 - 2 * both / (logits.square().sum() + label.square().sum() + smooth)


@op(accepts=None, dtype=UNCHECKED)
def focal_loss(
    logits: Tensor, labels: Tensor, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean"
) -> Tensor:
    """Focal loss: cross entropy per class, reduced where the class is likely already. Labels are class indices with
    one channel, or have as many channels as there are classes.
    """
    if logits.ndim < 2 or labels.ndim != logits.ndim:
        raise ArgumentValueError(
            f"For 'FocalLoss', 'logits' and 'labels' must have the same number of axes, 2 at least, but got "
            f"{list(logits.shape)} and {list(labels.shape)}."
        )
    classes = logits.shape[1]
    if classes == 1:
        raise ArgumentValueError("For 'FocalLoss', the 'logits'.shape[1] cannot be one, but got 1.")
    if labels.shape[1] not in (1, classes):
        raise ArgumentValueError(
            f"For 'FocalLoss', the 'labels'.shape[1] must be one or that of 'logits': {classes}, but got "
            f"{labels.shape[1]}."
        )
    spatial = logits.ndim > 2
    logs = torch.log_softmax(logits.flatten(2) if spatial else logits, 1)
    flat = labels.flatten(2) if spatial else labels
    if labels.shape[1] == 1:
        number = flat.long()
        logs = logs.gather(1, number).squeeze(1)
        scale: Any = 1.0 if weight is None else weight[number].squeeze(1)
    else:
        rows = (1, classes, *(1,) * (logs.ndim - 2))
        scale = flat.to(logs.dtype) if weight is None else flat.to(logs.dtype) * weight.reshape(rows)
    loss = -((-torch.expm1(logs)) ** gamma) * logs * scale
    # for an image, the mean over its pixels counts as one sample
    return apply_reduction("FocalLoss", loss.mean(-1) if spatial else loss, reduction)


@op(accepts=FLOATS, dtype=SAME)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts under Poisson distributions."""
    loss = torch.exp(input) - target * input if log_input else input - target * torch.log(input + eps)
    if full:
        about = target * torch.log(target) - target + 0.5 * torch.log(2 * torch.pi * target)
        loss = loss + torch.where(target > 1, about, torch.zeros_like(target))
    return apply_reduction("PoissonNLLLoss", loss, reduction)


@op(dtype=SAME)
def triplet_margin_with_distance(
    near: Tensor,
    far: Tensor,
    swap_distance: Tensor | None = None,
    margin: float = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """Triplet margin loss of given distances, optionally with the smaller of two negative distances."""
    check_same_shape("TripletMarginWithDistanceLoss", near, far)
    far = far if swap_distance is None else torch.minimum(far, swap_distance)
    return apply_reduction(
        "TripletMarginWithDistanceLoss", torch.clamp_min(near - far + margin, 0), reduction
    )
