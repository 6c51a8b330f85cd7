"""Color transforms with random parameters."""

from __future__ import annotations

import numbers
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision import color as colour
from millrace._src.data.kernels.vision import histogram
from millrace._src.data.kernels.vision.validation import as_array, is_pil
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    Factor,
    Probability,
    check_each_type,
    check_interval,
    check_order,
)
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation

from .argument_types import Bits, Ignore, PositiveDegrees
from .color import Cutoff, as_ignored

__all__ = [
    "RandomAdjustSharpness",
    "RandomAutoContrast",
    "RandomColor",
    "RandomColorAdjust",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomLighting",
    "RandomPosterize",
    "RandomSharpness",
    "RandomSolarize",
]


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomAutoContrast(ImageTensorOperation):
    """Maximize the contrast as AutoContrast does, with a given probability.

    >>> RandomAutoContrast(prob=1.0)(np.array([[[10] * 3, [20] * 3]], np.uint8)).max()
    np.uint8(255)
    """

    random = True

    @checked
    def __init__(self, cutoff: Cutoff = 0.0, ignore: Ignore = None, prob: Probability = 0.5) -> None:
        self.cutoff, self.ignore, self.prob = cutoff, as_ignored(ignore), prob

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.bernoulli(0, self.prob),)

    def row(self, x: Any, apply: bool) -> Any:
        x = as_array(x)
        return histogram.auto_contrast(x, self.cutoff, self.ignore, "RandomAutoContrast") if apply else x


class _RandomApplyOperation(ImageTensorOperation):
    """Base of the operations on arrays that are applied with a probability."""

    random = True

    @checked
    def __init__(self, prob: Probability = 0.5) -> None:
        self.prob = prob

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.bernoulli(0, self.prob),)


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomEqualize(_RandomApplyOperation, ours=True):
    """Equalize the histogram, with a given probability.

    >>> RandomEqualize(1.0)(np.zeros((2, 2, 3), np.uint8)).max()
    np.uint8(0)
    """

    def row(self, x: Any, apply: bool) -> Any:
        return histogram.equalize(as_array(x), "RandomEqualize") if apply else as_array(x)


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomInvert(_RandomApplyOperation, ours=True):
    """Invert the colours, with a given probability.

    >>> RandomInvert(1.0)(np.array([[[0, 5, 255]]], np.uint8)).tolist()
    [[[255, 250, 0]]]
    """

    def row(self, x: Any, apply: bool) -> Any:
        return colour.invert(as_array(x), "RandomInvert") if apply else as_array(x)


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomAdjustSharpness(ImageTensorOperation):
    """Adjust the sharpness, with a given probability.

    It differs from MindSpore's where AdjustSharpness does.

    >>> RandomAdjustSharpness(2.0, 1.0)(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    random = True

    @checked
    def __init__(self, degree: Factor, prob: Probability = 0.5) -> None:
        self.degree, self.prob = degree, prob

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.bernoulli(0, self.prob),)

    def row(self, x: Any, apply: bool) -> Any:
        x = as_array(x)
        return colour.sharpness(x, self.degree, "RandomAdjustSharpness") if apply else x


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomPosterize(ImageTensorOperation):
    """Posterize to a random number of bits from a range.

    >>> RandomPosterize((1, 1))(np.array([[[100, 200, 128]]], np.uint8)).tolist()
    [[[0, 128, 128]]]
    """

    random = True

    @checked
    def __init__(self, bits: Bits = (8, 8)) -> None:
        self.bits = bits

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        low, high = (self.bits, self.bits) if isinstance(self.bits, int) else self.bits
        return (rng.integers(0, low, high + 1),)

    def row(self, x: Any, bits: int) -> Any:
        return colour.posterize(x, int(bits), "RandomPosterize")


def _check_thresholds(name: str, value: Any) -> None:
    check_type(value, (tuple,), name)
    check_each_type(value, (int,), name)
    if len(value) != 2:
        raise ArgumentValueError("threshold must be a sequence of two numbers.")
    for item in value:
        check_interval(item, 0, 255)
    if value[1] < value[0]:
        raise ArgumentValueError("threshold must be in min max format numbers.")


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomSolarize(ImageTensorOperation):
    """Solarize a random range of values within the given one.

    >>> RandomSolarize((0, 255))(np.zeros((2, 2, 3), np.uint8)).shape
    (2, 2, 3)
    """

    random = True

    @checked
    def __init__(self, threshold: Annotated[Any, ArgumentRule(_check_thresholds)] = (0, 255)) -> None:
        self.threshold = threshold

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        low, high = self.threshold
        return rng.integers(0, low, high + 1), rng.integers(1, low, high + 1)

    def row(self, x: Any, one: int, two: int) -> Any:
        return colour.solarize(x, min(one, two), max(one, two), "RandomSolarize")


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomColor(ImageTensorOperation):
    """Adjust the saturation by a random factor from a range.

    It differs from MindSpore's where AdjustSaturation does.

    >>> RandomColor((0.5, 1.5))(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    random = True

    @checked
    def __init__(self, degrees: PositiveDegrees = (0.1, 1.9)) -> None:
        self.degrees = tuple(degrees)

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.uniform(0, *self.degrees),)

    def row(self, x: Any, factor: float) -> Any:
        if factor == 1 and not is_pil(x):
            colour.check_image("RandomColor", x, ranks=(3,), channels=(3,))
            return x
        return colour.saturation(x, factor, "RandomColor")


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomSharpness(RandomColor, ours=True):
    """Adjust the sharpness by a random factor from a range.

    It differs from MindSpore's where AdjustSharpness does.

    >>> RandomSharpness((0.5, 1.5))(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    def row(self, x: Any, factor: float) -> Any:
        return colour.sharpness(x, factor, "RandomSharpness")


def _check_spread(name: str, value: Any, high: float) -> None:
    check_type(value, (numbers.Number, list, tuple), name)
    low = -high if name == "hue" else 0
    if isinstance(value, numbers.Number):
        if value < 0:  # type: ignore[operator]
            raise ArgumentValueError(f"The input value of {name} cannot be negative.")
        return
    if len(value) != 2:
        raise ArgumentTypeError(f"If {name} is a sequence, the length must be 2.")
    if value[0] > value[1]:
        raise ArgumentValueError(f"{name} value should be in (min,max) format. Got ({value[0]}, {value[1]}).")
    check_order(value, low, high)


Spread = Annotated[Any, ArgumentRule(lambda name, value: _check_spread(name, value, FLOAT_MAX))]
HueSpread = Annotated[Any, ArgumentRule(lambda name, value: _check_spread(name, value, 0.5))]


def _as_range(value: Any, center: int, low: float, high: float) -> tuple[float, float]:
    if not isinstance(value, numbers.Number):
        return (value[0], value[1])
    first = center - value  # type: ignore[operator]
    pair = (max(0, first) if center else first, center + value)  # type: ignore[operator]
    check_order(pair, low, high)
    return pair


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomColorAdjust(ImageTensorOperation):
    """Adjust brightness, contrast, saturation and hue by random factors from ranges (color jitter), in random order.

    For the same factors the pixels equal those of AdjustBrightness, AdjustContrast, AdjustSaturation and
    AdjustHue, and differ from MindSpore's where those do.

    >>> RandomColorAdjust(brightness=(0.5, 1.5))(np.full((1, 1, 3), 60, np.uint8)).shape
    (1, 1, 3)
    """

    random = True
    _KERNELS = (colour.brightness, colour.contrast, colour.saturation, colour.hue)

    @checked
    def __init__(
        self,
        brightness: Spread = (1, 1),
        contrast: Spread = (1, 1),
        saturation: Spread = (1, 1),
        hue: HueSpread = (0, 0),
    ) -> None:
        self.brightness = _as_range(brightness, 1, 0, FLOAT_MAX)
        self.contrast = _as_range(contrast, 1, 0, FLOAT_MAX)
        self.saturation = _as_range(saturation, 1, 0, FLOAT_MAX)
        self.hue = _as_range(hue, 0, -0.5, 0.5)

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = np.stack([rng.uniform(i, *pair) for i, pair in enumerate(ranges)], axis=1)
        order = np.argsort(np.stack([rng.bits(4 + i) for i in range(4)], axis=1), axis=1)
        return factors, order

    def row(self, x: Any, factors: Any, order: Any) -> Any:
        for i in order:
            if is_pil(x) or factors[i] != (0.0 if i == 3 else 1.0):
                x = self._KERNELS[i](x, float(factors[i]), "RandomColorAdjust")
        return x


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class RandomLighting(ImageTensorOperation):
    """Add AlexNet's PCA lighting noise, with random weights of the given standard deviation.

    >>> RandomLighting(0.0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    random = True

    @checked
    def __init__(self, alpha: Factor = 0.05) -> None:
        self.alpha = alpha

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (np.stack([rng.normal(i, 0.0, self.alpha) for i in range(3)], axis=1),)

    def row(self, x: Any, weights: Any) -> Any:
        return colour.lighting(x, weights)


@public("dataset.vision", "dataset.vision.py_transforms")
class RandomGrayscale(ImageTensorOperation):
    """Convert a Pillow image to grey with the same number of channels, with a given probability.

    >>> import PIL.Image
    >>> RandomGrayscale(1.0)(PIL.Image.new("RGB", (8, 6))).mode
    'RGB'
    """

    runs_in_python = True
    random = True

    @checked
    def __init__(self, prob: Probability = 0.1) -> None:
        self.prob = prob

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.bernoulli(0, self.prob),)

    def row(self, x: Any, apply: bool) -> Any:
        colour.check_pil_image("RandomGrayscale", x)
        return colour.grayscale(x, 1 if x.mode == "L" else 3, "RandomGrayscale") if apply else x
