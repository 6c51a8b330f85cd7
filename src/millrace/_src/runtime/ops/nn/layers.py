"""Operations as layers call them: arguments were checked and put in order when the layer was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, REAL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

from .conv import conv_forward, conv_transpose_forward
from .max_pooling import avg_pool, max_pool, rescale_divisor
from .sliding_window import Padding, channels_first, channels_last, compute_padding

__all__ = [
    "batch_normalised",
    "convolution",
    "convolution_back",
    "instance_normalised",
    "layer_normalised",
    "max_places",
    "mean_of_windows",
    "most_of_windows",
]


def _run_as_2d(name: str, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """What a function of two axes makes of one: MindSpore's layers over one axis hold the weights of such."""
    if x.ndim != 3:
        raise ArgumentValueError(
            f"For '{name}', the input must have 3 axes, but its shape is {list(x.shape)}."
        )
    return function(x.unsqueeze(2)).squeeze(2)


@op(accepts=FLOATS, dtype=SAME)
def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    dilation: tuple[int, ...],
    group: int,
    data_format: str = "NCHW",
    one: bool = False,
) -> Tensor:
    """A convolution; `one` says that the weight has two axes for one of the input."""
    if one:
        return _run_as_2d(
            "Conv1d",
            x,
            lambda wide: conv_forward("Conv1d", wide, weight, bias, stride, pad_mode, pads, dilation, group),
        )
    name = f"Conv{weight.ndim - 2}d"
    if weight.ndim == 5 and x.ndim == 5 and x.shape[1] != weight.shape[1] * group:
        raise ArgumentValueError(
            f"For 'Conv3d', the input must have {weight.shape[1] * group} channels, but its shape is {list(x.shape)}."
        )
    if data_format == "NCHW":
        return conv_forward(name, x, weight, bias, stride, pad_mode, pads, dilation, group)
    x, weight = channels_first(x, data_format), channels_first(weight, data_format)
    return channels_last(
        conv_forward(name, x, weight, bias, stride, pad_mode, pads, dilation, group), data_format
    )


@op(accepts=FLOATS, dtype=SAME)
def convolution_back(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    dilation: tuple[int, ...],
    group: int,
    extra: tuple[int, ...],
    one: bool = False,
) -> Tensor:
    """The transpose of a convolution; `extra` makes the result longer."""
    if one:
        return _run_as_2d(
            "Conv1dTranspose",
            x,
            lambda wide: convolution_back.raw(
                wide, weight, bias, stride, pad_mode, pads, dilation, group, extra
            ),
        )
    name = f"Conv{weight.ndim - 2}dTranspose"
    if x.ndim != weight.ndim:
        raise ArgumentValueError(
            f"For '{name}', the input must have {weight.ndim} axes, but its shape is {list(x.shape)}."
        )
    if x.shape[1] != weight.shape[0]:
        raise (OperationError if weight.ndim == 4 else ArgumentValueError)(
            f"For '{name}', the input must have {weight.shape[0]} channels, but its shape is {list(x.shape)}."
        )
    sizes, kernel = x.shape[2:], tuple(weight.shape[2:])
    after, inside = (extra, (0,) * len(extra)) if weight.ndim == 4 else ((), extra)
    wanted = tuple(
        _length(pad_mode, n, s, d * (k - 1) + 1) - begin - end + e
        for n, s, d, k, (begin, end), e in zip(sizes, stride, dilation, kernel, pads, inside, strict=True)
    )
    around = compute_padding(name, pad_mode, pads, wanted, kernel, stride, dilation)
    made = conv_transpose_forward(name, x, weight, wanted, around, stride, dilation, group)
    if bias is not None:
        made = made + bias.reshape(-1, *(1,) * (x.ndim - 2))
    # over two axes MindSpore makes the result longer by zeros
    return F.pad(made, (0, after[1], 0, after[0])) if any(after) else made


def _length(pad_mode: str, size: int, stride: int, reach: int) -> int:
    """The length of a result before its padding is cut off."""
    if pad_mode == "same":
        return size * stride
    return (size - 1) * stride + (max(reach, stride) if pad_mode == "valid" else reach)


def _windows(
    name: str, x: Tensor, count: int, pad_mode: str, pads: Padding, kernel: Any, stride: Any
) -> tuple[Tensor, Padding]:
    """The input with a batch axis, and the padding around it."""
    if x.ndim not in (count + 1, count + 2):
        raise ArgumentValueError(
            f"For '{name}', the input must have {count + 1} or {count + 2} axes, but its shape is {list(x.shape)}."
        )
    wide = x if x.ndim == count + 2 else x.unsqueeze(0)
    wide = wide.unsqueeze(2) if count == 1 else wide
    return wide, compute_padding(
        name, pad_mode, pads, tuple(wide.shape[2:]), kernel, stride, (1,) * len(kernel)
    )


def _as_before(x: Tensor, made: Tensor, count: int) -> Tensor:
    made = made.squeeze(2) if count == 1 else made
    return made if x.ndim == count + 2 else made.squeeze(0)


@op(accepts=REAL, dtype=SAME)
def most_of_windows(
    x: Tensor,
    count: int,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
) -> Tensor:
    """The maximum in each window; one axis is given as the second of two."""
    name = f"MaxPool{count}d"
    given = channels_first(x, data_format)
    wide, around = _windows(name, given, count, pad_mode, pads, kernel, stride)
    return channels_last(
        _as_before(given, max_pool(name, wide, kernel, stride, around, ceil_mode), count), data_format
    )


@op(accepts=FLOATS, dtype=SAME)
def mean_of_windows(
    x: Tensor,
    count: int,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    ceil_mode: bool = False,
    counted: bool = False,
    divisor: int = 0,
    data_format: str = "NCHW",
) -> Tensor:
    """The mean of each window; one axis is given as the second of two."""
    name = f"AvgPool{count}d"
    given = channels_first(x, data_format)
    wide, around = _windows(name, given, count, pad_mode, pads, kernel, stride)
    _short(name, kernel, around)
    made = avg_pool(name, wide, kernel, stride, around, ceil_mode, counted or bool(divisor))
    return channels_last(_as_before(given, rescale_divisor(made, kernel, divisor), count), data_format)


def _short(name: str, kernel: tuple[int, ...], pads: Padding) -> None:
    if any(before + after > k for (before, after), k in zip(pads, kernel, strict=True)):
        raise ArgumentValueError(
            f"For '{name}', the padding of both sides must be no longer than the kernel, but got {pads} and {kernel}."
        )


@op(accepts=REAL, dtype=UNCHECKED)
def max_places(
    x: Tensor,
    count: int,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pads: Padding,
    dilation: tuple[int, ...],
    ceil_mode: bool = False,
    places: bool = False,
    data_format: str = "NCHW",
) -> Any:
    """The maximum in each window, and if wanted its place among the elements of the channel."""
    name = f"MaxPool{count}d"
    given = channels_first(x, data_format)
    wide, around = _windows(name, given, count, "pad", pads, kernel, stride)
    _short(name, kernel, around)
    function: Any = F.max_pool3d if count == 3 else F.max_pool2d
    even = tuple(before for before, _ in around)
    if not places:
        made = _as_before(given, function(wide, kernel, stride, even, dilation, ceil_mode), count)
        return channels_last(made, data_format)
    found = function(wide, kernel, stride, even, dilation, ceil_mode, return_indices=True)
    return tuple(channels_last(_as_before(given, part, count), data_format) for part in found)


# differentiable=False: by the running statistics, which the suite over the table would ask for, they are not.
@op(accepts=FLOATS, dtype=SAME, differentiable=False)
def batch_normalised(
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
    """Each channel with mean 0 and variance 1, scaled and shifted; `share` of the batch's statistics go into the
    running ones, in place, when training."""
    x = channels_first(x, data_format)
    if x.ndim < 2 or (gamma is not None and gamma.shape[0] != x.shape[1]):
        channels = "?" if gamma is None else gamma.shape[0]
        raise ArgumentValueError(
            f"For 'BatchNorm', the input must have {channels} channels on axis 1, but its shape is {list(x.shape)}; "
            f"'num_features' must be the number of channels."
        )
    on_gpu = torch.backends.cudnn.enabled
    made = torch.batch_norm(x, gamma, beta, mean, variance, training, share, eps, on_gpu)
    return channels_last(made, data_format)


@op(accepts=FLOATS, dtype=SAME)
def instance_normalised(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, count: int, eps: float
) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1, scaled and shifted."""
    if x.ndim != count + 2 or (gamma is not None and gamma.shape[0] != x.shape[1]):
        channels = "?" if gamma is None else gamma.shape[0]
        raise ArgumentValueError(
            f"For 'InstanceNorm{count}d', the input must have {count + 2} axes and {channels} channels, but its shape "
            f"is {list(x.shape)}."
        )
    return torch.instance_norm(x, gamma, beta, None, None, True, 0.0, eps, torch.backends.cudnn.enabled)


@op(accepts=FLOATS, dtype=SAME)
def layer_normalised(x: Tensor, gamma: Tensor, beta: Tensor, first: int, params: int, eps: float) -> Tensor:
    """The axes from `first` on with mean 0 and variance 1, scaled and shifted from axis `params` on."""
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
