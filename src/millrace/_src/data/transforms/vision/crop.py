"""Resize, crop, and slice transforms, fixed and random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import INT32_MAX, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision import geometry
from millrace._src.data.kernels.vision.enums import Border, Inter, SliceMode
from millrace._src.data.kernels.vision.geometry import crop_and_resize
from millrace._src.data.kernels.vision.resize import resize
from millrace._src.data.kernels.vision.validation import as_array, is_pil
from millrace._src.data.transforms.argument_types import (
    ArgumentRule,
    NonNegativeInt,
    PositiveInt,
    Range,
    check_interval,
)
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation

from .argument_types import (
    CropSize,
    FillValue,
    Padding,
    Ratio,
    ResizeSize,
    Scale,
    as_padding,
    as_pair,
    as_triple,
)

__all__ = [
    "CenterCrop",
    "Crop",
    "FiveCrop",
    "RandomCrop",
    "RandomResize",
    "RandomResizedCrop",
    "Resize",
    "ResizedCrop",
    "SlicePatches",
    "TenCrop",
    "crop_and_resize",
    "sample_crop_params",
    "choose_crop_box",
]


def size_of(x: Any) -> tuple[int, int]:
    """(height, width) of an image, a batch of them or a Pillow image."""
    if is_pil(x):
        return x.size[1], x.size[0]
    if x.ndim < 2:
        raise DataError(
            f"input tensor should have at least 2 dimensions, but got: {x.ndim}. Encoded images need Decode() first."
        )
    return (x.shape[0], x.shape[1]) if x.ndim == 2 else (x.shape[-3], x.shape[-2])


def random_offset(unit: float, max_offset: int) -> int:
    """A position in [0, max_offset] from a random number in [0, 1)."""
    return min(int(unit * (max_offset + 1)), max_offset)


def sample_crop_params(rng: RandomStream, scale: Any, ratio: Any, attempts: int) -> Any:
    """Random parameters of a crop for each row: area shares and ratios to try, and two numbers for the position."""
    attempts = min(attempts, 64)  # after 64 failed attempts, further ones fail too
    shares = rng.uniforms(range(0, 2 * attempts, 2), scale[0], scale[1])
    ratios = np.exp(rng.uniforms(range(1, 2 * attempts, 2), math.log(ratio[0]), math.log(ratio[1])))
    # Python floats: scalar arithmetic with NumPy's takes three times as long
    return np.concatenate([rng.uniforms(range(1000, 1002)), shares, ratios], axis=1).tolist()


def round_half_up(x: float) -> int:
    """Round to the nearest integer; a half is rounded up, as in C."""
    return math.floor(x + 0.5)


def choose_crop_box(
    crop_params: Any, ratio: Any, height: int, width: int, nearest: Callable[[float], int] = round_half_up
) -> tuple[int, int, int, int]:
    """(top, left, height, width): the first attempt that fits, else the largest central box within the ratios."""
    attempts = (len(crop_params) - 2) // 2
    for share, aspect in zip(crop_params[2 : 2 + attempts], crop_params[2 + attempts :]):
        wide = nearest(math.sqrt(height * width * share * aspect))
        tall = nearest(wide / aspect)
        if 0 < wide <= width and 0 < tall <= height:
            return (
                random_offset(crop_params[0], height - tall),
                random_offset(crop_params[1], width - wide),
                tall,
                wide,
            )
    wide, tall = width, height
    if width / height < ratio[0]:
        tall = nearest(width / ratio[0])
    elif width / height > ratio[1]:
        wide = nearest(height * ratio[1])
    return nearest((height - tall) / 2.0), nearest((width - wide) / 2.0), tall, wide


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class Resize(ImageTensorOperation):
    """Resize an image to (height, width), or its shorter side to one length.

    Equals MindSpore's bit for bit for uint8, except with CUBIC: there up to 7 % of the values differ by 1. Floats
    differ by up to 1e-6, uint16 and int16 by 1 in 1 %. OpenCV 5's vector code sums in another order than MindSpore's
    OpenCV 4.5.

    >>> Resize((4, 6))(np.zeros((8, 8, 3), np.uint8)).shape, Resize(4)(np.zeros((8, 16), np.uint8)).shape
    ((4, 6, 3), (4, 8))
    """

    @checked
    def __init__(self, size: ResizeSize, interpolation: Inter = Inter.LINEAR) -> None:
        self.size, self.interpolation = size, interpolation

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return self.interpolation is Inter.ANTIALIAS

    def row(self, x: Any) -> Any:
        return resize(x, self.size, self.interpolation)


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomResize(ImageTensorOperation):
    """Resize an image with a random interpolation for each image.

    >>> RandomResize((4, 6))(np.zeros((8, 8, 3), np.uint8)).shape
    (4, 6, 3)
    """

    random = True
    _INTERPOLATIONS = (Inter.LINEAR, Inter.NEAREST, Inter.CUBIC, Inter.AREA)

    @checked
    def __init__(self, size: ResizeSize) -> None:
        self.size = size

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.integers(0, 0, len(self._INTERPOLATIONS)),)

    def row(self, x: Any, choice: int) -> Any:
        return resize(as_array(x), self.size, self._INTERPOLATIONS[choice], "RandomResize")


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class CenterCrop(ImageTensorOperation):
    """Crop the center of an image; a smaller image is padded with zeros.

    >>> CenterCrop(4)(np.zeros((8, 6, 3), np.uint8)).shape
    (4, 4, 3)
    """

    @checked
    def __init__(self, size: CropSize) -> None:
        self.size = as_pair(size)

    def row(self, x: Any) -> Any:
        return geometry.center_crop(x, *self.size)


def _check_coordinates(name: str, value: Any) -> None:
    check_type(value, (list, tuple), name)
    if len(value) != 2:
        raise ArgumentTypeError("Coordinates should be a list/tuple (y, x) of length 2.")
    for i, item in enumerate(value):
        check_type(item, (int,), f"{name}[{i}]")
        check_interval(item, 0, INT32_MAX, f"{name}[{i}]")


@public("dataset.vision", "dataset.vision.c_transforms")
class Crop(ImageTensorOperation):
    """Crop a part of an image of a given size that begins at (y, x).

    >>> Crop((1, 2), (3, 4))(np.zeros((8, 8), np.uint8)).shape
    (3, 4)
    """

    @checked
    def __init__(self, coordinates: Annotated[Any, ArgumentRule(_check_coordinates)], size: CropSize) -> None:
        self.coordinates, self.size = tuple(coordinates), as_pair(size)

    def row(self, x: Any) -> Any:
        x = as_array(x)
        geometry.check_image("Crop", x)
        (top, left), (height, width) = self.coordinates, self.size
        return geometry.crop(x, top, left, height, width)


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomCrop(ImageTensorOperation):
    """Crop a part of an image of a given size at a random position, after padding.

    >>> RandomCrop(4, padding=1)(np.zeros((8, 8, 3), np.uint8)).shape
    (4, 4, 3)
    """

    random = True

    @checked
    def __init__(
        self,
        size: CropSize,
        padding: Padding | None = None,
        pad_if_needed: bool = False,
        fill_value: FillValue = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size, self.padding = as_pair(size), (0, 0, 0, 0) if padding is None else as_padding(padding)
        self.pad_if_needed, self.fill_value = pad_if_needed, as_triple(fill_value)
        self.padding_mode = padding_mode

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return rng.uniform(0), rng.uniform(1)

    def row(self, x: Any, down: float, right: float) -> Any:
        x = self.padded(x)
        rows, columns = size_of(x)
        height, width = self.size
        return geometry.crop(
            x, random_offset(down, rows - height), random_offset(right, columns - width), height, width
        )

    def padded(self, x: Any) -> Any:
        """The padded image, at least as large as the crop."""
        height, width = self.size
        rows, columns = size_of(x)
        left, top, right, bottom = self.padding
        if not is_pil(x) and (max(left, right) > 3 * columns or max(top, bottom) > 3 * rows):
            raise DataError(
                f"RandomCrop: padding size is three times bigger than the image size, padding: {self.padding}, "
                f"image: {(rows, columns)}."
            )
        if any(self.padding) or not is_pil(x):
            x = self._pad(x, self.padding)
            rows, columns = size_of(x)
        if self.pad_if_needed and columns < width:
            x = self._pad(x, (width - columns, 0, width - columns, 0))
        if self.pad_if_needed and rows < height:
            x = self._pad(x, (0, height - rows, 0, height - rows))
        rows, columns = size_of(x)
        if rows < height or columns < width:
            if is_pil(x):
                raise ArgumentValueError(
                    f"Crop size {self.size} is larger than input image size {(rows, columns)}."
                )
            raise DataError(
                "RandomCrop: invalid crop size, crop size is bigger than the image dimensions, got crop height: "
                f"{height}, crop width: {width} for an image of {rows} x {columns}."
            )
        return x

    def _pad(self, x: Any, padding: tuple[int, int, int, int]) -> Any:
        if is_pil(x) or x.ndim <= 3:
            return geometry.pad(x, padding, self.fill_value, self.padding_mode, copy=False)
        return np.stack([self._pad(image, padding) for image in x])


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomResizedCrop(ImageTensorOperation):
    """Crop a part of an image with a random area and aspect ratio, and resize it to a given size.

    For the same part the pixels equal those of Crop and Resize, and differ from MindSpore's where Resize does.

    >>> RandomResizedCrop(4)(np.zeros((8, 8, 3), np.uint8)).shape
    (4, 4, 3)
    """

    random = True

    @checked
    def __init__(
        self,
        size: CropSize,
        scale: Scale = (0.08, 1.0),
        ratio: Ratio = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: PositiveInt = 10,
    ) -> None:
        self.size, self.scale, self.ratio = as_pair(size), tuple(scale), tuple(ratio)
        self.interpolation, self.max_attempts = interpolation, max_attempts

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return self.interpolation is Inter.ANTIALIAS

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (sample_crop_params(rng, self.scale, self.ratio, self.max_attempts),)

    def row(self, x: Any, crop_params: Any) -> Any:
        box = choose_crop_box(crop_params, self.ratio, *size_of(x), round if is_pil(x) else round_half_up)
        return crop_and_resize(x, box, self.size, self.interpolation, "RandomResizedCrop")


@public("dataset.vision")
class ResizedCrop(ImageTensorOperation):
    """Crop a given part of an image and resize it to a given size.

    It differs from MindSpore's where Resize does.

    >>> ResizedCrop(0, 0, 4, 4, (2, 3))(np.zeros((8, 8, 3), np.uint8)).shape
    (2, 3, 3)
    """

    @checked
    def __init__(
        self,
        top: NonNegativeInt,
        left: NonNegativeInt,
        height: PositiveInt,
        width: PositiveInt,
        size: CropSize,
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:
        self.top, self.left, self.height, self.width = top, left, height, width
        self.size, self.interpolation = as_pair(size), interpolation

    def row(self, x: Any) -> Any:
        box = (self.top, self.left, self.height, self.width)
        return crop_and_resize(as_array(x), box, self.size, self.interpolation, "ResizedCrop")


@public("dataset.vision", "dataset.vision.py_transforms")
class FiveCrop(ImageTensorOperation):
    """Crop the four corners and the center of a Pillow image, as five Pillow images.

    >>> import PIL.Image
    >>> [part.size for part in FiveCrop(3)(PIL.Image.new("RGB", (8, 6)))]
    [(3, 3), (3, 3), (3, 3), (3, 3), (3, 3)]
    """

    runs_in_python = True

    @checked
    def __init__(self, size: CropSize) -> None:
        self.size = as_pair(size)

    def row(self, x: Any) -> Any:
        return geometry.five_crop(x, *self.size, "FiveCrop")


@public("dataset.vision", "dataset.vision.py_transforms")
class TenCrop(ImageTensorOperation):
    """Crop the four corners and the center of a Pillow image and of its flipped image, as ten Pillow images.

    >>> import PIL.Image
    >>> len(TenCrop(3)(PIL.Image.new("RGB", (8, 6))))
    10
    """

    runs_in_python = True

    @checked
    def __init__(self, size: CropSize, use_vertical_flip: bool | None = False) -> None:
        self.size, self.use_vertical_flip = as_pair(size), use_vertical_flip

    def row(self, x: Any) -> Any:
        first = geometry.five_crop(x, *self.size, "TenCrop")
        flipped = geometry.flip(x, across=not self.use_vertical_flip, op="TenCrop")
        return first + geometry.five_crop(flipped, *self.size, "TenCrop")


@public("dataset.vision", "dataset.vision.c_transforms")
class SlicePatches(ImageTensorOperation):
    """Slice an image into equal patches, row by row; a remainder is padded or dropped.

    >>> [part.shape for part in SlicePatches(1, 2)(np.zeros((4, 5, 3), np.uint8))]
    [(4, 3, 3), (4, 3, 3)]
    """

    @checked
    def __init__(
        self,
        num_height: Annotated[int, Range(1, INT32_MAX)] = 1,
        num_width: Annotated[int, Range(1, INT32_MAX)] = 1,
        slice_mode: SliceMode = SliceMode.PAD,
        fill_value: Annotated[int, Range(0, 255)] = 0,
    ) -> None:
        self.num_height, self.num_width, self.slice_mode = num_height, num_width, slice_mode
        self.fill_value = fill_value

    def row(self, x: Any) -> Any:
        parts = geometry.slice_patches(x, self.num_height, self.num_width, self.slice_mode, self.fill_value)
        return parts if len(parts) > 1 else parts[0]
