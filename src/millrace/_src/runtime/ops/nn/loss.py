"""Losses: cross_entropy, nll_loss, mse_loss, huber_loss, kl_div, gaussian_nll_loss, Dice, focal."""

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
    "BCEWithLogitsLoss",
    "BinaryCrossEntropy",
    "KLDivLoss",
    "L2Loss",
    "NLLLoss",
    "SigmoidCrossEntropyWithLogits",
    "SmoothL1Loss",
    "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits",
    "bce_with_logits_of",
    "binary_cross_entropy",
    "binary_cross_entropy_mint",
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy_with_logits_mint",
    "cross_entropy",
    "dice_loss",
    "focal_loss",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "kl_div_mint",
    "l1_loss",
    "l2_loss",
    "mse_loss",
    "nll_loss",
    "nll_loss_mint",
    "nll_loss_of",
    "poisson_nll_loss",
    "sigmoid_cross_entropy",
    "smooth_l1_loss",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
    "triplet_margin_with_distance",
    "weighted_reduction",
]


def check_reduction(name: str, reduction: Any, known: tuple[str, ...] = ("none", "mean", "sum")) -> str:
    """Check the `reduction` argument of a loss."""
    if not isinstance(reduction, str) or reduction not in known:
        raise ArgumentValueError(
            f"For '{name}', the 'reduction' must be one of {list(known)}, but got {reduction!r}."
        )
    return reduction


def apply_reduction(name: str, loss: Tensor, reduction: Any) -> Tensor:
    """Reduce losses: all of them, their mean or their sum."""
    way = check_reduction(name, reduction)
    return loss if way == "none" else loss.mean() if way == "mean" else loss.sum()


def check_same_shape(name: str, input: Tensor, target: Tensor) -> None:
    """Check that two tensors have the same shape."""
    if input.shape != target.shape:
        raise ArgumentValueError(
            f"For '{name}', both tensors must have the same shape, but got {list(input.shape)} and "
            f"{list(target.shape)}."
        )


def to_class_indices(name: str, target: Tensor) -> Tensor:
    """Class indices in the dtype that PyTorch requires."""
    if target.is_floating_point() or target.dtype is torch.bool:
        raise ArgumentTypeError(f"For '{name}', class numbers must be integers, but got {target.dtype}.")
    return target.long()


@op("ops", "mint.nn.functional", dtype=UNCHECKED)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between logits and class indices or class probabilities."""
    check_reduction("cross_entropy", reduction)
    if not target.is_floating_point():
        target = to_class_indices("cross_entropy", target)
        if weight is not None and weight.requires_grad:  # PyTorch has no gradient by the weight in this case
            log_probabilities = torch.log_softmax(input, 1 if input.ndim > 1 else 0)
            return nll_loss.raw(log_probabilities, target, weight, ignore_index, reduction, label_smoothing)
    return F.cross_entropy(
        input,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _nll(inputs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    """Negative log-likelihood, with a gradient by the class weights, which PyTorch lacks."""
    if weight is None or not weight.requires_grad:
        return F.nll_loss(inputs, target, weight, ignore_index=ignore_index, reduction=reduction)
    axis, kept = 1 if inputs.ndim > 1 else 0, target != ignore_index
    classes = target * kept
    share = weight[classes] * kept
    loss = -torch.gather(inputs, axis, classes.unsqueeze(axis)).squeeze(axis) * share
    if reduction == "none":
        return loss
    return loss.sum() / share.sum() if reduction == "mean" else loss.sum()


@op("ops", dtype=SAME)
def nll_loss(
    inputs: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Negative log-likelihood of class indices, from log-probabilities."""
    check_reduction("nll_loss", reduction)
    target = to_class_indices("nll_loss", target)
    plain = _nll(inputs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return plain
    axis = 1 if inputs.ndim > 1 else 0
    classes = inputs.shape[axis]
    kept = target != ignore_index
    if weight is None:
        spread, mass = -inputs.sum(axis), kept.to(inputs.dtype)
    else:
        spread = -torch.movedim(inputs, axis, -1) @ weight
        mass = weight[target * kept] * kept
    spread = spread * kept
    if reduction != "none":
        spread = spread.sum()
        spread = spread / mass.sum() if reduction == "mean" else spread
    return (1 - label_smoothing) * plain + label_smoothing / classes * spread


@op("mint.nn.functional:nll_loss", dtype=SAME)
def nll_loss_mint(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of class indices, from log-probabilities."""
    return nll_loss.raw(input, target, weight, ignore_index, reduction)


@op(dtype=UNCHECKED)
def nll_loss_of(
    logits: Tensor, labels: Tensor, weight: Tensor, reduction: str = "mean", ignore_index: int = -100
) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood of class indices, and the sum of their class weights."""
    check_reduction("NLLLoss", reduction)
    if logits.ndim not in (1, 2):
        raise ArgumentValueError(
            f"For 'NLLLoss', 'logits' must have 1 or 2 axes, but got {list(logits.shape)}."
        )
    labels = to_class_indices("NLLLoss", labels)
    loss = _nll(logits, labels, weight, ignore_index, reduction)
    kept = labels != ignore_index
    return loss, (weight[labels * kept] * kept).sum()


# The following have MindSpore's gradients, which differ from finite differences (hence differentiable=False; tested in
# tests/unit/runtime/ops/nn/test_stateful_ops.py): labels have none, and the gradient by logits assumes that labels
# sum to 1.


@op(accepts=FLOATS, dtype=UNCHECKED, differentiable=False)
def softmax_cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Cross entropy of each row with class probabilities, and its gradient by the logits: softmax - labels."""
    check_same_shape("SoftmaxCrossEntropyWithLogits", logits, labels)
    if logits.ndim != 2:
        raise ArgumentValueError(
            f"For 'SoftmaxCrossEntropyWithLogits', the tensors must have 2 axes, but got {list(logits.shape)}."
        )
    labels = labels.detach()
    logs = torch.log_softmax(logits, -1)
    whole = torch.logsumexp(logits, -1)
    # zero with a gradient: corrects softmax - labels for labels that do not sum to 1
    mends = (1 - labels.sum(-1)) * (whole - whole.detach())
    return mends - (labels * logs).sum(-1), logs.detach().exp() - labels


@op(dtype=SAME)
def sparse_softmax_cross_entropy(logits: Tensor, labels: Tensor, is_grad: bool = False) -> Tensor:
    """Mean cross entropy with class indices; with `is_grad` its gradient by the logits."""
    name = "SparseSoftmaxCrossEntropyWithLogits"
    labels = to_class_indices(name, labels)
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ArgumentValueError(
            f"For '{name}', there must be a row of logits per label, but got {list(logits.shape)} and "
            f"{list(labels.shape)}."
        )
    if not is_grad:
        return F.cross_entropy(logits, labels)
    ones = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    return (torch.softmax(logits, -1) - ones) / logits.shape[0]


@op(accepts=FLOATS, dtype=SAME, differentiable=False)
def sigmoid_cross_entropy(logits: Tensor, label: Tensor) -> Tensor:
    """Cross entropy of each logit with the probability `label`."""
    check_same_shape("SigmoidCrossEntropyWithLogits", logits, label)
    return F.binary_cross_entropy_with_logits(logits, label.detach(), reduction="none")


@op("ops", accepts=FLOATS, dtype=SAME)
def binary_cross_entropy(
    logits: Tensor, labels: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of probabilities `logits` with probabilities `labels`."""
    check_same_shape("binary_cross_entropy", logits, labels)
    way = check_reduction("binary_cross_entropy", reduction)
    if weight is None:
        return F.binary_cross_entropy(logits, labels, reduction=way)
    return apply_reduction(
        "binary_cross_entropy", F.binary_cross_entropy(logits, labels, reduction="none") * weight, way
    )


@op("mint.nn.functional:binary_cross_entropy", accepts=FLOATS, dtype=SAME)
def binary_cross_entropy_mint(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of probabilities with target probabilities."""
    return binary_cross_entropy.raw(input, target, weight, reduction)


@op("ops", accepts=FLOATS, dtype=SAME)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of logits with target probabilities."""
    way = check_reduction("binary_cross_entropy_with_logits", reduction)
    check_same_shape("binary_cross_entropy_with_logits", input, target)
    if weight is None and pos_weight is None:
        return F.binary_cross_entropy_with_logits(input, target, reduction=way)
    tail = F.softplus(-input)  # PyTorch's function has no gradient by the weights
    if pos_weight is not None:
        tail = tail * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input + tail
    return apply_reduction("binary_cross_entropy_with_logits", loss if weight is None else loss * weight, way)


@op("mint.nn.functional:binary_cross_entropy_with_logits", accepts=FLOATS, dtype=SAME)
def binary_cross_entropy_with_logits_mint(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of logits with target probabilities."""
    return binary_cross_entropy_with_logits.raw(input, target, weight, pos_weight, reduction)


@op(accepts=FLOATS, dtype=SAME)
def bce_with_logits_of(
    predict: Tensor, target: Tensor, weight: Tensor, pos_weight: Tensor, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of logits with target probabilities."""
    return binary_cross_entropy_with_logits.raw(predict, target, weight, pos_weight, reduction)


@op("ops", accepts=FLOATS, dtype=SAME)
def smooth_l1_loss(input: Tensor, target: Tensor, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """Smooth L1 loss: absolute difference, quadratic below `beta`."""
    if isinstance(beta, bool) or not isinstance(beta, (int, float)):
        raise ArgumentTypeError(f"For 'smooth_l1_loss', 'beta' must be a number, but got {beta!r}.")
    if beta <= 0:
        raise OperationError(f"For 'smooth_l1_loss', 'beta' must be above 0, but got {beta}.")
    check_same_shape("smooth_l1_loss", input, target)
    return F.smooth_l1_loss(input, target, beta=beta, reduction=check_reduction("smooth_l1_loss", reduction))


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Huber loss: half the squared difference, linear from `delta` on."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float)):
        raise ArgumentTypeError(f"For 'huber_loss', 'delta' must be a number, but got {delta!r}.")
    if delta <= 0:
        raise ArgumentValueError(f"For 'huber_loss', 'delta' must be above 0, but got {delta}.")
    away = (input - target).abs()
    loss = torch.where(away < delta, 0.5 * away.square(), delta * (away - 0.5 * delta))
    return apply_reduction("huber_loss", loss, reduction)


@op("ops", dtype=UNCHECKED)
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """L1 loss: absolute difference."""
    away = (input - target).abs()
    if not away.is_floating_point():
        away = away.float()
    return apply_reduction("l1_loss", away, reduction)


@op("ops", "ops:mse_loss_ext", "mint.nn.functional", dtype=UNCHECKED)
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared error."""
    return apply_reduction("mse_loss", (input - target).square(), reduction)


@op("ops", accepts=FLOATS, dtype=SAME, differentiable=False)
def kl_div(logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """Kullback-Leibler divergence of log-probabilities `logits` and probabilities `labels`."""
    way = check_reduction("kl_div", reduction, ("none", "mean", "batchmean", "sum"))
    check_same_shape("kl_div", logits, labels)
    loss = F.kl_div(logits, labels.detach(), reduction="none")
    if way == "batchmean":
        return loss.sum() / logits.shape[0]
    return apply_reduction("kl_div", loss, way)


@op("mint.nn.functional:kl_div", accepts=FLOATS, dtype=SAME, differentiable=False)
def kl_div_mint(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Kullback-Leibler divergence."""
    return kl_div.raw(input, target.exp() if log_target else target, reduction)


@op(accepts=FLOATS, dtype=SAME)
def l2_loss(input_x: Tensor) -> Tensor:
    """L2 loss: half the sum of squares."""
    return input_x.square().sum() / 2


@op("ops", accepts=FLOATS, dtype=SAME)
def gaussian_nll_loss(
    x: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of `target` under normal distributions with mean `x` and variance `var`."""
    if not isinstance(eps, (int, float)) or isinstance(eps, bool):
        raise ArgumentTypeError(f"For 'gaussian_nll_loss', 'eps' must be a number, but got {eps!r}.")
    if eps <= 0:
        raise ArgumentValueError(f"For 'gaussian_nll_loss', 'eps' must be above 0, but got {eps}.")
    wide = torch.clamp(var, min=eps)
    if wide.ndim == x.ndim - 1 and wide.shape == x.shape[:-1]:
        wide = wide.unsqueeze(-1)
    loss = 0.5 * (torch.log(wide) + (x - target).square() / wide)
    if full:
        loss = loss + 0.9189385332046727  # log(2 pi) / 2
    return apply_reduction("gaussian_nll_loss", loss, reduction)


NLLLoss = primitive("NLLLoss", nll_loss_of)
SoftmaxCrossEntropyWithLogits = primitive("SoftmaxCrossEntropyWithLogits", softmax_cross_entropy)
SparseSoftmaxCrossEntropyWithLogits = primitive(
    "SparseSoftmaxCrossEntropyWithLogits", sparse_softmax_cross_entropy
)
SigmoidCrossEntropyWithLogits = primitive("SigmoidCrossEntropyWithLogits", sigmoid_cross_entropy)
BinaryCrossEntropy = primitive("BinaryCrossEntropy", binary_cross_entropy)
BCEWithLogitsLoss = primitive("BCEWithLogitsLoss", bce_with_logits_of)
SmoothL1Loss = primitive("SmoothL1Loss", smooth_l1_loss)
KLDivLoss = primitive("KLDivLoss", kl_div)
L2Loss = primitive("L2Loss", l2_loss)


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
