"""Loss functions as layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.math.elementwise_unary import abs as abs_op
from millrace._src.runtime.ops.math.elementwise_unary import sqrt
from millrace._src.runtime.ops.nn.ctc import ctc_loss
from millrace._src.runtime.ops.nn.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    dice_loss,
    focal_loss,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    softmax_cross_entropy,
    weighted_reduction,
)

from .activation import get_activation
from .cell import Cell

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "DiceLoss",
    "FocalLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LossBase",
    "MAELoss",
    "MSELoss",
    "MultiClassDiceLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "RMSELoss",
    "SmoothL1Loss",
    "SoftmaxCrossEntropyWithLogits",
]


@public("nn")
class LossBase(Cell):
    """Base class of losses: compute a loss per element and return ``self.get_loss(loss)``.

    >>> class Square(LossBase):
    ...     def construct(self, logits, labels):
    ...         return self.get_loss((logits - labels) ** 2)
    >>> Square()(Tensor([1.0, 3.0]), Tensor([0.0, 0.0])).item()
    5.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ArgumentValueError(
                f"For '{type(self).__name__}', the 'reduction' must be in ['mean', 'sum', 'none'], but got {reduction}."
            )
        self.reduction = reduction
        self.reduce, self.average = reduction != "none", reduction != "sum"

    def get_axis(self, x: Any) -> tuple[int, ...]:
        """All axes of a tensor."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """Weight the losses and reduce them by `reduction`."""
        return weighted_reduction(x, weights, self.reduction)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a loss must implement 'construct'")

    def _tensors(self, **arguments: Any) -> None:
        for name, value in arguments.items():
            if not isinstance(value, Tensor):
                raise ArgumentTypeError(
                    f"For '{type(self).__name__}', the '{name}' must be Tensor, but got '{type(value).__name__}'."
                )


@public("nn")
class SoftmaxCrossEntropyWithLogits(LossBase):
    """Softmax cross entropy with probabilities, or with class indices (`sparse`).

    >>> SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")(Tensor([[1.0, 1.0]]), Tensor([0])).item()
    0.6931471824645996
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        if not isinstance(sparse, bool):
            raise ArgumentTypeError(
                "For 'SoftmaxCrossEntropyWithLogits', the 'sparse' must be bool, "
                f"but got '{type(sparse).__name__}'."
            )
        self.sparse = sparse

    def construct(self, logits: Any, labels: Any) -> Any:
        self._tensors(logits=logits, labels=labels)
        if self.sparse:
            classes = logits.shape[-1]
            return cross_entropy(logits.reshape(-1, classes), labels.reshape(-1), reduction=self.reduction)
        return self.get_loss(softmax_cross_entropy(logits, labels)[0])


@public("nn", "mint.nn")
class MSELoss(LossBase):
    """Mean squared error.

    >>> MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 0.0])).item()
    2.0
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        self._tensors(logits=logits, labels=labels)
        return mse_loss(logits, labels, self.reduction)


@public("nn")
class L1Loss(LossBase):
    """Mean absolute error."""

    def construct(self, logits: Any, labels: Any) -> Any:
        self._tensors(logits=logits, labels=labels)
        return l1_loss(logits, labels, self.reduction)


@public("nn")
class MAELoss(LossBase):
    """Mean absolute error."""

    def construct(self, logits: Any, label: Any) -> Any:
        self._tensors(logits=logits, label=label)
        return self.get_loss(abs_op(logits - label))


@public("nn")
class RMSELoss(LossBase):
    """Root mean squared error."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, logits: Any, label: Any) -> Any:
        return sqrt(mse_loss(logits, label))


@public("nn")
class SmoothL1Loss(LossBase):
    """Smooth L1 loss: quadratic for differences below `beta`, else linear."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Any, labels: Any) -> Any:
        return smooth_l1_loss(logits, labels, self.beta, self.reduction)


@public("nn")
class HuberLoss(LossBase):
    """Huber loss: quadratic for differences below `delta`, else linear."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Any:
        return huber_loss(logits, labels, self.reduction, self.delta)


@public("nn")
class BCELoss(LossBase):
    """Binary cross entropy of probabilities."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Any:
        return binary_cross_entropy(logits, labels, self.weight, self.reduction)


@public("nn")
class BCEWithLogitsLoss(LossBase):
    """Binary cross entropy of logits."""

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, input: Any, target: Any) -> Any:
        return binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight, self.reduction)


@public("nn", "mint.nn")
class CrossEntropyLoss(LossBase):
    """Cross entropy of logits with class indices or probabilities.

    >>> round(CrossEntropyLoss()(Tensor([[2.0, 0.0]]), Tensor([0])).item(), 4)
    0.1269
    """

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, label_smoothing

    def construct(self, logits: Any, labels: Any) -> Any:
        return cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


@public("nn")
class NLLLoss(LossBase):
    """Negative log-likelihood of class indices, from log-probabilities."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Any, labels: Any) -> Any:
        return nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


@public("nn")
class KLDivLoss(LossBase):
    """Kullback-Leibler divergence of log-probabilities from probabilities."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("mean" if reduction == "batchmean" else reduction)
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Any:
        return kl_div(logits, labels, self.reduction)


@public("nn")
class PoissonNLLLoss(LossBase):
    """Negative log-likelihood of the Poisson distribution."""

    def __init__(
        self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input: Any, target: Any) -> Any:
        return poisson_nll_loss(input, target, self.log_input, self.full, self.eps, self.reduction)


@public("nn")
class GaussianNLLLoss(LossBase):
    """Negative log-likelihood of the normal distribution with mean `logits` and variance `var`."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits: Any, labels: Any, var: Any) -> Any:
        return gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


@public("nn")
class CTCLoss(LossBase):
    """Connectionist temporal classification loss."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        return ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )[0]


@public("nn")
class DiceLoss(LossBase):
    """Dice loss: 1 minus the Dice coefficient."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if not isinstance(smooth, (int, float)) or smooth < 0:
            raise ArgumentValueError(f"For 'DiceLoss', 'smooth' must be a number >= 0, but got {smooth!r}.")
        self.smooth = smooth

    def construct(self, logits: Any, label: Any) -> Any:
        return dice_loss(logits, label, self.smooth)


@public("nn")
class MultiClassDiceLoss(LossBase):
    """The mean of the Dice losses of the classes."""

    def __init__(
        self, weights: Any = None, ignore_indiex: int | None = None, activation: Any = "softmax"
    ) -> None:
        super().__init__()
        if weights is not None and weights.ndim != 2:
            raise ArgumentValueError(
                f"For 'MultiClassDiceLoss', the dimension of 'weights' must be 2, but got {weights.ndim}."
            )
        self.binarydiceloss = DiceLoss(smooth=1e-5)
        self.weights, self.ignore_indiex = weights, ignore_indiex
        self.activation = get_activation(activation) if isinstance(activation, str) else activation

    def construct(self, logits: Any, label: Any) -> Any:
        self._tensors(logits=logits, label=label)
        logits = logits if self.activation is None else self.activation(logits)
        total: Any = 0
        for number in range(label.shape[1]):
            if number != self.ignore_indiex:
                loss = self.binarydiceloss(logits[:, number], label[:, number])
                total = total + (loss if self.weights is None else loss * self.weights[number])
        return total / label.shape[1]


@public("nn")
class FocalLoss(LossBase):
    """Focal loss: cross entropy with less weight on well-classified examples."""

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not isinstance(gamma, (float, int)):
            raise ArgumentTypeError(
                f"The type of 'gamma' should be 'float', but got type '{type(gamma).__name__}'."
            )
        self.weight, self.gamma = weight, gamma

    def construct(self, logits: Any, labels: Any) -> Any:
        self._tensors(logits=logits, labels=labels)
        return focal_loss(logits, labels, self.weight, self.gamma, self.reduction)
