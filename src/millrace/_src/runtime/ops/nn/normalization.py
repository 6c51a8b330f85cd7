"""Batch normalization in steps for several devices, and the normalizations behind layers.

MindSpore has the steps on Ascend only, so nothing is recorded of them: the tests compare with `batch_norm`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.arguments import upcast_half
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.sliding_window import channels_first, channels_last

__all__ = [
    "batch_norm_elemt",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_nd",
    "batch_norm_stats",
    "instance_norm_nd",
    "layer_norm_nd",
    "normalized",
]


def _reduced_axes(name: str, input: Tensor) -> list[int]:
    """Axes to average over: all but the channels."""
    if input.ndim < 2:
        raise ArgumentValueError(
            f"For '{name}', 'input' must have at least two axes, (N, C, ...), but got the shape {list(input.shape)}."
        )
    return [0, *range(2, input.ndim)]


def _per_channel(statistic: Tensor, input: Tensor) -> Tensor:
    """Reshape one number per channel to broadcast with the input."""
    return statistic.reshape(1, -1, *(1,) * (input.ndim - 2))


@op("mint", accepts=FLOATS, dtype=UNCHECKED)
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and inverse standard deviation of each channel."""
    variance, mean = torch.var_mean(
        upcast_half(input), _reduced_axes("batch_norm_stats", input), correction=0
    )
    return mean, torch.rsqrt(variance + eps)


@op("mint", accepts=FLOATS, dtype=UNCHECKED, differentiable=False)
def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
    counts: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Combine the statistics of devices (devices, channels), weighted by their element counts; update the running ones
    in place with `momentum`.
    """
    if mean.ndim != 2 or mean.shape != invstd.shape:
        raise ArgumentValueError(
            f"For 'batch_norm_gather_stats_with_counts', mean and invstd must have the shape (devices, "
            f"channels), but got "
            f"{list(mean.shape)} and {list(invstd.shape)}."
        )
    many = mean.new_ones(len(mean)) if counts is None else counts.to(mean.dtype)
    shares = (many / many.sum()).unsqueeze(1)
    together = (shares * mean).sum(0)
    variance = (shares * (invstd.pow(-2) - eps + (mean - together).square())).sum(0)
    with torch.no_grad():
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(together.to(running_mean.dtype) * momentum)
        if running_var is not None:
            free = (many.sum() / (many.sum() - 1)).to(variance.dtype)
            running_var.mul_(1 - momentum).add_((variance * free).to(running_var.dtype) * momentum)
    return together, torch.rsqrt(variance + eps)


@op("mint", accepts=FLOATS, dtype=SAME)
def batch_norm_elemt(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    mean: Tensor | None = None,
    invstd: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize the input with the given statistics, with scale and shift."""
    _reduced_axes("batch_norm_elemt", input)
    normalized = upcast_half(input)
    normalized = normalized if mean is None else normalized - _per_channel(mean, input)
    normalized = normalized if invstd is None else normalized * _per_channel(invstd, input)
    normalized = normalized if weight is None else normalized * _per_channel(weight, input)
    normalized = normalized if bias is None else normalized + _per_channel(bias, input)
    return normalized.to(input.dtype)


# differentiable=False: not differentiable by the running statistics, which the registry's tests would check too.
@op(accepts=FLOATS, dtype=SAME, differentiable=False)
def batch_norm_nd(
    x: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    share: float,
    eps: float,
    data_format: str = "NCHW",
) -> Tensor:
    """Batch normalization. When training, the running statistics are updated in place with weight `share`."""
    x = channels_first(x, data_format)
    if x.ndim < 2 or (gamma is not None and gamma.shape[0] != x.shape[1]):
        channels = "?" if gamma is None else gamma.shape[0]
        raise ArgumentValueError(
            f"For 'BatchNorm', the input must have {channels} channels on axis 1, but its shape is {list(x.shape)}; "
            f"'num_features' must be the number of channels."
        )
    on_gpu = torch.backends.cudnn.enabled
    normalized = torch.batch_norm(x, gamma, beta, mean, variance, training, share, eps, on_gpu)
    return channels_last(normalized, data_format)


@op(accepts=FLOATS, dtype=SAME)
def instance_norm_nd(x: Tensor, gamma: Tensor | None, beta: Tensor | None, count: int, eps: float) -> Tensor:
    """Instance normalization: each channel of each sample gets mean 0 and variance 1, then scale and shift."""
    if x.ndim != count + 2 or (gamma is not None and gamma.shape[0] != x.shape[1]):
        channels = "?" if gamma is None else gamma.shape[0]
        raise ArgumentValueError(
            f"For 'InstanceNorm{count}d', the input must have {count + 2} axes and {channels} channels, but its shape "
            f"is {list(x.shape)}."
        )
    return torch.instance_norm(x, gamma, beta, None, None, True, 0.0, eps, torch.backends.cudnn.enabled)


@op(accepts=FLOATS, dtype=SAME)
def layer_norm_nd(x: Tensor, gamma: Tensor, beta: Tensor, first: int, params: int, eps: float) -> Tensor:
    """Layer normalization over the axes from `first` on, with scale and shift from axis `params` on."""
    if not -x.ndim <= first < x.ndim:
        raise OperationError(
            f"For 'LayerNorm', 'begin_norm_axis' must be in [{-x.ndim}, {x.ndim}), but got {first}."
        )
    first, params = first % x.ndim, params % x.ndim
    if gamma.shape != x.shape[params:]:
        raise ArgumentValueError(
            f"For 'LayerNorm', gamma or beta shape must match the input's from axis {params} on, but the input's shape "
            f"is {list(x.shape)} and gamma's {list(gamma.shape)}."
        )
    if first == params:
        return F.layer_norm(x, gamma.shape, gamma, beta, eps)
    return F.layer_norm(x, x.shape[first:], None, None, eps) * gamma + beta


@op("mint.nn.functional:normalize", accepts=FLOATS, dtype=SAME)
def normalized(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Normalize vectors along an axis by their p-norm, or by `eps` if that is larger."""
    return F.normalize(input, p, dim, eps)
