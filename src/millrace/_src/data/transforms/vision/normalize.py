"""Flip, normalize, rescale, pad, type conversion, and conversion between arrays and Pillow images."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.core.settings import Settings
from millrace._src.data.kernels.vision import batch_kernels as many
from millrace._src.data.kernels.vision import geometry
from millrace._src.data.kernels.vision import normalize as layout
from millrace._src.data.kernels.vision.enums import Border
from millrace._src.data.kernels.vision.validation import as_array, is_pil
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    DataType,
    Probability,
    check_interval,
    data_type,
)
from millrace._src.data.transforms.base import FusedTransform, Transform
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation, TensorOperation

from .argument_types import FillValue, Padding, as_padding, as_pair, as_triple
from .fused_normalize import FusedNormalizeToCHW

__all__ = [
    "HWC2CHW",
    "HorizontalFlip",
    "Normalize",
    "NormalizePad",
    "Pad",
    "PadToSize",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Rescale",
    "ToNumpy",
    "ToPIL",
    "ToTensor",
    "ToType",
    "VerticalFlip",
]


@public("dataset.vision", "dataset.vision.c_transforms")
class HorizontalFlip(ImageTensorOperation):
    """Flip an image horizontally.

    >>> HorizontalFlip()(np.array([[1, 2]], np.uint8)).tolist()
    [[2, 1]]
    """

    def row(self, x: Any) -> Any:
        return geometry.flip(as_array(x), across=True, op="HorizontalFlip")

    def batch(self, xs: Any) -> Any:
        return many.flip(xs, across=True, op="HorizontalFlip")


@public("dataset.vision", "dataset.vision.c_transforms")
class VerticalFlip(ImageTensorOperation):
    """Flip an image vertically.

    >>> VerticalFlip()(np.array([[1], [2]], np.uint8)).tolist()
    [[2], [1]]
    """

    def row(self, x: Any) -> Any:
        return geometry.flip(as_array(x), across=False, op="VerticalFlip")

    def batch(self, xs: Any) -> Any:
        return many.flip(xs, across=False, op="VerticalFlip")


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomHorizontalFlip(ImageTensorOperation):
    """Flip an image horizontally, with a given probability.

    >>> RandomHorizontalFlip(1.0)(np.array([[1, 2]], np.uint8)).tolist()
    [[2, 1]]
    """

    random = True

    @checked
    def __init__(self, prob: Probability = 0.5) -> None:
        self.prob = prob

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.bernoulli(0, self.prob),)

    def row(self, x: Any, apply: bool) -> Any:
        return geometry.flip(x, across=True, op="RandomHorizontalFlip") if apply else x

    def batch(self, xs: Any, apply: Any) -> Any:
        return many.flip(xs, apply, across=True, op="RandomHorizontalFlip")


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomVerticalFlip(RandomHorizontalFlip, ours=True):
    """Flip an image vertically, with a given probability.

    >>> RandomVerticalFlip(1.0)(np.array([[1], [2]], np.uint8)).tolist()
    [[2], [1]]
    """

    def row(self, x: Any, apply: bool) -> Any:
        return geometry.flip(x, across=False, op="RandomVerticalFlip") if apply else x

    def batch(self, xs: Any, apply: Any) -> Any:
        return many.flip(xs, apply, across=False, op="RandomVerticalFlip")


def check_mean_std(mean: Any, std: Any) -> None:
    """Raise an error unless mean and std are two lists of equal length with numbers in range."""
    check_type(mean, (list, tuple), "mean")
    check_type(std, (list, tuple), "std")
    if len(mean) != len(std):
        raise ArgumentValueError("Length of mean and std must be equal.")
    for i, value in enumerate(mean):
        check_type(value, (int, float), f"mean[{i}]")
        check_interval(value, 0, 255, f"mean[{i}]")
    for i, value in enumerate(std):
        check_type(value, (int, float), f"std[{i}]")
        check_interval(value, 0, 255, f"std[{i}]", left_open=True)


@public("dataset.vision", "dataset.vision.c_transforms")
class Normalize(ImageTensorOperation):
    """Normalize an image: (x - mean) / std for each channel, in float32.

    >>> Normalize([1.0], [2.0])(np.array([[5]], np.uint8)).tolist()
    [[2.0]]
    """

    def __init__(self, mean: Any, std: Any, is_hwc: bool = True) -> None:
        check_mean_std(mean, std)
        check_type(is_hwc, (bool,), "is_hwc")
        self.mean, self.std, self.is_hwc = tuple(mean), tuple(std), is_hwc

    def fuse(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        if self.is_hwc and following and type(following[0]) is HWC2CHW:
            return FusedNormalizeToCHW(self, following[0])
        return None

    def row(self, x: Any) -> Any:
        return layout.normalize(x, self.mean, self.std, self.is_hwc)

    def batch(self, xs: Any) -> Any:
        return many.normalize(xs, self.mean, self.std) if self.is_hwc else None


@public("dataset.vision", "dataset.vision.c_transforms")
class NormalizePad(ImageTensorOperation):
    """Normalize an image and append one channel of zeros.

    MindSpore 2.7.0 stores the channels of <H,W,C> in a wrong order here; Millrace does not.

    >>> NormalizePad([1.0], [2.0])(np.array([[[5]]], np.uint8)).tolist()
    [[[2.0, 0.0]]]
    """

    def __init__(self, mean: Any, std: Any, dtype: str = "float32", is_hwc: bool = True) -> None:
        check_mean_std(mean, std)
        check_type(is_hwc, (bool,), "is_hwc")
        if not isinstance(dtype, str):
            raise ArgumentTypeError("dtype should be string.")
        if dtype not in ("float32", "float16"):
            raise ArgumentValueError("dtype only supports float32 or float16.")
        self.mean, self.std, self.dtype, self.is_hwc = tuple(mean), tuple(std), dtype, is_hwc

    def row(self, x: Any) -> Any:
        return layout.normalize_pad(x, self.mean, self.std, self.dtype, self.is_hwc)


def _check_number(name: str, value: Any) -> None:
    check_type(value, (numbers.Number,), name)
    check_type(value, (float, int), name)
    check_interval(value, -FLOAT_MAX, FLOAT_MAX, name)


@public("dataset.vision", "dataset.vision.c_transforms")
class Rescale(ImageTensorOperation):
    """Rescale an image: x * rescale + shift, in float32.

    >>> Rescale(2.0, 1.0)(np.array([[5]], np.uint8)).tolist()
    [[11.0]]
    """

    @checked
    def __init__(
        self,
        rescale: Annotated[Any, ArgumentRule(_check_number)],
        shift: Annotated[Any, ArgumentRule(_check_number)],
    ) -> None:
        self.rescale, self.shift = rescale, shift

    def row(self, x: Any) -> Any:
        if self.rescale < 0:
            raise DataError(f"Rescale: rescale must be greater than or equal to 0, got: {self.rescale}")
        return layout.rescale(x, self.rescale, self.shift)

    def batch(self, xs: Any) -> Any:
        return many.rescale(xs, self.rescale, self.shift)


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class HWC2CHW(ImageTensorOperation):
    """Transpose an image from <H,W,C> to <C,H,W>.

    >>> HWC2CHW()(np.zeros((4, 5, 3), np.uint8)).shape
    (3, 4, 5)
    """

    def row(self, x: Any) -> Any:
        return layout.hwc_to_chw(x)

    def batch(self, xs: Any) -> Any:
        return many.hwc_to_chw(xs)


@public("dataset.vision")
class ToTensor(ImageTensorOperation):
    """Convert an image to channels first, divided by 255, as float32 or another type.

    >>> ToTensor()(np.full((1, 1, 3), 255, np.uint8)).tolist()
    [[[1.0]], [[1.0]], [[1.0]]]
    """

    @checked
    def __init__(self, output_type: DataType = np.float32) -> None:
        self.output_type = data_type(output_type).name

    def row(self, x: Any) -> Any:
        return layout.to_tensor(x, np.dtype(self.output_type))

    def batch(self, xs: Any) -> Any:
        return many.to_tensor(xs, np.dtype(self.output_type))


@public("dataset.vision")
class ToNumpy(TensorOperation):
    """Convert a Pillow image to an array.

    >>> import PIL.Image
    >>> ToNumpy()(PIL.Image.new("RGB", (8, 6))).shape
    (6, 8, 3)
    """

    _family = "vision"

    def row(self, x: Any) -> Any:
        return np.array(x) if is_pil(x) else x


@public("dataset.vision", "dataset.vision.py_transforms")
class ToPIL(ImageTensorOperation):
    """Convert an array to a Pillow image.

    >>> ToPIL()(np.zeros((6, 8, 3), np.uint8)).size
    (8, 6)
    """

    runs_in_python = True

    def row(self, x: Any) -> Any:
        return layout.to_pil(x)

    def as_input(self, value: Any) -> Any:
        return value


@public("dataset.vision", "dataset.vision.py_transforms")
class ToType(TensorOperation):
    """Convert an array to another type.

    >>> ToType(np.float32)(np.array([1, 2])).dtype
    dtype('float32')
    """

    _family = "vision"

    @checked
    def __init__(self, data_type: DataType) -> None:
        self.data_type = data_type

    def row(self, x: Any) -> Any:
        return layout.cast(x, data_type(self.data_type))


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class Pad(ImageTensorOperation):
    """Pad an image on all sides: one width, (left/right, top/bottom), or (left, top, right, bottom).

    >>> Pad(1)(np.zeros((2, 2, 3), np.uint8)).shape
    (4, 4, 3)
    """

    @checked
    def __init__(
        self, padding: Padding, fill_value: FillValue = 0, padding_mode: Border = Border.CONSTANT
    ) -> None:
        self.padding, self.fill_value = as_padding(padding), as_triple(fill_value)
        self.padding_mode = padding_mode

    def row(self, x: Any) -> Any:
        return geometry.pad(x, self.padding, self.fill_value, self.padding_mode)


def _check_target(name: str, value: Any) -> None:
    check_type(value, (int, list, tuple), name)
    if not isinstance(value, int) and len(value) != 2:
        raise ArgumentValueError("The size must be a sequence of length 2.")
    for i, item in [("", value)] if isinstance(value, int) else enumerate(value):
        check_type(item, (int,), f"{name}{i}")
        check_interval(item, 1, 2**31 - 1, f"{name}{i}")


def _check_offset(name: str, value: Any) -> None:
    check_type(value, (int, list, tuple), name)
    if not isinstance(value, int) and len(value) not in (0, 2):
        raise ArgumentValueError("The offset must be empty or a sequence of length 2.")
    for i, item in [("", value)] if isinstance(value, int) else enumerate(value):
        check_type(item, (int,), f"{name}{i}")
        check_interval(item, 0, 2**31 - 1, f"{name}{i}")


@public("dataset.vision")
class PadToSize(ImageTensorOperation):
    """Pad an image to a given size; the image lies at the offset, or in the center.

    >>> PadToSize((4, 6))(np.zeros((2, 2, 3), np.uint8)).shape
    (4, 6, 3)
    """

    @checked
    def __init__(
        self,
        size: Annotated[Any, ArgumentRule(_check_target)],
        offset: Annotated[Any, ArgumentRule(_check_offset)] = None,
        fill_value: FillValue = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size = as_pair(size)
        self.offset = None if offset is None or offset == [] or offset == () else as_pair(offset)
        self.fill_value, self.padding_mode = as_triple(fill_value), padding_mode

    def row(self, x: Any) -> Any:
        return geometry.pad_to_size(x, self.size, self.offset, self.fill_value, self.padding_mode)
