"""Pixel shuffle and space/depth/batch rearrangement: pixel_shuffle, space_to_depth, batch_to_space, channel_shuffle."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import to_int, to_python_list, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BatchToSpace",
    "BatchToSpaceND",
    "BatchToSpaceNDV2",
    "ChannelShuffle",
    "DepthToSpace",
    "SpaceToBatch",
    "SpaceToBatchND",
    "SpaceToDepth",
    "batch_to_space",
    "batch_to_space_nd",
    "channel_shuffle",
    "depth_to_space",
    "pixel_shuffle",
    "pixel_unshuffle",
    "shuffle_channels",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_batch_nd_of",
    "space_to_depth",
]


def _check_divisible(length: int, by: int, name: str, what: str) -> None:
    if length % by:
        raise ArgumentValueError(f"For '{name}', the {what}, {length}, must be divisible by {by}.")


def _check_factor(value: Any, name: str, least: int = 1) -> int:
    if to_int(value, name) < least:
        raise ArgumentValueError(f"The '{name}' must be at least {least}, but got {value}.")
    return int(value)


@op("ops", dtype=SAME)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange channels into space: r * r fewer channels, height and width times r."""
    factor = _check_factor(upscale_factor, "upscale_factor")
    if input.ndim < 3:
        raise ArgumentValueError(
            f"For 'pixel_shuffle', the input must have at least 3 axes, but got {input.ndim}."
        )
    _check_divisible(input.shape[-3], factor**2, "pixel_shuffle", "number of channels")
    return F.pixel_shuffle(input, factor)


@op("ops", dtype=SAME)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange blocks of space into channels: the inverse of `pixel_shuffle`."""
    factor = _check_factor(downscale_factor, "downscale_factor")
    if input.ndim < 3:
        raise ArgumentValueError(
            f"For 'pixel_unshuffle', the input must have at least 3 axes, but got {input.ndim}."
        )
    for axis in (-1, -2):
        _check_divisible(input.shape[axis], factor, "pixel_unshuffle", "height and width")
    return F.pixel_unshuffle(input, factor)


def _check_image(x: Tensor, name: str) -> Tensor:
    if x.ndim != 4:
        raise ArgumentValueError(f"For '{name}', the input must have the 4 axes NCHW, but got {x.ndim}.")
    return x


@op(dtype=SAME)
def space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """Rearrange blocks of space into channels: position in the block is the slow index, channel the fast one."""
    size = _check_factor(block_size, "block_size", 2)
    batch, channels, height, width = _check_image(x, "SpaceToDepth").shape
    for length in (height, width):
        _check_divisible(length, size, "SpaceToDepth", "height and width")
    parts = x.reshape(batch, channels, height // size, size, width // size, size)
    return parts.permute(0, 3, 5, 1, 2, 4).reshape(batch, -1, height // size, width // size)


@op(dtype=SAME)
def depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """Rearrange channels into blocks of space: the inverse of `SpaceToDepth`."""
    size = _check_factor(block_size, "block_size", 2)
    batch, channels, height, width = _check_image(x, "DepthToSpace").shape
    _check_divisible(channels, size**2, "DepthToSpace", "number of channels")
    parts = x.reshape(batch, size, size, channels // size**2, height, width)
    return parts.permute(0, 3, 4, 1, 5, 2).reshape(batch, -1, height * size, width * size)


def _parse_pairs(value: Any, count: int, name: str) -> list[tuple[int, ...]]:
    pairs = [to_shape(pair) for pair in (to_python_list(value) if isinstance(value, Tensor) else value)]
    if len(pairs) != count or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ArgumentValueError(
            f"For '{name}', there must be a pair of ints >= 0 for each of {count} axes: {pairs}."
        )
    return pairs


def _parse_block(value: Any, x: Tensor, name: str) -> tuple[int, ...]:
    """Block length along each of the last axes."""
    block_sizes = to_shape(value)
    if len(block_sizes) == 1:
        block_sizes = block_sizes * 2
    if x.ndim < len(block_sizes) + 1 or min(block_sizes) < 1:
        raise ArgumentValueError(
            f"For '{name}', blocks of {block_sizes} do not fit a tensor of shape {tuple(x.shape)}."
        )
    return block_sizes


def _to_batch(x: Tensor, block: Any, paddings: Any, name: str) -> Tensor:
    shape = _parse_block(block, x, name)
    count = len(shape)
    width = [each for pair in reversed(_parse_pairs(paddings, count, name)) for each in pair]
    x = F.pad(x, width)
    kept, space = list(x.shape[: x.ndim - count]), list(x.shape[x.ndim - count :])
    for length, size in zip(space, shape):
        _check_divisible(length, size, name, "padded length")
    parts = x.reshape(kept + [each for pair in zip(space, shape) for each in (pair[0] // pair[1], pair[1])])
    first = len(kept)
    order = (
        [first + 1 + 2 * n for n in range(count)] + list(range(first)) + [first + 2 * n for n in range(count)]
    )
    shape_out = [
        kept[0] * math.prod(shape),
        *kept[1:],
        *(length // size for length, size in zip(space, shape)),
    ]
    return parts.permute(order).reshape(shape_out)


def _from_batch(x: Tensor, block: Any, crops: Any, name: str) -> Tensor:
    shape = _parse_block(block, x, name)
    count, product = len(shape), math.prod(shape)
    cuts = _parse_pairs(crops, count, name)
    _check_divisible(x.shape[0], product, name, "length of the batch")
    kept, space = [x.shape[0] // product, *x.shape[1 : x.ndim - count]], list(x.shape[x.ndim - count :])
    parts = x.reshape([*shape, *kept, *space])
    first = count + len(kept)
    order = list(range(count, first)) + [axis for n in range(count) for axis in (first + n, n)]
    merged = parts.permute(order).reshape([*kept, *(length * size for length, size in zip(space, shape))])
    for axis, (before, after) in enumerate(cuts, len(kept)):
        length = merged.shape[axis] - before - after
        if length < 0:
            raise ArgumentValueError(f"For '{name}', the crops {cuts} are more than there is.")
        merged = merged.narrow(axis, before, length)
    return merged


@op("ops", dtype=SAME)
def space_to_batch_nd(input_x: Tensor, block_size: Any, paddings: Any) -> Tensor:
    """Pad the last axes and rearrange blocks of them into the batch axis."""
    return _to_batch(input_x, block_size, paddings, "SpaceToBatchND")


@op(dtype=SAME)
def space_to_batch_nd_of(input_x: Tensor, block_shape: Any, paddings: Any) -> Tensor:
    """Pad the last axes and rearrange blocks of them into the batch axis."""
    return _to_batch(input_x, block_shape, paddings, "SpaceToBatchND")


@op("ops", dtype=SAME)
def batch_to_space_nd(input_x: Tensor, block_shape: Any, crops: Any) -> Tensor:
    """Rearrange the batch axis into blocks of the last axes, then crop these."""
    return _from_batch(input_x, block_shape, crops, "BatchToSpaceND")


@op(dtype=SAME)
def space_to_batch(x: Tensor, block_size: int, paddings: Any) -> Tensor:
    """Pad height and width and rearrange blocks of them into the batch axis."""
    return _to_batch(
        _check_image(x, "SpaceToBatch"), _check_factor(block_size, "block_size", 2), paddings, "SpaceToBatch"
    )


@op(dtype=SAME)
def batch_to_space(x: Tensor, block_size: int, crops: Any) -> Tensor:
    """Rearrange the batch axis into blocks of height and width, then crop these."""
    return _from_batch(
        _check_image(x, "BatchToSpace"), _check_factor(block_size, "block_size", 2), crops, "BatchToSpace"
    )


@op("ops", dtype=SAME)
def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Interleave the channels of groups."""
    return _shuffle_channels(x, groups)


@op(dtype=SAME)
def shuffle_channels(x: Tensor, group: int) -> Tensor:
    """Interleave the channels of groups."""
    return _shuffle_channels(x, group)


def _shuffle_channels(x: Tensor, groups: int) -> Tensor:
    if x.ndim < 3 or _check_factor(groups, "groups") < 1:
        raise ArgumentValueError(
            f"For 'channel_shuffle', the input must have 3 axes at least, but got {x.ndim}."
        )
    _check_divisible(x.shape[1], groups, "channel_shuffle", "number of channels")
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return parts.transpose(1, 2).reshape(x.shape)


SpaceToDepth = primitive("SpaceToDepth", space_to_depth, init=("block_size",))
DepthToSpace = primitive("DepthToSpace", depth_to_space, init=("block_size",))
SpaceToBatch = primitive("SpaceToBatch", space_to_batch, init=("block_size", "paddings"))
BatchToSpace = primitive("BatchToSpace", batch_to_space, init=("block_size", "crops"))
SpaceToBatchND = primitive("SpaceToBatchND", space_to_batch_nd_of, init=("block_shape", "paddings"))
BatchToSpaceND = primitive("BatchToSpaceND", batch_to_space_nd, init=("block_shape", "crops"))
BatchToSpaceNDV2 = primitive("BatchToSpaceNDV2", batch_to_space_nd, init=())
ChannelShuffle = primitive("ChannelShuffle", shuffle_channels, init=("group",))

export_names(__name__, "mint.nn.functional", "pixel_shuffle")
