"""RNN transducer loss: negative log-likelihood of a label sequence over all alignments with a signal."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import upcast_half
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["RNNTLoss", "rnnt_loss"]


def _costs(acts: Tensor, labels: Tensor, inputs: Tensor, wanted: Tensor, blank: int) -> Tensor:
    """Negative log-likelihood of each row's labels. A time step adds the log-probability of a blank; along the labels
    a step is a cumulative log-sum-exp.
    """
    log_probabilities = torch.log_softmax(upcast_half(acts), -1)
    blanks = log_probabilities[..., blank]
    labels = labels.long().unsqueeze(1).expand(-1, acts.shape[1], -1)
    label_scores = torch.gather(log_probabilities[:, :, :-1], 3, labels.unsqueeze(3)).squeeze(3)
    cumulative_scores = torch.nn.functional.pad(torch.cumsum(label_scores, 2), (1, 0))
    rows = [cumulative_scores[:, 0]]
    for time in range(1, acts.shape[1]):
        before = rows[-1] + blanks[:, time - 1]
        rows.append(cumulative_scores[:, time] + torch.logcumsumexp(before - cumulative_scores[:, time], 1))
    reached = torch.stack(rows, 1) + blanks
    batch = torch.arange(acts.shape[0], device=acts.device)
    return -reached[batch, inputs.long() - 1, wanted.long()]


@op(dtype=UNCHECKED)
def rnnt_loss(
    acts: Tensor, labels: Tensor, input_lengths: Tensor, label_lengths: Tensor, blank_label: int = 0
) -> tuple[Tensor, Tensor]:
    """RNN transducer loss of each row, and its gradient by `acts` (batch, time, labels + 1, classes), which are
    normalized here. MindSpore has no CPU kernel.
    """
    name = "RNNTLoss"
    if isinstance(blank_label, bool) or not isinstance(blank_label, int):
        raise ArgumentTypeError(f"For '{name}', 'blank_label' must be an int, but got {blank_label!r}.")
    if not acts.is_floating_point():
        raise ArgumentTypeError(f"For '{name}', 'acts' must be floating numbers, but got {acts.dtype}.")
    rows = acts.shape[:1]
    if (
        acts.ndim != 4
        or labels.shape != (acts.shape[0], acts.shape[2] - 1)
        or not input_lengths.shape == label_lengths.shape == rows
    ):
        raise ArgumentValueError(
            f"For '{name}', acts must have the shape (B, T, U + 1, V), labels (B, U) and the lengths (B,), but "
            f"the shapes "
            f"are {[list(part.shape) for part in (acts, labels, input_lengths, label_lengths)]}."
        )
    if not 0 <= blank_label < acts.shape[3]:
        raise ArgumentValueError(
            f"For '{name}', 'blank_label' must be in [0, {acts.shape[3]}), but got {blank_label}."
        )
    with torch.enable_grad():
        logits = acts.detach().requires_grad_()
        total = _costs(logits, labels, input_lengths, label_lengths, blank_label).sum()
        (slope,) = torch.autograd.grad(total, logits)
    return _costs(acts, labels, input_lengths, label_lengths, blank_label).to(acts.dtype), slope


RNNTLoss = primitive("RNNTLoss", rnnt_loss)
