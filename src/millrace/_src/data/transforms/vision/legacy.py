"""Transforms whose arguments or results differ in the old modules c_transforms and py_transforms.

The other names of those modules are the current transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.data.kernels.vision import decode as codec
from millrace._src.data.kernels.vision import normalize as layout
from millrace._src.data.kernels.vision.enums import Inter
from millrace._src.data.kernels.vision.resize import resize
from millrace._src.data.kernels.vision.validation import as_array
from millrace._src.data.transforms import compose
from millrace._src.data.transforms.argument_types import DataType, PositiveInt, data_type
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation

from . import decode
from . import erase as erasing
from . import normalize as today
from .argument_types import CropSize, Ratio, ResizeSize, Scale

__all__ = [
    "CDecode",
    "Cutout",
    "PyDecode",
    "PyNormalize",
    "PyNormalizePad",
    "PyToTensor",
    "RgbToBgr",
    "SoftDvppDecodeRandomCropResizeJpeg",
    "SoftDvppDecodeResizeJpeg",
    "not_random",
]


@public("dataset.vision", "dataset.vision.py_transforms")
def not_random(func: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as deterministic: it uses no random numbers.

    >>> not_random(lambda x: x * 2).random
    False
    """
    return compose.not_random(func)


@public("dataset.vision.c_transforms:Decode")
class CDecode(decode.Decode, ours=True):
    """c_transforms.Decode: decode to an array; ``rgb`` must be True, as arrays are RGB.

    >>> CDecode().to_pil
    False
    """

    @checked
    def __init__(self, rgb: bool = True) -> None:
        if not rgb:
            raise ArgumentTypeError("Decode gives RGB: use ConvertColor for another order of the channels.")
        super().__init__(False)


@public("dataset.vision.py_transforms:Decode")
class PyDecode(decode.Decode, ours=True):
    """py_transforms.Decode: decode to a Pillow image.

    >>> PyDecode().to_pil
    True
    """

    def __init__(self) -> None:
        super().__init__(True)


@public("dataset.vision.py_transforms:Normalize")
class PyNormalize(today.Normalize, ours=True):
    """py_transforms.Normalize: normalize floats with channels first.

    >>> PyNormalize([0.5], [0.5]).is_hwc
    False
    """

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean, std, False)


@public("dataset.vision.py_transforms:NormalizePad")
class PyNormalizePad(today.NormalizePad, ours=True):
    """py_transforms.NormalizePad: normalize floats with channels first, with one more channel of zeros.

    >>> PyNormalizePad([0.5], [0.5]).is_hwc
    False
    """

    def __init__(self, mean: Any, std: Any, dtype: str = "float32") -> None:
        super().__init__(mean, std, dtype, False)


@public("dataset.vision.py_transforms")
class Cutout(erasing.CutOut, ours=True):
    """py_transforms.Cutout: CutOut with channels first.

    >>> Cutout(2).is_hwc
    False
    """

    def __init__(self, length: Any, num_patches: Any = 1) -> None:
        super().__init__(length, num_patches, False)


@public("dataset.vision.py_transforms:ToTensor")
class PyToTensor(ImageTensorOperation):
    """py_transforms.ToTensor: channels first, divided by 255 in float64, then converted to another type.

    >>> PyToTensor()(np.full((1, 1, 3), 255, np.uint8)).tolist()
    [[[1.0]], [[1.0]], [[1.0]]]
    """

    @checked
    def __init__(self, output_type: DataType = np.float32) -> None:
        self.output_type = data_type(output_type).name

    def row(self, x: Any) -> Any:
        pixels = as_array(x)
        planes = layout.hwc_to_chw(pixels[:, :, None] if pixels.ndim == 2 else pixels)
        return layout.cast(planes / 255.0, np.dtype(self.output_type))


@public("dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RgbToBgr(ImageTensorOperation):
    """Reverse the order of the channels; channels first unless ``is_hwc``.

    >>> RgbToBgr(is_hwc=True)(np.array([[[1, 2, 3]]])).tolist()
    [[[3, 2, 1]]]
    """

    def __init__(self, is_hwc: bool = False) -> None:
        check_type(is_hwc, (bool,), "is_hwc")
        self.is_hwc = is_hwc

    def row(self, x: Any) -> Any:
        axis = -1 if self.is_hwc else -3
        if x.ndim not in (3, 4):
            shapes = "(H, W, C)/(N, H, W, C)/(C ,H, W)/(N, C, H, W)"
            raise ArgumentTypeError(f"img shape should be {shapes}. Got {x.shape}.")
        if x.shape[axis] != 3:
            raise ArgumentTypeError(f"img should be 3 channels RGB img. Got {x.shape[axis]} channels.")
        return np.flip(x, axis)


@public("dataset.vision.c_transforms")
class SoftDvppDecodeResizeJpeg(ImageTensorOperation):
    """Decode and resize a JPEG.

    MindSpore imitates a hardware decoder here, Millrace gives the exact pixels.

    >>> import millrace.dataset.vision as vision
    >>> SoftDvppDecodeResizeJpeg((4, 6))(vision.encode_jpeg(np.zeros((8, 8, 3), np.uint8))).shape
    (4, 6, 3)
    """

    is_expensive = True

    @checked
    def __init__(self, size: ResizeSize) -> None:
        self.size = size

    def row(self, x: Any) -> Any:
        return resize(codec.decode(x, "SoftDvppDecodeResizeJpeg"), self.size, Inter.LINEAR)


@public("dataset.vision.c_transforms")
class SoftDvppDecodeRandomCropResizeJpeg(decode.RandomCropDecodeResize, ours=True):
    """Decode, crop at random and resize a JPEG.

    MindSpore imitates a hardware decoder here, Millrace gives the exact pixels.

    >>> SoftDvppDecodeRandomCropResizeJpeg(8).size
    (8, 8)
    """

    @checked
    def __init__(
        self,
        size: CropSize,
        scale: Scale = (0.08, 1.0),
        ratio: Ratio = (3.0 / 4.0, 4.0 / 3.0),
        max_attempts: PositiveInt = 10,
    ) -> None:
        super().__init__(size, scale, ratio, Inter.BILINEAR, max_attempts)
