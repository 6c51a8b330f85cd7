"""Image layers: SSIM, PSNR, gradients, pixel shuffle, cropping."""

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
from .argument_types import check_argument_type, check_int, check_number
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
    """Image gradients: differences to the next row and to the next column of (N, C, H, W)."""

    def construct(self, images: Any) -> Any:
        return layers_more.image_gradients(images)


def _check_positive(value: Any, name: str, owner: str) -> float:
    check_number(value, name, owner)
    if value <= 0:
        raise ArgumentValueError(f"For '{owner}', the argument '{name}' must > 0.0, but got {value}.")
    return float(value)


def _gaussian_window(size: int, sigma: float) -> Tensor:
    """A normalized Gaussian window of size x size pixels."""
    offsets = np.arange(size) - (size - 1) / 2
    squares = -(offsets[:, None] ** 2 + offsets[None] ** 2) / (2 * sigma**2)
    bell = np.exp(squares - squares.max())
    return Tensor((bell / bell.sum()).astype(np.float32)[None, None])


class _SSIMBase(Cell):
    """Base class of SSIM and MSSSIM."""

    def _set_options(
        self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float
    ) -> None:
        owner = type(self).__name__
        self.max_val = _check_positive(max_val, "max_val", owner)
        self.filter_size = check_int(filter_size, "filter_size", owner, 1)
        self.filter_sigma = _check_positive(filter_sigma, "filter_sigma", owner)
        self.k1, self.k2 = check_number(k1, "k1", owner), check_number(k2, "k2", owner)

    def _blur(self) -> Conv2d:
        size = self.filter_size
        blur = Conv2d(1, 1, size, pad_mode="valid", weight_init=_gaussian_window(size, self.filter_sigma))
        blur.weight.requires_grad = False
        return blur


@public("nn")
class SSIM(_SSIMBase):
    """Structural similarity of two batches of images, one number per pair."""

    def __init__(
        self,
        max_val: float = 1.0,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__()
        self._set_options(max_val, filter_size, filter_sigma, k1, k2)
        self.conv = self._blur()

    def construct(self, img1: Any, img2: Any) -> Any:
        return layers_more.ssim(img1, img2, self.conv.weight, self.max_val, self.k1, self.k2)


@public("nn")
class MSSSIM(_SSIMBase):
    """Multi-scale structural similarity; `power_factors` are the exponents of the scales."""

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
        self._set_options(max_val, filter_size, filter_sigma, k1, k2)
        check_argument_type(power_factors, "power_factors", "MSSSIM", tuple, list)
        self.power_factors = tuple(power_factors)
        self.multi_convs_list = CellList([self._blur() for _ in power_factors])
        self.avg_pool, self.relu = AvgPool2d(2, 2), ReLU()

    def construct(self, img1: Any, img2: Any) -> Any:
        weight = self.multi_convs_list[0].weight
        return layers_more.ms_ssim(img1, img2, weight, self.power_factors, self.max_val, self.k1, self.k2)


@public("nn")
class PSNR(Cell):
    """Peak signal-to-noise ratio of two batches of images, one number per pair."""

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        self.max_val = _check_positive(max_val, "max_val", "PSNR")

    def construct(self, img1: Any, img2: Any) -> Any:
        return layers_more.psnr(img1, img2, self.max_val)


@public("nn")
class CentralCrop(Cell):
    """Crop the center of (C, H, W) or (N, C, H, W).

    >>> CentralCrop(0.5)(Tensor(np.zeros((3, 8, 8)))).shape
    (3, 4, 4)
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        check_argument_type(central_fraction, "central_fraction", "CentralCrop", float)
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
    """Pixel shuffle: (N, C r r, H, W) to (N, C, H r, W r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Any) -> Any:
        return pixel_shuffle(input, self.upscale_factor)


@public("nn")
class PixelUnshuffle(Cell):
    """Inverse of pixel shuffle: (N, C, H r, W r) to (N, C r r, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Any) -> Any:
        return pixel_unshuffle(input, self.downscale_factor)


@public("nn")
class ChannelShuffle(Cell):
    """Channel shuffle: interleave the channels of several groups."""

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
