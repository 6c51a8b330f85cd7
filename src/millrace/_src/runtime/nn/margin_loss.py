"""Margin, ranking and triplet losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.ops.linalg.norm import norm
from millrace._src.runtime.ops.nn.loss import triplet_margin_with_distance
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
    """Logistic loss of scores with labels 1 and -1."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return soft_margin_loss(logits, labels, self.reduction)


@public("nn")
class MultiLabelSoftMarginLoss(LossBase):
    """Multi-label logistic loss."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Any:
        return multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


@public("nn")
class MultiMarginLoss(LossBase):
    """Multi-class margin (hinge) loss."""

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None) -> None:
        super().__init__(reduction)
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Any, target: Any, weight: Any = None) -> Any:
        weight = self.weight if weight is None else weight
        return multi_margin_of(x, target, weight, self.p, self.margin, self.reduction)


@public("nn")
class MultilabelMarginLoss(LossBase):
    """Multi-label margin (hinge) loss."""

    def construct(self, x: Any, target: Any) -> Any:
        return multilabel_margin_loss(x, target, self.reduction)


@public("nn")
class CosineEmbeddingLoss(LossBase):
    """Cosine embedding loss for similar (1) and dissimilar (-1) pairs."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:
        return cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


@public("nn")
class MarginRankingLoss(LossBase):
    """Margin ranking loss."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Any, input2: Any, target: Any) -> Any:
        return margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


@public("nn")
class HingeEmbeddingLoss(LossBase):
    """Hinge embedding loss for similar (1) and dissimilar (-1) pairs."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Any, labels: Any) -> Any:
        return hinge_embedding_loss(logits, labels, self.margin, self.reduction)


@public("nn")
class TripletMarginLoss(LossBase):
    """Triplet margin loss."""

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
    """Triplet margin loss with a custom distance; Euclidean by default."""

    def __init__(
        self,
        distance_function: Callable[..., Any] | None = None,
        swap: bool = False,
        reduction: str = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.distance_function = _euclidean_distance if distance_function is None else distance_function
        self.swap, self.margin = swap, margin

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        distance = self.distance_function
        swapped_distance = distance(positive, negative) if self.swap else None
        return triplet_margin_with_distance(
            distance(x, positive), distance(x, negative), swapped_distance, self.margin, self.reduction
        )


def _euclidean_distance(x: Any, y: Any) -> Any:
    return norm(x - y, dim=-1)
