"""Rotation, affine and perspective transforms, fixed and random."""

from __future__ import annotations

import numbers
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision import affine as warp
from millrace._src.data.kernels.vision.enums import Inter
from millrace._src.data.kernels.vision.validation import as_array, is_pil
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    Float32,
    check_each_type,
    check_interval,
    check_order,
    check_positive,
)
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation

from .argument_types import Center, Degrees, FillValue, Points, as_triple, check_points

__all__ = ["Affine", "Perspective", "RandomAffine", "RandomPerspective", "RandomRotation", "Rotate"]


@public("dataset.vision", "dataset.vision.c_transforms")
class Rotate(ImageTensorOperation):
    """Rotate an image counter-clockwise, about its center or about a given center (x, y).

    An array's fill_value is interpreted as (blue, green, red), as in MindSpore. With CUBIC 0.5 % of the
    values differ from MindSpore's by 1, floats by up to 2e-6: OpenCV 5 sums in another order.

    >>> Rotate(180)(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[4, 3], [2, 1]]
    """

    @checked
    def __init__(
        self,
        degrees: Float32,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Center = None,
        fill_value: FillValue = 0,
    ) -> None:
        self.degrees, self.resample, self.expand, self.center = degrees % 360, resample, expand, center
        self.fill_value = as_triple(fill_value)

    def row(self, x: Any) -> Any:
        fill = self.fill_value
        return warp.rotate(as_array(x), self.degrees, self.resample, self.expand, self.center, fill)


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomRotation(ImageTensorOperation):
    """Rotate an image by a random angle from a range.

    At the same angle the pixels equal those of Rotate.

    >>> RandomRotation((180, 180))(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[4, 3], [2, 1]]
    """

    random = True

    @checked
    def __init__(
        self,
        degrees: Degrees,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Center = None,
        fill_value: FillValue = 0,
    ) -> None:
        self.degrees, self.resample, self.expand, self.center = degrees, resample, expand, center
        self.fill_value = as_triple(fill_value)

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return self.resample is Inter.ANTIALIAS

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.uniform(0, *self._range()),)

    def _range(self) -> tuple[float, float]:
        if isinstance(self.degrees, (int, float)):
            return -(self.degrees % 360), self.degrees % 360
        low, high = self.degrees
        if high - low >= 360:
            return -180, 180
        low, high = low % 360, high % 360
        return low, high + 360 if low > high else high

    def row(self, x: Any, angle: float) -> Any:
        fill = self.fill_value
        return warp.rotate(x, float(angle), self.resample, self.expand, self.center, fill, "RandomRotation")


def _check_shift(name: str, value: Any) -> None:
    check_type(value, (list, tuple), name)
    if len(value) != 2:
        raise ArgumentTypeError("The length of translate should be 2.")
    for i, item in enumerate(value):
        check_type(item, (int, float), f"{name}[{i}]")
        check_interval(item, -1.0, 1.0, f"{name}[{i}]")


def _check_positive_scale(name: str, value: Any) -> None:
    check_type(value, (int, float), name)
    check_positive(value, name)


def _check_shear(name: str, value: Any) -> None:
    check_type(value, (numbers.Number, tuple, list), name)
    if isinstance(value, numbers.Number):
        check_interval(value, -180, 180, name)
        return
    if len(value) != 2:
        raise ArgumentTypeError("The length of shear should be 2.")
    for i, item in enumerate(value):
        check_type(item, (int, float), f"{name}[{i}]")
        check_interval(item, -180, 180, f"{name}[{i}]")


@public("dataset.vision")
class Affine(ImageTensorOperation):
    """Apply an affine transform: rotate, translate (by a share of the size), scale and shear an image.

    In large images 0.01 % of the values differ by 1 to 3 from MindSpore's: the matrix differs in its last bits. With
    CUBIC 0.8 % differ by 1, floats by up to 2e-7: OpenCV 5 sums in another order.

    >>> Affine(0, (0.5, 0), 1, 0)(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[0, 1], [0, 3]]
    """

    @checked
    def __init__(
        self,
        degrees: Annotated[int | float, Range(-180, 180)],
        translate: Annotated[Any, ArgumentRule(_check_shift)],
        scale: Annotated[Any, ArgumentRule(_check_positive_scale)],
        shear: Annotated[Any, ArgumentRule(_check_shear)],
        resample: Inter = Inter.NEAREST,
        fill_value: FillValue = 0,
    ) -> None:
        self.degrees, self.translate, self.scale = degrees, tuple(translate), scale
        self.shear = (shear, 0.0) if isinstance(shear, numbers.Number) else tuple(shear)
        self.resample, self.fill_value = resample, as_triple(fill_value)

    def row(self, x: Any) -> Any:
        fill = self.fill_value
        return warp.affine(x, self.degrees, self.translate, self.scale, self.shear, self.resample, fill)


def _check_shifts(name: str, value: Any) -> None:
    check_type(value, (list, tuple), name)
    check_each_type(value, (int, float), name)
    if len(value) not in (2, 4):
        raise ArgumentTypeError("translate should be a list or tuple of length 2 or 4.")
    for i, item in enumerate(value):
        check_interval(item, -1.0, 1.0, f"{name} at {i}")


def _check_scales(name: str, value: Any) -> None:
    check_type(value, (tuple, list), name)
    check_each_type(value, (int, float), name)
    if len(value) != 2:
        raise ArgumentTypeError("scale should be a list or tuple of length 2.")
    if value[0] > value[1]:
        raise ArgumentValueError("Input scale[1] must be equal to or greater than scale[0].")
    check_order(value, 0, FLOAT_MAX)
    check_positive(value[1], "scale[1]")


def _check_shears(name: str, value: Any) -> None:
    check_type(value, (numbers.Number, tuple, list), name)
    if isinstance(value, numbers.Number):
        check_positive(value, name)
        return
    check_each_type(value, (int, float), name)
    if len(value) not in (2, 4):
        raise ArgumentTypeError("shear must be of length 2 or 4.")
    if len(value) == 2 and value[0] > value[1]:
        raise ArgumentValueError("Input shear[1] must be equal to or greater than shear[0]")
    if len(value) == 4 and (value[0] > value[1] or value[2] > value[3]):
        raise ArgumentValueError(
            "Input shear[1] must be equal to or greater than shear[0] and shear[3] must be equal to or greater "
            "than shear[2]."
        )


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomAffine(ImageTensorOperation):
    """Apply an affine transform with random parameters from given ranges.

    For the same parameters the pixels equal those of Affine. Two numbers in `translate` are a horizontal range for
    arrays, and the maximum horizontal and vertical translation for Pillow images, as in MindSpore.

    >>> RandomAffine(15, (0.1, 0.1), (0.9, 1.1))(np.zeros((4, 4, 3), np.uint8)).shape
    (4, 4, 3)
    """

    random = True

    @checked
    def __init__(
        self,
        degrees: Degrees,
        translate: Annotated[Any, ArgumentRule(_check_shifts)] = None,
        scale: Annotated[Any, ArgumentRule(_check_scales)] = None,
        shear: Annotated[Any, ArgumentRule(_check_shears)] = None,
        resample: Inter = Inter.NEAREST,
        fill_value: FillValue = 0,
    ) -> None:
        self.degrees = (-degrees, degrees) if isinstance(degrees, (int, float)) else tuple(degrees)
        self.translate = (0.0, 0.0, 0.0, 0.0) if translate is None else tuple(translate)
        self.scale = (1.0, 1.0) if scale is None else tuple(scale)
        if isinstance(shear, (int, float)):
            shear = (-shear, shear)
        self.shear = (*(shear or (0.0, 0.0)), 0.0, 0.0)[:4]
        self.resample, self.fill_value = resample, as_triple(fill_value)

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return self.resample is Inter.ANTIALIAS

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (
            rng.uniform(0, *self.degrees),
            np.stack([rng.uniform(1), rng.uniform(2)], axis=1),
            rng.uniform(3, *self.scale),
            np.stack([rng.uniform(4, *self.shear[:2]), rng.uniform(5, *self.shear[2:])], axis=1),
        )

    def row(self, x: Any, angle: float, shift: Any, scale: float, shear: Any) -> Any:
        if is_pil(x):
            most = [part * size for part, size in zip(self.translate[:2], x.size)]
            pixels = [float(np.round(m * (2 * u - 1))) for m, u in zip(most, shift)]
            return warp.affine_pil(
                x, angle, (pixels[0], pixels[1]), scale, shear, self.resample, self.fill_value
            )
        across, down = self._ranges()
        translation = (
            across[0] + shift[0] * (across[1] - across[0]),
            down[0] + shift[1] * (down[1] - down[0]),
        )
        return warp.affine(
            x, angle, translation, scale, shear, self.resample, self.fill_value, "RandomAffine"
        )

    def _ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Horizontal and vertical range: two numbers are the horizontal one; four are both."""
        if len(self.translate) == 2:
            return (self.translate[0], self.translate[1]), (0.0, 0.0)
        return (self.translate[0], self.translate[1]), (self.translate[2], self.translate[3])


@public("dataset.vision")
class Perspective(ImageTensorOperation):
    """Apply a perspective transform that maps four start points (x, y) to four end points.

    With CUBIC 0.2 % of the values differ from MindSpore's by 1, floats by up to 2e-7: OpenCV 5 sums in another order.
    The coefficients are computed in a fixed order of operations, the same on every processor. For a Pillow image
    MindSpore uses LAPACK: pixels that lie on a border may differ.

    >>> corners = [(0, 0), (3, 0), (3, 3), (0, 3)]
    >>> Perspective(corners, corners)(np.zeros((4, 4, 3), np.uint8)).shape
    (4, 4, 3)
    """

    @checked
    def __init__(
        self, start_points: Points, end_points: Points, interpolation: Inter = Inter.BILINEAR
    ) -> None:
        check_points("start_points", start_points)
        check_points("end_points", end_points)
        self.start_points, self.end_points, self.interpolation = start_points, end_points, interpolation

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return self.interpolation is Inter.ANTIALIAS

    def row(self, x: Any) -> Any:
        return warp.perspective(x, self.start_points, self.end_points, self.interpolation)


@public("dataset.vision", "dataset.vision.py_transforms")
class RandomPerspective(ImageTensorOperation):
    """Apply a random perspective transform to a Pillow image, with a given probability: its corners move inwards.

    The same four corners give the same pixels on every processor. MindSpore's differ, see Perspective.

    >>> import PIL.Image
    >>> RandomPerspective(0.5, 1.0)(PIL.Image.new("RGB", (8, 6))).size
    (8, 6)
    """

    runs_in_python = True
    random = True

    @checked
    def __init__(
        self,
        distortion_scale: Annotated[float, Range(0.0, 1.0)] = 0.5,
        prob: Annotated[float, Range(0.0, 1.0)] = 0.5,
        interpolation: Inter = Inter.BICUBIC,
    ) -> None:
        self.distortion_scale, self.prob, self.interpolation = distortion_scale, prob, interpolation

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return rng.bernoulli(0, self.prob), np.stack([rng.uniform(1 + i) for i in range(8)], axis=1)

    def row(self, x: Any, apply: bool, units: Any) -> Any:
        if not is_pil(x):
            raise ArgumentValueError("Input image should be a Pillow image.")
        if not apply:
            return x
        width, height = x.size
        across, down = int(width / 2 * self.distortion_scale), int(height / 2 * self.distortion_scale)
        corners = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        end_points = []
        for i, (left, top) in enumerate(corners):
            inward_x, inward_y = int(units[2 * i] * (across + 1)), int(units[2 * i + 1] * (down + 1))
            end_points.append((left - inward_x if left else inward_x, top - inward_y if top else inward_y))
        return warp.perspective(x, corners, end_points, self.interpolation)
