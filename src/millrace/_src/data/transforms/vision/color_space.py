"""Conversion between RGB and HSV, and linear transforms of whole images."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.vision import color_space as spaces
from millrace._src.data.transforms.tensor_operation import TensorOperation

__all__ = ["HsvToRgb", "LinearTransformation", "RgbToHsv"]


@public("dataset.vision", "dataset.vision.py_transforms")
class RgbToHsv(TensorOperation):
    """Convert RGB in [0, 1] to hue, saturation and value; channels first unless `is_hwc`.

    float32 input differs from MindSpore's by up to 1e-7: all arithmetic is float64 here.

    >>> RgbToHsv(is_hwc=True)(np.array([[[1.0, 0.0, 0.0]]])).tolist()
    [[[0.0, 1.0, 1.0]]]
    """

    _family = "vision"
    runs_in_python = True

    @checked
    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = is_hwc

    def row(self, x: Any) -> Any:
        return spaces.rgb_to_hsv(x, self.is_hwc)


@public("dataset.vision", "dataset.vision.py_transforms")
class HsvToRgb(TensorOperation):
    """Convert hue, saturation and value in [0, 1] to RGB; channels first unless `is_hwc`.

    float32 input differs from MindSpore's by up to 1e-7: all arithmetic is float64 here.

    >>> HsvToRgb(is_hwc=True)(np.array([[[0.0, 1.0, 1.0]]])).tolist()
    [[[1.0, 0.0, 0.0]]]
    """

    _family = "vision"
    runs_in_python = True

    @checked
    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = is_hwc

    def row(self, x: Any) -> Any:
        return spaces.hsv_to_rgb(x, self.is_hwc)


@public("dataset.vision", "dataset.vision.py_transforms")
class LinearTransformation(TensorOperation):
    """Apply a linear transform to the flattened image: subtract a mean vector, multiply by a square matrix.

    It can whiten images, for example.

    The rows of the matrix are added in their order, so that the result has the same bits on every processor. MindSpore
    uses BLAS: its results differ from these, and between processors, in the last bits.

    >>> LinearTransformation(np.eye(2) * 2, np.ones(2))(np.array([[3.0, 4.0]])).tolist()
    [[4.0, 6.0]]
    """

    _family = "vision"
    runs_in_python = True

    @checked
    def __init__(self, transformation_matrix: np.ndarray, mean_vector: np.ndarray) -> None:
        rows, mean = transformation_matrix.shape, mean_vector.shape
        if rows[0] != rows[1]:
            raise ArgumentValueError(
                f"transformation_matrix should be a square matrix. Got shape {rows} instead."
            )
        if mean[0] != rows[0]:
            raise ArgumentValueError(
                f"mean_vector length {mean[0]} should match either one dimension of the "
                f"squaretransformation_matrix {rows}."
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def row(self, x: Any) -> Any:
        return spaces.linear_transform(x, self.transformation_matrix, self.mean_vector)
