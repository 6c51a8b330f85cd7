"""Layers about images."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.image import crop
from millrace._src.runtime.ops.image import quality as layers_more
from millrace._src.runtime.ops.nn.pixel_shuffle import channel_shuffle, pixel_shuffle, pixel_unshuffle

from .activation import ParameterlessCell, ReLU
from .argument_types import check_int, check_kind, check_number
from .cell import Cell
from .containers import CellList
from .conv import Conv2d
from .pooling import AvgPool2d

__all__ = [
    "MSSSIM",
    "PSNR",
    "SSIM",
    "CentralCrop",
    "ChannelShuffle",
    "ImageGradients",
    "PixelShuffle",
    "PixelUnshuffle",
]


@public("nn")
class ImageGradients(ParameterlessCell):
    """How much each pixel of (N, C, H, W) differs from the one below and from the one to the right."""

    def construct(self, images: Any) -> Any:
        return layers_more.image_gradients(images)


def _above_zero(value: Any, name: str, owner: str) -> float:
    check_number(value, name, owner)
    if value <= 0:
        raise ArgumentValueError(f"For '{owner}', the argument '{name}' must > 0.0, but got {value}.")
    return float(value)


def _window(size: int, sigma: float) -> Tensor:
    """A bell over size x size pixels whose sum is 1."""
    places = np.arange(size) - (size - 1) / 2
    squares = -(places[:, None] ** 2 + places[None] ** 2) / (2 * sigma**2)
    bell = np.exp(squares - squares.max())
    return Tensor((bell / bell.sum()).astype(np.float32)[None, None])


class _SSIMBase(Cell):
    """What SSIM and MSSSIM share."""

    def _keep(self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float) -> None:
        owner = type(self).__name__
        self.max_val = _above_zero(max_val, "max_val", owner)
        self.filter_size = check_int(filter_size, "filter_size", owner, 1)
        self.filter_sigma = _above_zero(filter_sigma, "filter_sigma", owner)
        self.k1, self.k2 = check_number(k1, "k1", owner), check_number(k2, "k2", owner)

    def _blur(self) -> Conv2d:
        size = self.filter_size
        blur = Conv2d(1, 1, size, pad_mode="valid", weight_init=_window(size, self.filter_sigma))
        blur.weight.requires_grad = False
        return blur


@public("nn")
class SSIM(_SSIMBase):
    """The structural similarity of two batches of images: one number for each pair."""

    def __init__(
        self,
        max_val: float = 1.0,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__()
        self._keep(max_val, filter_size, filter_sigma, k1, k2)
        self.conv = self._blur()

    def construct(self, img1: Any, img2: Any) -> Any:
        return layers_more.ssim(img1, img2, self.conv.weight, self.max_val, self.k1, self.k2)


@public("nn")
class MSSSIM(_SSIMBase):
    """The structural similarity over several scales, each of which has a power."""

    def __init__(
        self,
        max_val: float = 1.0,
        power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__()
        self._keep(max_val, filter_size, filter_sigma, k1, k2)
        check_kind(power_factors, "power_factors", "MSSSIM", tuple, list)
        self.power_factors = tuple(power_factors)
        self.multi_convs_list = CellList([self._blur() for _ in power_factors])
        self.avg_pool, self.relu = AvgPool2d(2, 2), ReLU()

    def construct(self, img1: Any, img2: Any) -> Any:
        weight = self.multi_convs_list[0].weight
        return layers_more.ms_ssim(img1, img2, weight, self.power_factors, self.max_val, self.k1, self.k2)


@public("nn")
class PSNR(Cell):
    """The peak signal to noise ratio of two batches of images: one number for each pair."""

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        self.max_val = _above_zero(max_val, "max_val", "PSNR")

    def construct(self, img1: Any, img2: Any) -> Any:
        return layers_more.psnr(img1, img2, self.max_val)


@public("nn")
class CentralCrop(Cell):
    """The middle of (C, H, W) or (N, C, H, W).

    >>> CentralCrop(0.5)(Tensor(np.zeros((3, 8, 8)))).shape
    (3, 4, 4)
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        check_kind(central_fraction, "central_fraction", "CentralCrop", float)
        if not 0 < central_fraction <= 1:
            raise ArgumentValueError(
                "For 'CentralCrop', the 'central_fraction' must be in range of (0.0, 1.0], "
                f"but got {central_fraction} with type 'float'."
            )
        self.central_fraction = central_fraction

    def construct(self, image: Any) -> Any:
        return crop.central_crop(image, self.central_fraction)


@public("nn", "mint.nn")
class PixelShuffle(Cell):
    """Channels as pixels: (N, C r r, H, W) as (N, C, H r, W r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Any) -> Any:
        return pixel_shuffle(input, self.upscale_factor)


@public("nn")
class PixelUnshuffle(Cell):
    """Pixels as channels: (N, C, H r, W r) as (N, C r r, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Any) -> Any:
        return pixel_unshuffle(input, self.downscale_factor)


@public("nn")
class ChannelShuffle(Cell):
    """The channels of several groups, in turn."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        if isinstance(groups, bool) or not isinstance(groups, int):
            raise ArgumentTypeError(
                f"For ChannelShuffle, the param `groups` must be int, but got {type(groups)}."
            )
        if groups < 1:
            raise ArgumentValueError(
                f"For ChannelShuffle, the param `groups` must be larger than 0, but got {groups}."
            )
        self.groups = groups

    def construct(self, x: Any) -> Any:
        return channel_shuffle(x, self.groups)
