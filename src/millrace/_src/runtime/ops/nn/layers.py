"""Operations behind layers: arguments were checked when the layer was constructed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.conv import conv_forward

from .sliding_window import Padding, channels_first, channels_last, compute_padding

__all__ = ["conv_nd"]


def _run_as_2d(name: str, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Run a 2-D function on 1-D input: MindSpore's 1-D layers hold 2-D weights."""
    if x.ndim != 3:
        raise ArgumentValueError(
            f"For '{name}', the input must have 3 axes, but its shape is {list(x.shape)}."
        )
    return function(x.unsqueeze(2)).squeeze(2)


@op(accepts=FLOATS, dtype=SAME)
def conv_nd(
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
    """Convolution; `one` means that the weight has two axes for one of the input."""
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


def _apply_padding(
    name: str, x: Tensor, count: int, pad_mode: str, pads: Padding, kernel: Any, stride: Any
) -> tuple[Tensor, Padding]:
    """Input with a batch axis, and the padding around it."""
    if x.ndim not in (count + 1, count + 2):
        raise ArgumentValueError(
            f"For '{name}', the input must have {count + 1} or {count + 2} axes, but its shape is {list(x.shape)}."
        )
    wide = x if x.ndim == count + 2 else x.unsqueeze(0)
    wide = wide.unsqueeze(2) if count == 1 else wide
    return wide, compute_padding(
        name, pad_mode, pads, tuple(wide.shape[2:]), kernel, stride, (1,) * len(kernel)
    )


def _restore_rank(x: Tensor, output: Tensor, count: int) -> Tensor:
    output = output.squeeze(2) if count == 1 else output
    return output if x.ndim == count + 2 else output.squeeze(0)


def _short(name: str, kernel: tuple[int, ...], pads: Padding) -> None:
    if any(before + after > k for (before, after), k in zip(pads, kernel, strict=True)):
        raise ArgumentValueError(
            f"For '{name}', the padding of both sides must be no longer than the kernel, but got {pads} and {kernel}."
        )
