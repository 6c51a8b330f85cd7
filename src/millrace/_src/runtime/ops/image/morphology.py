"""Morphological dilation (`Dilation2D`)."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import REAL, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["Dilation2D", "dilation2d"]


def _parse_per_axis(label: str, value: Any) -> tuple[int, int]:
    """Numbers for the two axes of images, given as one, two or four (the first two of which are 1)."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = (1, 1, value, value)
    if not isinstance(value, (tuple, list)) or not all(type(part) is int for part in value):
        raise ArgumentTypeError(
            f"For 'Dilation2D', '{label}' must be an int or a tuple of ints, but got {value!r}."
        )
    if len(value) == 2:
        value = (1, 1, *value)
    if len(value) != 4 or tuple(value[:2]) != (1, 1) or value[2] < 1 or value[3] < 1:
        raise ArgumentValueError(
            f"For 'Dilation2D', '{label}' must be (1, 1, height, width), but got {value!r}."
        )
    return value[2], value[3]


@op(accepts=REAL, dtype=UNCHECKED)
def dilation2d(
    x: Tensor, filter: Tensor, stride: Any, dilation: Any, pad_mode: str = "SAME", data_format: str = "NCHW"
) -> Tensor:
    """Morphological dilation: the maximum of neighbor plus weight, per channel. MindSpore's CPU kernel cannot be
    called.
    """
    name = "Dilation2D"
    (down, right), (far, wide) = _parse_per_axis("stride", stride), _parse_per_axis("dilation", dilation)
    if not isinstance(pad_mode, str) or pad_mode.upper() not in ("SAME", "VALID"):
        raise ArgumentValueError(f"For '{name}', 'pad_mode' must be SAME or VALID, but got {pad_mode!r}.")
    if data_format != "NCHW":
        raise ArgumentValueError(f"For '{name}', 'data_format' must be NCHW, but got {data_format!r}.")
    if x.ndim != 4 or filter.ndim != 3 or x.shape[1] != filter.shape[0]:
        raise ArgumentValueError(
            f"For '{name}', 'x' must have the shape (N, C, H, W) and 'filter' (C, H, W), but got {list(x.shape)} and "
            f"{list(filter.shape)}."
        )
    window = [(length - 1) * step + 1 for length, step in zip(filter.shape[1:], (far, wide), strict=True)]
    if pad_mode.upper() == "SAME":
        lack = [
            max((math.ceil(length / step) - 1) * step + part - length, 0)
            for length, step, part in zip(x.shape[2:], (down, right), window, strict=True)
        ]
        least = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
        x = F.pad(
            x, (lack[1] // 2, lack[1] - lack[1] // 2, lack[0] // 2, lack[0] - lack[0] // 2), value=least
        )
    seen = x.unfold(2, window[0], down)[..., ::far].unfold(3, window[1], right)[..., ::wide]
    return (seen + filter[:, None, None]).amax((-2, -1))


Dilation2D = primitive("Dilation2D", dilation2d, ("stride", "dilation", "pad_mode", "data_format"))
