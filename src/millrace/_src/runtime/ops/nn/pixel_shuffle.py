"""Space, channels and batch exchanged block by block; windows taken out of images and put back."""

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


def _divides(length: int, by: int, name: str, what: str) -> None:
    if length % by:
        raise ArgumentValueError(f"For '{name}', the {what}, {length}, must be divisible by {by}.")


def _factor(value: Any, name: str, least: int = 1) -> int:
    if to_int(value, name) < least:
        raise ArgumentValueError(f"The '{name}' must be at least {least}, but got {value}.")
    return int(value)


@op("ops", dtype=SAME)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Groups of channels spread over space: channels become r * r fewer, height and width r times longer."""
    factor = _factor(upscale_factor, "upscale_factor")
    if input.ndim < 3:
        raise ArgumentValueError(
            f"For 'pixel_shuffle', the input must have at least 3 axes, but got {input.ndim}."
        )
    _divides(input.shape[-3], factor**2, "pixel_shuffle", "number of channels")
    return F.pixel_shuffle(input, factor)


@op("ops", dtype=SAME)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Blocks of space gathered in channels: what `pixel_shuffle` does, undone."""
    factor = _factor(downscale_factor, "downscale_factor")
    if input.ndim < 3:
        raise ArgumentValueError(
            f"For 'pixel_unshuffle', the input must have at least 3 axes, but got {input.ndim}."
        )
    for axis in (-1, -2):
        _divides(input.shape[axis], factor, "pixel_unshuffle", "height and width")
    return F.pixel_unshuffle(input, factor)


def _image(x: Tensor, name: str) -> Tensor:
    if x.ndim != 4:
        raise ArgumentValueError(f"For '{name}', the input must have the 4 axes NCHW, but got {x.ndim}.")
    return x


@op(dtype=SAME)
def space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """Blocks of space gathered in channels: the place in the block is the slow index, the channel the quick one."""
    size = _factor(block_size, "block_size", 2)
    batch, channels, height, width = _image(x, "SpaceToDepth").shape
    for length in (height, width):
        _divides(length, size, "SpaceToDepth", "height and width")
    parts = x.reshape(batch, channels, height // size, size, width // size, size)
    return parts.permute(0, 3, 5, 1, 2, 4).reshape(batch, -1, height // size, width // size)


@op(dtype=SAME)
def depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """Groups of channels spread over blocks of space: what `SpaceToDepth` does, undone."""
    size = _factor(block_size, "block_size", 2)
    batch, channels, height, width = _image(x, "DepthToSpace").shape
    _divides(channels, size**2, "DepthToSpace", "number of channels")
    parts = x.reshape(batch, size, size, channels // size**2, height, width)
    return parts.permute(0, 3, 4, 1, 5, 2).reshape(batch, -1, height * size, width * size)


def _pairs(value: Any, count: int, name: str) -> list[tuple[int, ...]]:
    found = [to_shape(pair) for pair in (to_python_list(value) if isinstance(value, Tensor) else value)]
    if len(found) != count or any(len(pair) != 2 or min(pair) < 0 for pair in found):
        raise ArgumentValueError(
            f"For '{name}', there must be a pair of ints >= 0 for each of {count} axes: {found}."
        )
    return found


def _blocks(value: Any, x: Tensor, name: str) -> tuple[int, ...]:
    """The block's length along each of the last axes."""
    found = to_shape(value)
    if len(found) == 1:
        found = found * 2
    if x.ndim < len(found) + 1 or min(found) < 1:
        raise ArgumentValueError(
            f"For '{name}', blocks of {found} do not fit a tensor of shape {tuple(x.shape)}."
        )
    return found


def _to_batch(x: Tensor, block: Any, paddings: Any, name: str) -> Tensor:
    shape = _blocks(block, x, name)
    count = len(shape)
    width = [each for pair in reversed(_pairs(paddings, count, name)) for each in pair]
    x = F.pad(x, width)
    kept, space = list(x.shape[: x.ndim - count]), list(x.shape[x.ndim - count :])
    for length, size in zip(space, shape):
        _divides(length, size, name, "padded length")
    parts = x.reshape(kept + [each for pair in zip(space, shape) for each in (pair[0] // pair[1], pair[1])])
    first = len(kept)
    order = (
        [first + 1 + 2 * n for n in range(count)] + list(range(first)) + [first + 2 * n for n in range(count)]
    )
    made = [kept[0] * math.prod(shape), *kept[1:], *(length // size for length, size in zip(space, shape))]
    return parts.permute(order).reshape(made)


def _from_batch(x: Tensor, block: Any, crops: Any, name: str) -> Tensor:
    shape = _blocks(block, x, name)
    count, product = len(shape), math.prod(shape)
    cuts = _pairs(crops, count, name)
    _divides(x.shape[0], product, name, "length of the batch")
    kept, space = [x.shape[0] // product, *x.shape[1 : x.ndim - count]], list(x.shape[x.ndim - count :])
    parts = x.reshape([*shape, *kept, *space])
    first = count + len(kept)
    order = list(range(count, first)) + [axis for n in range(count) for axis in (first + n, n)]
    made = parts.permute(order).reshape([*kept, *(length * size for length, size in zip(space, shape))])
    for axis, (before, after) in enumerate(cuts, len(kept)):
        length = made.shape[axis] - before - after
        if length < 0:
            raise ArgumentValueError(f"For '{name}', the crops {cuts} are more than there is.")
        made = made.narrow(axis, before, length)
    return made


@op("ops", dtype=SAME)
def space_to_batch_nd(input_x: Tensor, block_size: Any, paddings: Any) -> Tensor:
    """The last axes cut into blocks after padding; each place in a block becomes a part of the batch."""
    return _to_batch(input_x, block_size, paddings, "SpaceToBatchND")


@op(dtype=SAME)
def space_to_batch_nd_of(input_x: Tensor, block_shape: Any, paddings: Any) -> Tensor:
    """The last axes cut into blocks after padding; each place in a block becomes a part of the batch."""
    return _to_batch(input_x, block_shape, paddings, "SpaceToBatchND")


@op("ops", dtype=SAME)
def batch_to_space_nd(input_x: Tensor, block_shape: Any, crops: Any) -> Tensor:
    """Parts of the batch spread over blocks of the last axes, which are cropped then."""
    return _from_batch(input_x, block_shape, crops, "BatchToSpaceND")


@op(dtype=SAME)
def space_to_batch(x: Tensor, block_size: int, paddings: Any) -> Tensor:
    """Height and width cut into blocks after padding; each place in a block becomes a part of the batch."""
    return _to_batch(
        _image(x, "SpaceToBatch"), _factor(block_size, "block_size", 2), paddings, "SpaceToBatch"
    )


@op(dtype=SAME)
def batch_to_space(x: Tensor, block_size: int, crops: Any) -> Tensor:
    """Parts of the batch spread over blocks of height and width, which are cropped then."""
    return _from_batch(_image(x, "BatchToSpace"), _factor(block_size, "block_size", 2), crops, "BatchToSpace")


@op("ops", dtype=SAME)
def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The channels of groups interleaved."""
    return _shuffled(x, groups)


@op(dtype=SAME)
def shuffle_channels(x: Tensor, group: int) -> Tensor:
    """The channels of groups interleaved."""
    return _shuffled(x, group)


def _shuffled(x: Tensor, groups: int) -> Tensor:
    if x.ndim < 3 or _factor(groups, "groups") < 1:
        raise ArgumentValueError(
            f"For 'channel_shuffle', the input must have 3 axes at least, but got {x.ndim}."
        )
    _divides(x.shape[1], groups, "channel_shuffle", "number of channels")
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
