"""Losses of ``mint.nn``, with PyTorch's arguments and their order."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import export_names, public
from millrace._src.runtime.nn.argument_types import check_choice
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.loss import CrossEntropyLoss, MSELoss
from millrace._src.runtime.nn.loss import L1Loss as LegacyL1Loss
from millrace._src.runtime.nn.margin_loss import SoftMarginLoss
from millrace._src.runtime.ops.nn import loss as losses
from millrace._src.runtime.ops.nn.loss import smooth_l1_loss

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "KLDivLoss",
    "L1Loss",
    "L1LossExt",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
]


class _ReducedLoss(Cell):
    """A loss with a reduction."""

    reductions: tuple[str, ...] = ("none", "mean", "sum")

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = check_choice(reduction, "reduction", type(self).__name__, list(self.reductions))


@public("mint.nn")
class BCELoss(_ReducedLoss):
    """Binary cross entropy of probabilities."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, input: Any, target: Any) -> Any:
        return losses.binary_cross_entropy_mint(input, target, self.weight, self.reduction)


@public("mint.nn")
class BCEWithLogitsLoss(_ReducedLoss):
    """Binary cross entropy of logits."""

    def __init__(self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, input: Any, target: Any) -> Any:
        return losses.binary_cross_entropy_with_logits_mint(
            input, target, self.weight, self.reduction, self.pos_weight
        )


@public("mint.nn")
class KLDivLoss(_ReducedLoss):
    """Kullback-Leibler divergence of log-probabilities from a target distribution."""

    reductions = ("none", "mean", "sum", "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def construct(self, input: Any, target: Any) -> Any:
        return losses.kl_div_mint(input, target, self.reduction, self.log_target)


@public("mint.nn")
class NLLLoss(_ReducedLoss):
    """Negative log-likelihood of class indices, from log-probabilities."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, input: Any, target: Any) -> Any:
        return losses.nll_loss_mint(input, target, self.weight, self.ignore_index, self.reduction)


@public("mint.nn")
class SmoothL1Loss(_ReducedLoss):
    """Smooth L1 loss: quadratic for differences below `beta`, else linear."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, input: Any, target: Any) -> Any:
        return smooth_l1_loss(input, target, self.beta, self.reduction)


@public("nn")
class L1LossExt(LegacyL1Loss):
    """Mean absolute error."""


L1Loss = L1LossExt  # its name in mint.nn

export_names(__name__, "mint.nn", "L1Loss")
