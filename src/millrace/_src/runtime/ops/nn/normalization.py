"""Normalization: batch_norm, layer_norm, group_norm, rms_norm, lrn, l2_normalize, batch statistics.

MindSpore has the steps for several devices (`batch_norm_stats` and following) on Ascend only, so nothing is recorded of
them: the tests compare with `batch_norm`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.arguments import upcast_half
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.sliding_window import channels_first, channels_last

__all__ = [
    "BatchNorm",
    "L2Normalize",
    "LRN",
    "LayerNorm",
    "RmsNorm",
    "add_layer_norm",
    "add_rms_norm",
    "batch_norm",
    "batch_norm_elemt",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_mint",
    "batch_norm_nd",
    "batch_norm_of",
    "batch_norm_stats",
    "group_norm",
    "instance_norm_nd",
    "l2_normalize",
    "layer_norm",
    "layer_norm_nd",
    "layer_norm_of",
    "lrn",
    "normalized",
    "rms_norm",
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


def _check_channels(name: str, x: Tensor, scale: Tensor | None) -> None:
    if x.ndim < 2:
        raise ArgumentValueError(
            f"For '{name}', the input must have at least 2 axes, but got {list(x.shape)}."
        )
    if scale is not None and scale.shape[0] != x.shape[1]:
        raise ArgumentValueError(
            f"For '{name}', there must be one value per channel: {x.shape[1]}, but got {scale.shape[0]}."
        )


def _batch_norm(x: Tensor, mean: Tensor | None, variance: Tensor | None, *rest: Any) -> Tensor:
    """Batch normalization. The running statistics never have a gradient, also if they are Parameters with
    requires_grad.
    """
    return F.batch_norm(
        x, None if mean is None else mean.detach(), None if variance is None else variance.detach(), *rest
    )


# differentiable=False: differentiable by input, scale and bias (tests/unit/runtime/ops/nn/test_stateful_ops.py), but
# not by the running statistics, which the registry's tests would check too.
@op("ops", accepts=FLOATS, dtype=SAME, differentiable=False)
def batch_norm(
    input_x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor,
    bias: Tensor,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalization: each channel gets mean 0 and variance 1, then scale and shift. In training the statistics
    of the batch are used, and the running ones are updated in place with `momentum`.
    """
    _check_channels("batch_norm", input_x, weight)
    return _batch_norm(input_x, running_mean, running_var, weight, bias, training, momentum, eps)


@op("mint.nn.functional:batch_norm", accepts=FLOATS, dtype=SAME, differentiable=False)
def batch_norm_mint(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalization: each channel gets mean 0 and variance 1, then scale and shift."""
    _check_channels("batch_norm", input, weight)
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@op(accepts=FLOATS, dtype=UNCHECKED, differentiable=False)
def batch_norm_of(
    input_x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    is_training: bool = False,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    data_format: str = "NCHW",
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Batch normalization: the output, the running mean and variance, and the statistics used."""
    x = input_x.movedim(-1, 1) if data_format == "NHWC" else input_x
    _check_channels("BatchNorm", x, scale)
    if is_training:
        used = torch.var_mean(
            x.float() if x.dtype is not torch.float64 else x, [0, *range(2, x.ndim)], correction=0
        )
        by_variance, by_mean = used[0].detach(), used[1].detach()
    else:
        by_mean, by_variance = mean, variance
    normalized = _batch_norm(x, mean, variance, scale, bias, is_training, momentum, epsilon)
    normalized = normalized.movedim(1, -1) if data_format == "NHWC" else normalized
    return normalized, mean, variance, by_mean, by_variance


def _parse_shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, int):
        return (normalized_shape,)
    if not isinstance(normalized_shape, (tuple, list)):
        raise ArgumentTypeError(
            f"For 'layer_norm', 'normalized_shape' must be a tuple or list of ints, but got {normalized_shape!r}."
        )
    return tuple(normalized_shape)


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Layer normalization over the last axes, of the given shape, with scale and shift."""
    shape = _parse_shape(normalized_shape)
    if tuple(input.shape[-len(shape) :]) != shape:
        raise ArgumentValueError(
            f"For 'layer_norm', the last axes of the input must be {shape}, but its shape is {list(input.shape)}."
        )
    return F.layer_norm(input, shape, weight, bias, eps)


@op(accepts=FLOATS, dtype=UNCHECKED)
def layer_norm_of(
    input_x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    begin_norm_axis: int = 1,
    begin_params_axis: int = 1,
    epsilon: float = 1e-7,
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalization over the axes from `begin_norm_axis` on; returns output, mean and variance."""
    first = begin_norm_axis % input_x.ndim if -input_x.ndim <= begin_norm_axis < input_x.ndim else -1
    if first < 0:
        raise OperationError(
            f"For 'LayerNorm', 'begin_norm_axis' must be in [{-input_x.ndim}, {input_x.ndim}), but got "
            f"{begin_norm_axis}."
        )
    params = begin_params_axis % input_x.ndim
    if gamma.shape != input_x.shape[params:] or beta.shape != gamma.shape:
        raise ArgumentValueError(
            f"For 'LayerNorm', gamma or beta shape must match the input's from axis {params} on, but the shapes are "
            f"{list(input_x.shape)}, {list(gamma.shape)} and {list(beta.shape)}."
        )
    over = list(range(first, input_x.ndim))
    if params == first:
        normalized = F.layer_norm(input_x, input_x.shape[first:], gamma, beta, epsilon)
    else:
        normalized = F.layer_norm(input_x, input_x.shape[first:], None, None, epsilon) * gamma + beta
    variance, mean = torch.var_mean(input_x, over, correction=0, keepdim=True)
    return normalized, mean, variance


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Group normalization: groups of channels get mean 0 and variance 1, then scale and shift."""
    if isinstance(num_groups, bool) or not isinstance(num_groups, int):
        raise ArgumentTypeError(f"For 'group_norm', 'num_groups' must be an int, but got {num_groups!r}.")
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ArgumentValueError(
            f"For 'group_norm', the channels must be divided by 'num_groups', but got the shape {list(input.shape)} "
            f"and {num_groups} groups."
        )
    return F.group_norm(input, num_groups, weight, bias, eps)


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """RMS normalization over the last axes, as many as `gamma` has, with scale; and the inverse root mean square."""
    over = list(range(-gamma.ndim, 0))
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    inverse = torch.rsqrt(wide.square().mean(over, keepdim=True) + epsilon)
    return (wide * inverse).to(x.dtype) * gamma, inverse


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def add_rms_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """`rms_norm` of a sum, with the sum as third result."""
    whole = x1 + x2
    normalized, inverse = rms_norm.raw(whole, gamma, epsilon)
    return normalized, inverse, whole


@op("ops", accepts=FLOATS, dtype=UNCHECKED)
def add_layer_norm(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    beta: Tensor,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`layer_norm` of a sum over the last axis, its mean, its inverse standard deviation, and the sum."""
    whole = x1 + x2
    variance, mean = torch.var_mean(
        whole if whole.dtype is torch.float64 else whole.float(), -1, correction=0, keepdim=True
    )
    normalized = F.layer_norm(whole, whole.shape[-1:], gamma, beta, epsilon)
    return normalized, mean, torch.rsqrt(variance + epsilon), whole


@op("ops", accepts=FLOATS, dtype=SAME)
def lrn(
    x: Tensor,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """Local response normalization: x / (bias + alpha * squares of neighboring channels) ** beta."""
    if norm_region != "ACROSS_CHANNELS":
        raise ArgumentValueError(
            f"For 'lrn', 'norm_region' must be 'ACROSS_CHANNELS', but got {norm_region!r}."
        )
    if x.ndim != 4:
        raise ArgumentValueError(f"For 'lrn', the input must have 4 axes, but got {list(x.shape)}.")
    size = 2 * depth_radius + 1
    return F.local_response_norm(x, size, alpha * size, beta, bias)


@op(accepts=FLOATS, dtype=SAME)
def l2_normalize(input_x: Tensor, axis: Any = 0, epsilon: float = 1e-4) -> Tensor:
    """L2 normalization of vectors along an axis; `epsilon` is the smallest squared norm."""
    if isinstance(axis, (list, tuple)):
        if len(axis) != 1:
            raise ArgumentTypeError(
                f"For 'L2Normalize', the length of 'axis' must be 1, but got {len(axis)}."
            )
        axis = axis[0]
    if not -input_x.ndim <= axis < input_x.ndim:
        raise ArgumentValueError(
            f"For 'L2Normalize', the axis value must be in [{-input_x.ndim},{input_x.ndim}), but got {axis}."
        )
    return input_x * torch.rsqrt(input_x.square().sum(axis, keepdim=True).clamp_min(epsilon))


BatchNorm = primitive("BatchNorm", batch_norm_of)
LayerNorm = primitive("LayerNorm", layer_norm_of)
LRN = primitive("LRN", lrn)
L2Normalize = primitive("L2Normalize", l2_normalize)
RmsNorm = primitive("RmsNorm", rms_norm)
