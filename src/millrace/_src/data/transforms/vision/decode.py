"""Decode encoded images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.settings import Settings
from millrace._src.data.kernels.vision import decode as codec
from millrace._src.data.kernels.vision.jpeg_region import Box
from millrace._src.data.kernels.vision.validation import is_pil
from millrace._src.data.transforms.base import FusedTransform, Transform
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation

from .crop import RandomResizedCrop, choose_crop_box, crop_and_resize
from .fused_decode import fuse_decode, is_encoded

__all__ = ["Decode", "RandomCropDecodeResize"]


@public("dataset.vision")
class Decode(ImageTensorOperation):
    """Decode an encoded image to an RGB array, or to an RGB Pillow image with ``to_pil``.

    Takes bytes or a 1-D array of uint8. Formats: JPEG, PNG, BMP and TIFF; with ``to_pil`` all that Pillow supports.
    Equals MindSpore bit for bit. An image whose header claims more than 179 million pixels is refused before decoding.

    >>> import millrace.dataset.vision as vision
    >>> png = vision.encode_png(np.zeros((2, 3, 3), np.uint8))
    >>> vision.Decode()(png).shape, vision.Decode(to_pil=True)(png).mode
    ((2, 3, 3), 'RGB')
    """

    is_expensive = True

    @checked
    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = to_pil

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return self.to_pil

    def row(self, x: Any) -> Any:
        # in a pipeline, a decoded image passes through unchanged
        if is_pil(x):
            return x if self.to_pil else np.asarray(x)
        if isinstance(x, np.ndarray) and x.ndim == 3 and x.dtype == np.uint8:
            return codec.Image.fromarray(x) if self.to_pil else x
        return codec.decode_to_pil(x) if self.to_pil else codec.decode(x)

    def fuse(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        return None if self.to_pil else fuse_decode(self, following, settings)

    def as_input(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return np.frombuffer(value, np.uint8)
        if not (isinstance(value, np.ndarray) and value.dtype.kind == "S"):
            codec.as_bytes(value)
        return value


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomCropDecodeResize(RandomResizedCrop, ours=True):
    """Decode an image, crop it at random and resize it: the pixels of Decode, then RandomResizedCrop.

    Only the cropped region of a JPEG is decoded; damage below that region is not noticed, a missing end marker is.

    >>> import millrace.dataset.vision as vision
    >>> png = vision.encode_png(np.zeros((20, 30, 3), np.uint8))
    >>> vision.RandomCropDecodeResize(8)(png).shape
    (8, 8, 3)
    """

    is_expensive = True

    def row(self, x: Any, crop_params: Any) -> Any:
        name = "RandomCropDecodeResize"
        boxes: dict[tuple[int, int], Box] = {}  # by size, before and after decoding

        def select_region(height: int, width: int) -> Box:
            box = boxes[height, width] = choose_crop_box(crop_params, self.ratio, height, width)
            return box

        def crop(image: Any) -> Any:
            box = boxes.get(image.shape[:2]) or select_region(*image.shape[:2])
            return crop_and_resize(image, box, self.size, self.interpolation, name)

        return codec.decode_region(x, select_region, crop, name) if is_encoded(x) else crop(x)

    def fuse(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        # by itself it decodes its region; the fused form may decode at a smaller scale, if the tolerance allows it
        return fuse_decode(self, (), settings) if settings.decode_tolerance else None

    def as_input(self, value: Any) -> Any:
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
