"""From encoded bytes to pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.core.args import checked
from millrace.core.errors import ArgumentTypeError
from millrace.core.rng import Draws
from millrace.kernels.vision import codec
from millrace.kernels.vision.enums import Inter
from millrace.kernels.vision.image import is_pil
from millrace.transforms.checks import PositiveInt
from millrace.transforms.operation import ImageOperation

from .checks import CropSize, Ratio, Scale, as_pair
from .crops import crop_and_resize, draw_box, pick_box

__all__ = ["Decode", "RandomCropDecodeResize"]


class Decode(ImageOperation):
    """The pixels of an encoded image: an RGB array, or an RGB Pillow image with ``to_pil``.

    Takes bytes or a 1-D array of uint8. JPEG, PNG, BMP and TIFF; with ``to_pil`` whatever Pillow reads. Bit for
    bit what MindSpore gives. An image that claims more than 179 million pixels is refused before decoding.

    >>> import millrace.dataset.vision as vision
    >>> png = vision.encode_png(np.zeros((2, 3, 3), np.uint8))
    >>> vision.Decode()(png).shape, vision.Decode(to_pil=True)(png).mode
    ((2, 3, 3), 'RGB')
    """

    heavy = True

    @checked
    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = to_pil

    def row(self, x: Any) -> Any:
        # in a pipeline, what is decoded already passes through
        if is_pil(x):
            return x if self.to_pil else np.asarray(x)
        if isinstance(x, np.ndarray) and x.ndim == 3 and x.dtype == np.uint8:
            return codec.Image.fromarray(x) if self.to_pil else x
        return codec.decode_to_pil(x) if self.to_pil else codec.decode(x)

    def take(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return np.frombuffer(value, np.uint8)
        if not (isinstance(value, np.ndarray) and value.dtype.kind == "S"):
            codec.as_bytes(value)
        return value


class RandomCropDecodeResize(ImageOperation):
    """Decode, then RandomResizedCrop: the same pixels as those two, drawn from the same numbers.

    >>> import millrace.dataset.vision as vision
    >>> png = vision.encode_png(np.zeros((20, 30, 3), np.uint8))
    >>> vision.RandomCropDecodeResize(8)(png).shape
    (8, 8, 3)
    """

    random = True
    heavy = True

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

    def params(self, draws: Draws) -> tuple[Any, ...]:
        return (draw_box(draws, self.scale, self.ratio, self.max_attempts),)

    def row(self, x: Any, drawn: Any) -> Any:
        name = "RandomCropDecodeResize"
        image = x if isinstance(x, np.ndarray) and x.ndim == 3 else codec.decode(x, name)
        box = pick_box(drawn, self.ratio, image.shape[0], image.shape[1])
        return crop_and_resize(image, box, self.size, self.interpolation, name)

    def take(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(
                f"Input should be an encoded image in 1-D NumPy format, got {type(value)}."
            )
        if value.ndim != 1 or value.dtype != np.uint8:
            raise ArgumentTypeError(
                "Input should be an encoded image with uint8 type in 1-D NumPy format, got "
                f"format:{type(value)}, dtype:{value.dtype.type}."
            )
        return value
