"""Connectionist temporal classification: losses and the greedy decoder."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.backend.torch_private import ctc_forward

from .loss import check_reduction

__all__ = [
    "CTCGreedyDecoder",
    "CTCLoss",
    "CTCLossV2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_each",
    "ctc_loss_sparse",
]


def _check_arguments(name: str, log_probs: Tensor, blank: int) -> None:
    if log_probs.ndim != 3:
        raise ArgumentValueError(
            f"For '{name}', the scores must be (time, batch, classes), but got {list(log_probs.shape)}."
        )
    if not 0 <= blank < log_probs.shape[2]:
        raise ArgumentValueError(
            f"For '{name}', the blank must be in [0,{log_probs.shape[2]}), but got {blank}."
        )


@op("ops", dtype=UNCHECKED)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """CTC loss under log-probabilities (time, batch, classes), and the logarithms of the forward variables."""
    way = check_reduction("ctc_loss", reduction)
    losses, alpha = ctc_loss_each.raw(
        log_probs, targets, input_lengths, target_lengths, blank, "none", zero_infinity
    )
    if way == "mean":
        return (losses / target_lengths.to(losses.dtype).clamp_min(1)).mean(), alpha
    return losses.sum() if way == "sum" else losses, alpha


@op(dtype=UNCHECKED)
def ctc_loss_each(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "none",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """CTC loss of each sequence, and the logarithms of the forward variables."""
    _check_arguments("ctc_loss", log_probs, blank)
    losses, alpha = ctc_forward(
        log_probs, targets.long(), input_lengths.long(), target_lengths.long(), blank, zero_infinity
    )
    if zero_infinity:
        losses = torch.where(torch.isinf(losses), 0.0, losses)
    # PyTorch leaves elements beyond a sequence or its labels uninitialized
    steps = torch.arange(alpha.shape[1], device=alpha.device).reshape(-1, 1)
    states = torch.arange(alpha.shape[2], device=alpha.device)
    ends = (input_lengths.reshape(-1, 1, 1), 2 * target_lengths.reshape(-1, 1, 1) + 1)
    inside = (steps < ends[0]) & (states < ends[1])
    return losses, torch.where(inside, alpha.detach(), float("-inf"))


@op(dtype=UNCHECKED)
def ctc_loss_sparse(
    x: Tensor,
    labels_indices: Tensor,
    labels_values: Tensor,
    sequence_length: Tensor,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
) -> tuple[Tensor, Tensor]:
    """CTC loss of each sequence under scores (time, batch, classes), and its gradient by the scores. The last class is
    the blank. Labels are given by (batch, position) and class. Labels longer than their sequence have an infinite
    loss, or 0 with `ignore_longer_outputs_than_inputs`; MindSpore raises for them.
    """
    name = "CTCLoss"
    _check_arguments(name, x, 0)
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise OperationError(
            f"For '{name}', labels are taken as they are and repeated ones are merged between blanks: "
            f"preprocess_collapse_repeated=True and ctc_merge_repeated=False are not offered."
        )
    batch, classes = x.shape[1], x.shape[2]
    rows = labels_indices[:, 0].long()
    lengths = torch.zeros(batch, dtype=torch.int64, device=x.device).scatter_add_(
        0, rows, torch.ones_like(rows)
    )
    longest = sequence_length.long()

    def losses_of(scores: Tensor) -> Tensor:
        logs = torch.log_softmax(scores, -1)
        losses: Tensor = ctc_forward(
            logs, labels_values.long(), longest, lengths, classes - 1, ignore_longer_outputs_than_inputs
        )[0]
        return torch.where(torch.isinf(losses), 0.0, losses) if ignore_longer_outputs_than_inputs else losses

    losses = losses_of(x)
    with torch.enable_grad():
        free = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(losses_of(free).sum(), free)
    return losses, gradient


@op("ops", dtype=UNCHECKED, differentiable=False)
def ctc_greedy_decoder(
    inputs: Tensor, sequence_length: Tensor, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """CTC greedy decoding: the best class at each time, without blanks (the last class) and optionally without
    repetitions. Returns indices (batch, position), classes, the dense shape, and minus the sum of the best scores.
    """
    if inputs.ndim != 3:
        raise ArgumentValueError(
            f"For 'ctc_greedy_decoder', 'inputs' must be (time, batch, classes), but got {list(inputs.shape)}."
        )
    scores, best = inputs.transpose(0, 1).max(-1)
    steps = torch.arange(inputs.shape[0], device=inputs.device)
    within = steps < sequence_length.long().unsqueeze(1)
    kept = within & (best != inputs.shape[2] - 1)
    if merge_repeated:
        kept = kept & torch.cat([torch.ones_like(kept[:, :1]), best[:, 1:] != best[:, :-1]], 1)
    position = kept.long().cumsum(1) - 1
    where = kept.nonzero()
    indices = torch.stack([where[:, 0], position[kept]], 1)
    counts = kept.sum(1)
    shape = torch.stack([torch.full_like(counts[0], inputs.shape[1]), counts.max()])
    return indices, best[kept], shape, -(scores * within).sum(1, keepdim=True)


CTCLossV2 = primitive("CTCLossV2", ctc_loss_each)
CTCLoss = primitive("CTCLoss", ctc_loss_sparse)
CTCGreedyDecoder = primitive("CTCGreedyDecoder", ctc_greedy_decoder)
