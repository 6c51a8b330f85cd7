"""Padding of tensors: pad, mirror_pad, padding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_python_list, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "MirrorPad",
    "Pad",
    "PadV3",
    "Padding",
    "mirror_pad",
    "mirror_pad_primitive",
    "pad",
    "pad_mint",
    "pad_primitive",
    "pad_v3_primitive",
    "padding",
]

_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "circular": "circular"}


def _pad(input: Tensor, width: tuple[int, ...], mode: str, value: Any) -> Tensor:
    """Pad with widths in PyTorch's order: the last axis first, before and after."""
    if len(width) % 2:
        raise ArgumentValueError(
            f"For 'pad', the size of padding must be divisible by 2, but got {len(width)}"
        )
    if len(width) > 2 * input.ndim:
        raise ArgumentValueError(
            f"For 'pad', there are {len(width)} widths, more than two for each of the {input.ndim} axes."
        )
    if not any(width):
        return input.clone()
    if mode != "constant":
        if len(width) == 2 * input.ndim:  # PyTorch needs an axis before the padded ones
            return F.pad(input.unsqueeze(0), width, mode).squeeze(0)
        return F.pad(input, width, mode)
    if isinstance(value, Tensor):
        inside = F.pad(torch.ones_like(input, dtype=torch.bool), width)
        return torch.where(inside, F.pad(input, width), value.to(input.dtype))
    if isinstance(value, float) and not (input.is_floating_point() or input.is_complex()):
        value = int(value)
    return F.pad(input, width, "constant", value or 0)


@op("ops", dtype=SAME)
def pad(input_x: Tensor, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Pad the last axes. `padding` holds the widths before and after, the last axis first; a negative width crops.
    `mode` is "constant", "reflect", "replicate" or "circular".
    """
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ArgumentValueError(
            f"For 'pad', the 'mode' must be 'constant', 'reflect', 'replicate' or 'circular', but got {mode!r}."
        )
    if value is not None and mode != "constant":
        raise ArgumentValueError(
            f"For 'pad', the padding mode '{mode}' can not set value, but got value {value}."
        )
    if isinstance(padding, int):
        raise ArgumentTypeError(
            f"For 'pad', the padding must be a tuple, list or Tensor of ints, but got {padding}."
        )
    return _pad(input_x, to_shape(padding), mode, value)


@op(dtype=SAME)
def pad_primitive(input_x: Tensor, paddings: Any) -> Tensor:
    """Pad with zeros; `paddings` holds a pair of widths per axis."""
    pairs = [to_shape(pair) for pair in paddings]
    if len(pairs) != input_x.ndim:
        raise ArgumentValueError(
            f"For 'Pad', the length of 'paddings' must be equal to the rank of 'input_x', but got {len(pairs)} vs "
            f"{input_x.ndim}"
        )
    if any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ArgumentValueError(
            f"For 'Pad', all elements of 'paddings' must be pairs of ints >= 0, but got {pairs}"
        )
    return F.pad(input_x, [width for pair in reversed(pairs) for width in pair])


@op(dtype=SAME)
def pad_v3_primitive(
    x: Tensor,
    paddings: Any,
    constant_value: Any = None,
    mode: str = "constant",
    paddings_contiguous: bool = True,
) -> Tensor:
    """Pad the last axes in mode "constant", "reflect", "edge" or "circular". `paddings` holds pairs (before, after),
    the last axis first, or first all widths before and then all widths after.
    """
    if mode not in _MODES:
        raise ArgumentValueError(f"For 'PadV3', the 'mode' must be in {list(_MODES)}, but got {mode!r}.")
    width = to_shape(paddings)
    if not paddings_contiguous:
        half = len(width) // 2
        width = tuple(each for pair in zip(width[:half], width[half:]) for each in pair)
    return _pad(x, width, _MODES[mode], constant_value)


@op("ops", dtype=SAME)
def mirror_pad(input_x: Tensor, paddings: Any, mode: str) -> Tensor:
    """Pad with the reflected tensor: "REFLECT" omits the border element, "SYMMETRIC" repeats it."""
    return _pad_reflect(input_x, paddings, mode)


@op(dtype=SAME)
def mirror_pad_primitive(input_x: Tensor, paddings: Any, mode: str = "REFLECT") -> Tensor:
    """Pad with the reflected tensor: "REFLECT" omits the border element, "SYMMETRIC" repeats it."""
    return _pad_reflect(input_x, paddings, mode)


def _pad_reflect(input: Tensor, paddings: Any, mode: str) -> Tensor:
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ArgumentValueError(
            f"For 'MirrorPad', the 'mode' must be 'REFLECT' or 'SYMMETRIC', but got {mode!r}."
        )
    pairs = [
        to_shape(pair) for pair in (to_python_list(paddings) if isinstance(paddings, Tensor) else paddings)
    ]
    if len(pairs) != input.ndim:
        raise ArgumentValueError(
            f"For 'MirrorPad', there must be a pair for each of the {input.ndim} axes, but got {pairs}."
        )
    around = 0 if mode == "REFLECT" else 1
    for axis, (before, after) in enumerate(pairs):
        length = input.shape[axis]
        if min(before, after) < 0 or max(before, after) > length - 1 + around:
            raise ArgumentValueError(
                "For 'MirrorPad', paddings must be no greater than the dimension size: "
                f"[{before}], [{after}] not less than [{length}]"
            )
        if before or after:
            indices = torch.arange(-before, length + after, device=input.device)
            indices = torch.where(indices < 0, -indices - around, indices)
            indices = torch.where(indices >= length, 2 * length - 2 + around - indices, indices)
            input = torch.index_select(input, axis, indices)
    return input


@op("ops", dtype=SAME)
def padding(x: Tensor, pad_dim_size: int = 8) -> Tensor:
    """Pad the last axis, of length 1, with zeros to `pad_dim_size`."""
    if not x.ndim or x.shape[-1] != 1:
        raise ArgumentValueError(
            f"For 'Padding', the last dimension of 'x' must be 1, but got: {tuple(x.shape)}."
        )
    if to_int(pad_dim_size, "pad_dim_size") <= 0:
        raise ArgumentValueError(
            f"For 'Padding', the 'pad_dim_size' must be greater than 0, but got {pad_dim_size}."
        )
    return F.pad(x, (0, pad_dim_size - 1))


Pad = primitive("Pad", pad_primitive, init=("paddings",))
PadV3 = primitive("PadV3", pad_v3_primitive, init=("mode", "paddings_contiguous"))
MirrorPad = primitive("MirrorPad", mirror_pad_primitive, init=("mode",))
Padding = primitive("Padding", padding, init=("pad_dim_size",))


_pad_op = pad  # `pad_mint` has a parameter of this name


@op("mint.nn.functional:pad", dtype=SAME)
def pad_mint(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last axes; `pad` holds pairs (before, after), the last axis first."""
    return _pad_op.raw(input, pad, mode, value)
