"""Margin and embedding losses: triplet, hinge, cosine, multi-margin, soft margin."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

from .loss import apply_reduction, check_reduction, check_same_shape, to_class_indices

__all__ = [
    "MultiMarginLoss",
    "MultilabelMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multi_margin_of",
    "multilabel_margin_loss",
    "multilabel_margin_of",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_of",
]


def _check_number(name: str, label: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"For '{name}', '{label}' must be a number, but got {value!r}.")


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Soft margin loss: log(1 + exp(-target * input))."""
    check_same_shape("soft_margin_loss", input, target)
    return apply_reduction("soft_margin_loss", F.softplus(-target * input), reduction)


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Margin ranking loss: max(0, -target * (input1 - input2) + margin)."""
    if not isinstance(margin, float):
        raise ArgumentTypeError(f"For 'margin_ranking_loss', 'margin' must be a float, but got {margin!r}.")
    check_same_shape("margin_ranking_loss", input1, input2)
    check_same_shape("margin_ranking_loss", input1, target)
    loss = torch.clamp_min(-target * (input1 - input2) + margin, 0)
    return apply_reduction("margin_ranking_loss", loss, reduction)


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def hinge_embedding_loss(
    inputs: Tensor, targets: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """Hinge embedding loss: the input where the target is 1, max(0, margin - input) where it is -1."""
    _check_number("hinge_embedding_loss", "margin", margin)
    zero = torch.zeros((), dtype=inputs.dtype, device=inputs.device)
    loss = torch.where(targets != -1, inputs, zero) + torch.where(
        targets != 1, torch.clamp_min(margin - inputs, 0), zero
    )
    return apply_reduction("hinge_embedding_loss", loss, reduction)


@op("ops", dtype=UNCHECKED)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Cosine embedding loss: 1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    if not isinstance(margin, float):
        raise ArgumentTypeError(f"For 'cosine_embedding_loss', 'margin' must be a float, but got {margin!r}.")
    if not -1 <= margin <= 1:
        raise ArgumentValueError(
            f"For 'cosine_embedding_loss', 'margin' must be in [-1, 1], but got {margin}."
        )
    check_same_shape("cosine_embedding_loss", input1, input2)
    check_reduction("cosine_embedding_loss", reduction)
    if target.ndim + 1 != input1.ndim:
        raise ArgumentValueError(
            f"For 'cosine_embedding_loss', the target must have one axis less than the inputs, but got "
            f"{list(target.shape)} and {list(input1.shape)}."
        )
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=reduction)


def _triplet_loss(
    name: str,
    a: Tensor,
    p: Tensor,
    n: Tensor,
    margin: Any,
    power: Any,
    eps: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    way = check_reduction(name, reduction)
    return F.triplet_margin_loss(a, p, n, float(margin), power, eps, swap, reduction=way)


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: int = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Triplet margin loss: max(0, distance to the positive - distance to the negative + margin)."""
    _check_number("triplet_margin_loss", "margin", margin)
    return _triplet_loss("triplet_margin_loss", anchor, positive, negative, margin, p, eps, swap, reduction)


@op(accepts=FLOATS, dtype=UNCHECKED)
def triplet_margin_of(
    x: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: Any,
    p: int = 2,
    swap: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Triplet margin loss: max(0, distance to the positive - distance to the negative + margin). The margin is a
    tensor.
    """
    way = check_reduction("TripletMarginLoss", reduction)
    near = F.pairwise_distance(x, positive, p, eps)
    far = F.pairwise_distance(x, negative, p, eps)
    if swap:
        far = torch.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return apply_reduction("TripletMarginLoss", torch.clamp_min(near - far + margin, 0), way)


def _multi_margin_loss(
    name: str, x: Tensor, target: Tensor, p: Any, margin: Any, weight: Tensor | None, reduction: str
) -> Tensor:
    if p not in (1, 2):
        raise ArgumentValueError(f"For '{name}', 'p' must be 1 or 2, but got {p!r}.")
    if x.ndim != 2 or target.shape != x.shape[:1]:
        raise ArgumentValueError(
            f"For '{name}', there must be a row of scores per class number, but got {list(x.shape)} and "
            f"{list(target.shape)}."
        )
    way = check_reduction(name, reduction)
    weight = None if weight is None else weight.detach()  # PyTorch has no gradient by the margin
    return F.multi_margin_loss(
        x, to_class_indices(name, target), int(p), float(margin), weight, reduction=way
    )


@op("ops", dtype=SAME)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: int = 1,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Multi-margin loss: the mean over classes of max(0, margin - score of the true class + score) ** p."""
    if isinstance(margin, bool) or not isinstance(margin, int):
        raise ArgumentTypeError(
            f"For 'multi_margin_loss', the type of 'margin' must be int, but got {margin!r}."
        )
    return _multi_margin_loss("multi_margin_loss", input, target, p, margin, weight, reduction)


@op(dtype=SAME)
def multi_margin_of(
    inputs: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    p: int = 1,
    margin: float = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """Multi-margin loss: the mean over classes of max(0, margin - score of the true class + score) ** p."""
    return _multi_margin_loss("MultiMarginLoss", inputs, target, p, margin, weight, reduction)


@op("ops", dtype=SAME)
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Multi-label margin loss between the scores of the classes in `target`, up to the first -1, and of all others."""
    check_same_shape("multilabel_margin_loss", input, target)
    way = check_reduction("multilabel_margin_loss", reduction)
    return F.multilabel_margin_loss(input, to_class_indices("multilabel_margin_loss", target), reduction=way)


@op(dtype=UNCHECKED)
def multilabel_margin_of(x: Tensor, target: Tensor, reduction: str = "mean") -> tuple[Tensor, Tensor]:
    """Multi-label margin loss, and for each class whether `target` contains it."""
    loss = multilabel_margin_loss.raw(x, target, reduction)
    listed = (torch.cummin(target, -1).values >= 0).to(torch.int32)
    is_target = torch.zeros_like(target, dtype=torch.int32)
    is_target.scatter_reduce_(-1, target.clamp_min(0).long(), listed, "amax")
    return loss, is_target


@op("ops", accepts=FLOATS, dtype=SAME)
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Multi-label soft margin loss: the mean over classes of the cross entropy of logits with 0 or 1."""
    check_same_shape("multilabel_soft_margin_loss", input, target)
    loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    loss = (loss if weight is None else loss * weight).mean(-1)
    return apply_reduction("multilabel_soft_margin_loss", loss, reduction)


SoftMarginLoss = primitive("SoftMarginLoss", soft_margin_loss)
TripletMarginLoss = primitive("TripletMarginLoss", triplet_margin_of, init=("p", "swap", "eps", "reduction"))
MultiMarginLoss = primitive("MultiMarginLoss", multi_margin_of)
MultilabelMarginLoss = primitive("MultilabelMarginLoss", multilabel_margin_of)
