"""Geometry of sliding windows: kernel sizes, strides and MindSpore's padding modes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.tensor.storage import DTYPES_FROM_TORCH

__all__ = [
    "channels_first",
    "channels_last_hint",
    "channels_last",
    "expand_per_axis",
    "check_pad_mode",
    "parse_padding",
    "apply_asymmetric_padding",
    "check_same_dtype",
    "compute_padding",
    "split_asymmetric_padding",
]

Padding = tuple[tuple[int, int], ...]


def expand_per_axis(name: str, label: str, value: Any, count: int, least: int = 1) -> tuple[int, ...]:
    """One number per axis, from one for all or a tuple; a tuple for all axes of the input starts with 1, 1."""
    if value.__class__ is int and value >= least:  # fast path for the common case
        return (value,) * count
    if isinstance(value, int) and not isinstance(value, bool):
        numbers: tuple[int, ...] = (value,) * count
    elif isinstance(value, (tuple, list)):
        numbers = tuple(value)
        if len(numbers) == count + 2:
            numbers = numbers[2:]
        elif len(numbers) == 1:
            numbers = numbers * count
        if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
            raise ArgumentTypeError(f"For '{name}', '{label}' must hold ints, but got {value!r}.")
    else:
        raise ArgumentTypeError(
            f"For '{name}', '{label}' must be an int or a tuple of {count} ints, but got {value!r}."
        )
    if len(numbers) != count or min(numbers) < least:
        what = "positive" if least else "not negative"
        raise ArgumentValueError(
            f"For '{name}', '{label}' must be an int or a tuple of {count} ints, {what}, but got {value!r}."
        )
    return numbers


def check_pad_mode(
    name: str, pad_mode: Any, known: Sequence[str] = ("valid", "same", "pad"), fold: bool = False
) -> str:
    """Check the padding mode; `fold` accepts upper case too."""
    if not isinstance(pad_mode, str):
        raise ArgumentTypeError(f"For '{name}', 'pad_mode' must be a str, but got {pad_mode!r}.")
    normalized_mode = pad_mode.lower() if fold else pad_mode
    if normalized_mode not in known:
        raise ArgumentValueError(
            f"For '{name}', the 'pad_mode' must be one of {list(known)}, but got {pad_mode!r}."
        )
    return normalized_mode


def parse_padding(name: str, pad: Any, count: int) -> Padding:
    """Padding before and after each axis, from one number for all or two per axis."""
    if pad.__class__ is int and pad >= 0:  # fast path for the common case
        return ((pad, pad),) * count
    if isinstance(pad, int) and not isinstance(pad, bool):
        pad = (pad,) * (2 * count)
    if not isinstance(pad, (tuple, list)) or any(isinstance(p, bool) or not isinstance(p, int) for p in pad):
        raise ArgumentTypeError(f"For '{name}', 'pad' must be an int or a tuple of ints, but got {pad!r}.")
    if len(pad) != 2 * count or min(pad) < 0:
        raise ArgumentValueError(
            f"For '{name}', 'pad' must be an int or a tuple of {2 * count} ints, none below 0, but got {tuple(pad)}."
        )
    return tuple(zip(pad[::2], pad[1::2], strict=True))


@functools.lru_cache(maxsize=4096)
def compute_padding(
    name: str,
    pad_mode: str,
    padding: Padding,
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Padding:
    """Padding before and after each axis; "same" puts the odd element after."""
    if pad_mode == "pad":
        return padding
    if any(before or after for before, after in padding):
        raise ArgumentValueError(
            f"For '{name}', the 'pad' must be zero when 'pad_mode' is not 'pad', but got 'pad': {padding} and "
            f"'pad_mode': {pad_mode}; give pad_mode='pad'."
        )
    if pad_mode == "valid":
        return padding
    pads = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        missing = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
        pads.append((missing // 2, missing - missing // 2))
    return tuple(pads)


@functools.lru_cache(maxsize=4096)
def split_asymmetric_padding(pads: Padding) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Split padding into the part that PyTorch supports and the uneven part that is applied to the tensor."""
    if all(before == after for before, after in pads):
        return tuple(before for before, _ in pads), None
    flat: list[int] = []
    for before, after in reversed(pads):
        flat += [before, after]
    return (0,) * len(pads), tuple(flat)


def apply_asymmetric_padding(x: Tensor, pads: Padding, value: float = 0.0) -> tuple[Tensor, tuple[int, ...]]:
    """Apply uneven padding to the tensor, and return the padding that remains for PyTorch."""
    even, uneven = split_asymmetric_padding(pads)
    return (x if uneven is None else F.pad(x, uneven, value=value)), even


def channels_first(x: Tensor, data_format: str) -> Tensor:
    """Permute (N, ..., C) to (N, C, ...), depending on the data format."""
    return x.movedim(-1, 1) if data_format in ("NHWC", "NDHWC") else x


def channels_last(x: Tensor, data_format: str) -> Tensor:
    """Permute back to the data format."""
    return x.movedim(1, -1) if data_format in ("NHWC", "NDHWC") else x


def check_same_dtype(name: str, x: Tensor, weight: Tensor) -> None:
    """Check that the weight has the dtype of the input."""
    if x.dtype is not weight.dtype:
        raise ArgumentTypeError(
            f"For '{name}', the input and the weight must have the same type, but got {DTYPES_FROM_TORCH[x.dtype]} and "
            f"{DTYPES_FROM_TORCH[weight.dtype]}; convert one with x.astype(...)."
        )


def channels_last_hint(count: int) -> str:
    """Hint for images whose channels are the last axis, as in files."""
    turn = f"x.transpose{(0, count + 1, *range(1, count + 1))}"
    in_pipeline = "vision.HWC2CHW() in the pipeline, or " if count == 2 else ""
    return f" Are its channels last? {in_pipeline}{turn} brings them to the front."
