"""Losses with a margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.ops.linalg.norm import norm
from millrace._src.runtime.ops.nn.margin_loss import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_of,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from millrace._src.runtime.ops.nn.overlaps import triplet_margin_with_distance

from .loss import LossBase

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultilabelMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


@public("nn", "mint.nn")
class SoftMarginLoss(LossBase):
    """The logistic loss of scores with labels of 1 and -1."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return soft_margin_loss(logits, labels, self.reduction)


@public("nn")
class MultiLabelSoftMarginLoss(LossBase):
    """The logistic loss of scores with several classes each."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Any:
        return multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


@public("nn")
class MultiMarginLoss(LossBase):
    """How far the score of the class is from being above all others by a margin."""

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None) -> None:
        super().__init__(reduction)
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Any, target: Any, weight: Any = None) -> Any:
        weight = self.weight if weight is None else weight
        return multi_margin_of(x, target, weight, self.p, self.margin, self.reduction)


@public("nn")
class MultilabelMarginLoss(LossBase):
    """The same for several classes of each row."""

    def construct(self, x: Any, target: Any) -> Any:
        return multilabel_margin_loss(x, target, self.reduction)


@public("nn")
class CosineEmbeddingLoss(LossBase):
    """How far two vectors are from being alike (1), or unlike by a margin (-1)."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:
        return cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


@public("nn")
class MarginRankingLoss(LossBase):
    """How far one score is from being above another by a margin."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Any, input2: Any, target: Any) -> Any:
        return margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


@public("nn")
class HingeEmbeddingLoss(LossBase):
    """Distances of what belongs together (1); what is missing to a margin of what does not (-1)."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Any, labels: Any) -> Any:
        return hinge_embedding_loss(logits, labels, self.margin, self.reduction)


@public("nn")
class TripletMarginLoss(LossBase):
    """How much nearer than by a margin a vector must be to one than to another."""

    def __init__(
        self,
        p: int = 2,
        swap: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(self, x: Any, positive: Any, negative: Any, margin: Any = None) -> Any:
        margin = self.margin if margin is None else margin
        return triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction)


@public("nn")
class TripletMarginWithDistanceLoss(LossBase):
    """The same with any distance; without one, that of Euclid."""

    def __init__(
        self,
        distance_function: Callable[..., Any] | None = None,
        swap: bool = False,
        reduction: str = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.distance_function = _euclid if distance_function is None else distance_function
        self.swap, self.margin = swap, margin

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        distance = self.distance_function
        other = distance(positive, negative) if self.swap else None
        return triplet_margin_with_distance(
            distance(x, positive), distance(x, negative), other, self.margin, self.reduction
        )


def _euclid(x: Any, y: Any) -> Any:
    return norm(x - y, dim=-1)
