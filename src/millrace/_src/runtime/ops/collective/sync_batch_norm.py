"""Batch normalization over the batches of several processes, on PyTorch tensors."""

from __future__ import annotations

import torch

from millrace._src.core.errors import ArgumentValueError

from .functional import all_reduce

__all__ = ["sync_batch_norm"]


def sync_batch_norm(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    share: float,
    eps: float,
    group: str,
) -> torch.Tensor:
    """Batch normalization over the batches of all processes; the running statistics are updated in place with weight
    `share`. Batches may have different lengths.
    """
    if x.ndim < 2 or gamma.shape[0] != x.shape[1]:
        raise ArgumentValueError(
            f"For 'SyncBatchNorm', the input must have {gamma.shape[0]} channels on axis 1, but its shape is "
            f"{list(x.shape)}; 'num_features' must be the number of channels."
        )
    axes = [0, *range(2, x.ndim)]
    shape = [1, -1, *([1] * (x.ndim - 2))]
    wide = x.to(gamma.dtype)
    rows = wide.new_full((1,), x.numel() // x.shape[1])
    # two passes, mean and then deviations: one pass over squares would lose precision
    sums = all_reduce(torch.cat([wide.sum(axes), rows]), "sum", group)
    total = sums[-1]
    middle = sums[:-1] / total
    apart = wide - middle.view(shape)
    spread = all_reduce((apart * apart).sum(axes), "sum", group) / total
    normalized = apart * (torch.rsqrt(spread + eps) * gamma).view(shape) + beta.view(shape)
    with torch.no_grad():
        mean.mul_(1 - share).add_(middle.detach() * share)
        unbiased = spread.detach() * (total / (total - 1).clamp_min(1))
        variance.mul_(1 - share).add_(unbiased * share)
    return normalized.to(x.dtype)
