"""Transforms of an image and its bounding boxes: two columns in, two columns out.

A row of boxes is (x, y, width, height, ...); values after the fourth are copied. Each transform has the arguments,
the checks and the random parameters of the transform without boxes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision import bounding_boxes as kernel
from millrace._src.data.kernels.vision import geometry
from millrace._src.data.kernels.vision.enums import Inter
from millrace._src.data.kernels.vision.resize import resize, target_size
from millrace._src.data.kernels.vision.validation import as_array
from millrace._src.data.transforms.argument_types import Probability
from millrace._src.data.transforms.base import Transform
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation

from .crop import (
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    Resize,
    choose_crop_box,
    crop_and_resize,
    random_offset,
)
from .normalize import RandomHorizontalFlip

__all__ = [
    "BoundingBoxAugment",
    "RandomCropWithBBox",
    "RandomHorizontalFlipWithBBox",
    "RandomResizeWithBBox",
    "RandomResizedCropWithBBox",
    "RandomVerticalFlipWithBBox",
    "ResizeWithBBox",
]


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomHorizontalFlipWithBBox(RandomHorizontalFlip, ours=True):
    """Flip an image and its bounding boxes horizontally, with a given probability.

    >>> op = RandomHorizontalFlipWithBBox(1.0)
    >>> op(np.zeros((8, 10, 3), np.uint8), np.array([[1.0, 2.0, 3.0, 4.0]], np.float32))[1].tolist()
    [[6.0, 2.0, 3.0, 4.0]]
    """

    num_inputs = 2
    _across = True

    def row(self, x: Any, boxes: Any, apply: bool) -> Any:  # type: ignore[override]
        x, name = as_array(x), type(self).__name__
        kernel.check_boxes(x, boxes, name)
        if not apply:
            return x, boxes
        flipped = geometry.flip(x, across=self._across, op=name)
        return flipped, kernel.flip_boxes(boxes, *x.shape[:2], across=self._across)


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomVerticalFlipWithBBox(RandomHorizontalFlipWithBBox, ours=True):
    """Flip an image and its bounding boxes vertically, with a given probability.

    >>> op = RandomVerticalFlipWithBBox(1.0)
    >>> op(np.zeros((8, 10, 3), np.uint8), np.array([[1.0, 2.0, 3.0, 4.0]], np.float32))[1].tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """

    _across = False


@public("dataset.vision", "dataset.vision.c_transforms")
class ResizeWithBBox(Resize, ours=True):
    """Resize an image and its bounding boxes.

    It differs from MindSpore's where Resize does.

    >>> op = ResizeWithBBox((4, 5))
    >>> op(np.zeros((8, 10, 3), np.uint8), np.array([[2.0, 2.0, 4.0, 4.0]], np.float32))[1].tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    """

    num_inputs = 2

    def row(self, x: Any, boxes: Any) -> Any:  # type: ignore[override]
        return _resize_with_boxes(as_array(x), boxes, self.size, self.interpolation, "ResizeWithBBox")


def _resize_with_boxes(x: Any, boxes: Any, size: Any, inter: Inter, op: str) -> Any:
    kernel.check_boxes(x, boxes, op)
    source_size = x.shape[:2]
    return resize(x, size, inter, op), kernel.scale_boxes(boxes, source_size, target_size(size, *source_size))


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomResizeWithBBox(RandomResize, ours=True):
    """Resize an image and its bounding boxes with a random interpolation for each image.

    >>> op = RandomResizeWithBBox((4, 5))
    >>> op(np.zeros((8, 10, 3), np.uint8), np.array([[2.0, 2.0, 4.0, 4.0]], np.float32))[1].tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    """

    num_inputs = 2

    def row(self, x: Any, boxes: Any, choice: int) -> Any:  # type: ignore[override]
        return _resize_with_boxes(
            as_array(x), boxes, self.size, self._INTERPOLATIONS[choice], "RandomResizeWithBBox"
        )


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomCropWithBBox(RandomCrop, ours=True):
    """Crop an image and its bounding boxes at a random position; boxes outside of the crop are dropped.

    >>> op = RandomCropWithBBox((8, 10))
    >>> op(np.zeros((8, 10, 3), np.uint8), np.array([[1.0, 2.0, 3.0, 4.0]], np.float32))[1].tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """

    num_inputs = 2

    def row(self, x: Any, boxes: Any, down: float, right: float) -> Any:  # type: ignore[override]
        x = as_array(x)
        kernel.check_boxes(x, boxes, "RandomCropWithBBox")
        padded = self.padded(x)
        left, top = self.padding[0], self.padding[1]
        if self.pad_if_needed:
            left += max(0, self.size[1] - x.shape[1] - self.padding[0] - self.padding[2])
            top += max(0, self.size[0] - x.shape[0] - self.padding[1] - self.padding[3])
        height, width = self.size
        y, z = random_offset(down, padded.shape[0] - height), random_offset(right, padded.shape[1] - width)
        part = geometry.crop(padded, y, z, height, width, "RandomCropWithBBox")
        return part, kernel.crop_boxes(kernel.move_boxes(boxes, left, top), y, z, height, width)


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomResizedCropWithBBox(RandomResizedCrop, ours=True):
    """Crop an image and its bounding boxes at random, then resize; boxes outside of the crop are dropped.

    It differs from MindSpore's where Resize does.

    >>> op = RandomResizedCropWithBBox((4, 5), (1.0, 1.0), (1.25, 1.25))
    >>> op(np.zeros((8, 10, 3), np.uint8), np.array([[2.0, 2.0, 4.0, 4.0]], np.float32))[1].tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    """

    num_inputs = 2

    def row(self, x: Any, boxes: Any, crop_params: Any) -> Any:  # type: ignore[override]
        x, name = as_array(x), "RandomResizedCropWithBBox"
        kernel.check_boxes(x, boxes, name)
        box = choose_crop_box(crop_params, self.ratio, *x.shape[:2])
        part = crop_and_resize(x, box, self.size, self.interpolation, name)
        return part, kernel.scale_boxes(kernel.crop_boxes(boxes, *box), box[2:], self.size)


@public("dataset.vision", "dataset.vision.c_transforms")
class BoundingBoxAugment(ImageTensorOperation):
    """Apply a transform inside a random share of the bounding boxes of each image.

    >>> import millrace.dataset.vision as vision
    >>> op = BoundingBoxAugment(vision.Invert(), 1.0)
    >>> image, boxes = op(np.zeros((4, 4, 3), np.uint8), np.array([[0.0, 0.0, 2.0, 1.0]], np.float32))
    >>> image[0, :, 0].tolist()
    [255, 255, 0, 0]
    """

    random = True
    num_inputs = 2

    @checked
    def __init__(self, transform: Any, ratio: Probability = 0.3) -> None:
        if not isinstance(transform, Transform):
            raise ArgumentTypeError(
                f"Argument transform with value {transform} is not of type [{Transform}], but got {type(transform)}."
            )
        self.transform, self.ratio = transform, ratio

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return ([rng[i] for i in range(len(rng))],)

    def row(self, x: Any, boxes: Any, rng: RandomStream) -> Any:
        x = as_array(x)
        kernel.check_boxes(x, boxes, "BoundingBoxAugment")
        count = int(len(boxes) * self.ratio + 0.5)
        order = np.argsort([int(rng.bits(i)[0]) for i in range(len(boxes))])
        augmented = x.copy()
        for i in order[:count]:
            left, top, width, height = (int(v) for v in boxes[i, :4])
            part = augmented[top : top + height, left : left + width].copy()
            changed = self.transform.row_function(rng.split(int(i)) if self.transform.random else None)(
                0, part
            )
            if changed.shape != part.shape:
                changed = resize(changed, (height, width), Inter.LINEAR, "BoundingBoxAugment")
            augmented[top : top + height, left : left + width] = changed
        return augmented, boxes
