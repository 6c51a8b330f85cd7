"""Erase rectangles, fixed and random."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision import erase
from millrace._src.data.kernels.vision.validation import as_array
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    check_each_type,
    check_interval,
    check_order,
    check_positive,
)
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation, TensorOperation

__all__ = ["CutOut", "Erase", "RandomErasing"]


def _check_colour(name: str, value: Any) -> None:
    check_type(value, (float, int, tuple), name)
    triple = (value,) * 3 if isinstance(value, (float, int)) else value
    check_each_type(triple, (float, int), name)
    if len(triple) != 3:
        raise ArgumentTypeError("value should be a single integer/float or a 3-tuple.")
    for i, item in enumerate(triple):
        check_interval(item, 0, 255, f"{name}[{i}]")


@public("dataset.vision")
class Erase(ImageTensorOperation):
    """Erase a given rectangle: fill it with one colour. The input is never changed, whatever `inplace` is.

    >>> Erase(0, 0, 1, 2, 9)(np.zeros((1, 3, 3), np.uint8))[0, :, 0].tolist()
    [9, 9, 0]
    """

    def __init__(
        self, top: Any, left: Any, height: Any, width: Any, value: Any = 0.0, inplace: bool = False
    ) -> None:
        for name, argument, low in (
            ("top", top, 0),
            ("left", left, 0),
            ("height", height, 1),
            ("width", width, 1),
        ):
            check_type(argument, (int,), name)
            check_interval(argument, low, 2**31 - 1, name)
        check_type(inplace, (bool,), "inplace")
        _check_colour("value", value)
        self.top, self.left, self.height, self.width = top, left, height, width
        self.value, self.inplace = (value,) if isinstance(value, (float, int)) else value, inplace

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> TensorOperation:
        value = fields.get("value")
        if isinstance(value, tuple) and len(value) == 1:
            fields = fields | {"value": value[0]}
        return super().from_fields(fields)

    def row(self, x: Any) -> Any:
        return erase.erase(x, self.top, self.left, self.height, self.width, self.value)


@public("dataset.vision", "dataset.vision.py_transforms")
class RandomErasing(ImageTensorOperation):
    """Erase a rectangle of random position, area and aspect ratio in <C,H,W>, with a given probability.

    `value` is one number, one for each channel, or "random" for noise.

    >>> RandomErasing(prob=1.0)(np.ones((3, 8, 8), np.float32)).min()
    np.float32(0.0)
    """

    runs_in_python = True
    random = True

    def __init__(
        self,
        prob: Any = 0.5,
        scale: Any = (0.02, 0.33),
        ratio: Any = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        max_attempts: Any = 10,
    ) -> None:
        check_type(prob, (float, int), "prob")
        for name, pair in (("scale", scale), ("ratio", ratio)):
            check_each_type(pair, (float, int), name)
            if len(pair) != 2:
                raise ArgumentTypeError(f"{name} should be a list or tuple of length 2.")
        check_type(value, (int, list, tuple, str), "value")
        check_type(inplace, (bool,), "inplace")
        check_type(max_attempts, (int,), "max_attempts")
        if (isinstance(value, str) and value != "random") or (
            isinstance(value, (list, tuple)) and len(value) != 3
        ):
            raise ArgumentValueError(
                "The value for erasing should be either a single value, or a string 'random', or a sequence of 3 "
                "elements for RGB respectively."
            )
        check_interval(prob, 0.0, 1.0, "prob")
        _check_range("scale", scale)
        check_order(scale, 0, FLOAT_MAX)
        check_positive(scale[1], "scale[1]")
        _check_range("ratio", ratio)
        for item in ratio:
            check_interval(item, 0, FLOAT_MAX, left_open=True)
        if isinstance(value, int):
            check_interval(value, 0, 255)
        elif not isinstance(value, str):
            for item in value:
                check_type(item, (int,), "value")
                check_interval(item, 0, 255, "value")
        check_interval(max_attempts, 1, FLOAT_MAX)
        self.prob, self.scale, self.ratio, self.value = prob, tuple(scale), tuple(ratio), value
        self.inplace, self.max_attempts = inplace, max_attempts

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        tries = min(self.max_attempts, 64)
        shares = np.stack([rng.uniform(3 + 2 * i, *self.scale) for i in range(tries)], axis=1)
        ratios = np.stack([rng.uniform(4 + 2 * i, *self.ratio) for i in range(tries)], axis=1)
        noise = [rng[i] for i in range(len(rng))]
        return rng.bernoulli(0, self.prob), rng.uniform(1), rng.uniform(2), shares, ratios, noise

    def row(
        self, x: Any, apply: bool, down: float, right: float, shares: Any, ratios: Any, rng: RandomStream
    ) -> Any:
        if not apply:
            return x
        if not isinstance(x, np.ndarray):
            raise ArgumentTypeError(f"img should be NumPy array. Got {type(x)}.")
        channels, rows, columns = x.shape
        for share, ratio in zip(shares, ratios):
            width = round(math.sqrt(rows * columns * share * ratio))
            height = round(width / ratio)
            if height < rows and width < columns:
                top, left = int(down * (rows - height + 1)), int(right * (columns - width + 1))
                erased = x.copy()
                erased[:, top : top + height, left : left + width] = self._fill_pixels(
                    (channels, height, width), rng
                )
                return erased
        return x

    def _fill_pixels(self, shape: tuple[int, ...], rng: RandomStream) -> Any:
        if isinstance(self.value, str):
            return rng.generator(0, 1 << 20).normal(size=shape)
        return self.value if isinstance(self.value, int) else np.array(self.value)[:, None, None]


def _check_range(name: str, pair: Any) -> None:
    if pair[0] > pair[1]:
        raise ArgumentValueError(f"{name} should be in (min,max) format. Got (max,min).")


def _check_count(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    check_interval(value, 1, FLOAT_MAX)


@public("dataset.vision", "dataset.vision.c_transforms")
class CutOut(ImageTensorOperation):
    """Fill squares at random positions with black, clipped at the borders.

    >>> CutOut(2)(np.ones((8, 8, 3), np.uint8)).min()
    np.uint8(0)
    """

    random = True

    @checked
    def __init__(
        self,
        length: Annotated[Any, ArgumentRule(_check_count)],
        num_patches: Annotated[Any, ArgumentRule(_check_count)] = 1,
        is_hwc: bool = True,
    ) -> None:
        self.length, self.num_patches, self.is_hwc = length, num_patches, is_hwc

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (np.stack([rng.uniform(i) for i in range(2 * self.num_patches)], axis=1),)

    def row(self, x: Any, units: Any) -> Any:
        x = as_array(x)
        rows, columns = (x.shape[:2] if self.is_hwc else x.shape[1:3]) if x.ndim == 3 else (0, 0)
        centers = (units.reshape(-1, 2) * [rows, columns]).astype(np.int64)
        return erase.cut_out(x, centers, self.length, self.is_hwc)
