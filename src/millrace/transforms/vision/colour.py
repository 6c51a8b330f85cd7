"""Colours, given and drawn."""

from __future__ import annotations

import numbers
from typing import Annotated, Any

import numpy as np

from millrace.core.args import Range, check_type, checked
from millrace.core.errors import ArgumentTypeError, ArgumentValueError
from millrace.core.rng import Draws
from millrace.kernels.vision import colour, histogram
from millrace.kernels.vision.enums import ConvertMode
from millrace.kernels.vision.image import as_array, is_pil
from millrace.transforms.checks import FLOAT_MAX, Factor, Probability, Rule, between, each_type, in_order
from millrace.transforms.operation import ImageOperation

from .checks import Bits, Ignore, PositiveDegrees

__all__ = [
    "AdjustBrightness",
    "AdjustContrast",
    "AdjustGamma",
    "AdjustHue",
    "AdjustSaturation",
    "AdjustSharpness",
    "AutoContrast",
    "ConvertColor",
    "Equalize",
    "GaussianBlur",
    "Grayscale",
    "Invert",
    "Posterize",
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
    "Solarize",
]


def _unnamed_factor(name: str, value: Any) -> None:
    check_type(value, (float, int), name)
    between(value, 0, FLOAT_MAX)


UnnamedFactor = Annotated[Any, Rule(_unnamed_factor)]


class AdjustBrightness(ImageOperation):
    """All values times a factor: 0 is black, 1 the image itself.

    >>> AdjustBrightness(2.0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[120, 120, 120]]]
    """

    @checked
    def __init__(self, brightness_factor: Factor) -> None:
        self.brightness_factor = brightness_factor

    def row(self, x: Any) -> Any:
        return colour.brightness(x, self.brightness_factor)


class AdjustContrast(ImageOperation):
    """Values away from the mean grey (above 1) or towards it (below 1).

    >>> AdjustContrast(0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    @checked
    def __init__(self, contrast_factor: Factor) -> None:
        self.contrast_factor = contrast_factor

    def row(self, x: Any) -> Any:
        return colour.contrast(x, self.contrast_factor)


class AdjustSaturation(ImageOperation):
    """Colours away from their grey (above 1) or towards it (below 1).

    >>> AdjustSaturation(0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    @checked
    def __init__(self, saturation_factor: UnnamedFactor) -> None:
        self.saturation_factor = saturation_factor

    def row(self, x: Any) -> Any:
        return colour.saturation(x, self.saturation_factor)


class AdjustHue(ImageOperation):
    """Colours turned by a part of the colour circle, from -0.5 to 0.5.

    >>> AdjustHue(0.5)(np.array([[[255, 0, 0]]], np.uint8)).shape
    (1, 1, 3)
    """

    @checked
    def __init__(self, hue_factor: Annotated[float | int, Range(-0.5, 0.5)]) -> None:
        self.hue_factor = hue_factor

    def row(self, x: Any) -> Any:
        return colour.hue(x, self.hue_factor)


class AdjustSharpness(ImageOperation):
    """Away from the blurred image (above 1) or towards it (below 1).

    >>> AdjustSharpness(2.0)(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    @checked
    def __init__(self, sharpness_factor: UnnamedFactor) -> None:
        self.sharpness_factor = sharpness_factor

    def row(self, x: Any) -> Any:
        return colour.sharpness(as_array(x), self.sharpness_factor)


def _gain(name: str, value: Any) -> None:
    check_type(value, (float, int), name)
    between(value, -FLOAT_MAX, FLOAT_MAX)


class AdjustGamma(ImageOperation):
    """255 * gain * (x / 255) ** gamma.

    >>> AdjustGamma(1.0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    @checked
    def __init__(self, gamma: UnnamedFactor, gain: Annotated[Any, Rule(_gain)] = 1) -> None:
        self.gamma, self.gain = gamma, gain

    def row(self, x: Any) -> Any:
        return colour.gamma(x, self.gamma, self.gain)


def _as_ignored(ignore: Any) -> tuple[int, ...]:
    return () if ignore is None else (ignore,) if isinstance(ignore, int) else tuple(ignore)


Cutoff = Annotated[int | float, Range(0, 50, right_open=True)]


class AutoContrast(ImageOperation):
    """The darkest value black and the lightest white, after a cutoff in percent at both ends.

    >>> AutoContrast()(np.array([[[10] * 3, [20] * 3]], np.uint8)).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """

    @checked
    def __init__(self, cutoff: Cutoff = 0.0, ignore: Ignore = None) -> None:
        self.cutoff, self.ignore = cutoff, _as_ignored(ignore)

    def row(self, x: Any) -> Any:
        return histogram.auto_contrast(x, self.cutoff, self.ignore)


class RandomAutoContrast(ImageOperation):
    """AutoContrast with a given probability.

    >>> RandomAutoContrast(prob=1.0)(np.array([[[10] * 3, [20] * 3]], np.uint8)).max()
    np.uint8(255)
    """

    random = True

    @checked
    def __init__(self, cutoff: Cutoff = 0.0, ignore: Ignore = None, prob: Probability = 0.5) -> None:
        self.cutoff, self.ignore, self.prob = cutoff, _as_ignored(ignore), prob

    def params(self, draws: Draws) -> tuple[Any, ...]:
        return (draws.chance(0, self.prob),)

    def row(self, x: Any, now: bool) -> Any:
        x = as_array(x)
        return histogram.auto_contrast(x, self.cutoff, self.ignore, "RandomAutoContrast") if now else x


class Equalize(ImageOperation):
    """Each value about as often as every other.

    >>> Equalize()(np.zeros((2, 2, 3), np.uint8)).max()
    np.uint8(0)
    """

    def row(self, x: Any) -> Any:
        return histogram.equalize(x)


class _WithProbability(ImageOperation):
    """Something that happens with a probability, to arrays."""

    random = True

    @checked
    def __init__(self, prob: Probability = 0.5) -> None:
        self.prob = prob

    def params(self, draws: Draws) -> tuple[Any, ...]:
        return (draws.chance(0, self.prob),)


class RandomEqualize(_WithProbability):
    """Equalize with a given probability.

    >>> RandomEqualize(1.0)(np.zeros((2, 2, 3), np.uint8)).max()
    np.uint8(0)
    """

    def row(self, x: Any, now: bool) -> Any:
        return histogram.equalize(as_array(x), "RandomEqualize") if now else as_array(x)


class Invert(ImageOperation):
    """255 less the value.

    >>> Invert()(np.array([[[0, 5, 255]]], np.uint8)).tolist()
    [[[255, 250, 0]]]
    """

    def row(self, x: Any) -> Any:
        return colour.invert(x)


class RandomInvert(_WithProbability):
    """Invert with a given probability.

    >>> RandomInvert(1.0)(np.array([[[0, 5, 255]]], np.uint8)).tolist()
    [[[255, 250, 0]]]
    """

    def row(self, x: Any, now: bool) -> Any:
        return colour.invert(as_array(x), "RandomInvert") if now else as_array(x)


class RandomAdjustSharpness(ImageOperation):
    """AdjustSharpness with a given probability.

    >>> RandomAdjustSharpness(2.0, 1.0)(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    random = True

    @checked
    def __init__(self, degree: Factor, prob: Probability = 0.5) -> None:
        self.degree, self.prob = degree, prob

    def params(self, draws: Draws) -> tuple[Any, ...]:
        return (draws.chance(0, self.prob),)

    def row(self, x: Any, now: bool) -> Any:
        x = as_array(x)
        return colour.sharpness(x, self.degree, "RandomAdjustSharpness") if now else x


class Posterize(ImageOperation):
    """Only the highest bits of each value.

    >>> Posterize(1)(np.array([[[100, 200, 128]]], np.uint8)).tolist()
    [[[0, 128, 128]]]
    """

    @checked
    def __init__(self, bits: Annotated[int, Range(0, 8)]) -> None:
        self.bits = bits

    def row(self, x: Any) -> Any:
        return colour.posterize(x, self.bits)


class RandomPosterize(ImageOperation):
    """Posterize to a number of bits drawn from a range.

    >>> RandomPosterize((1, 1))(np.array([[[100, 200, 128]]], np.uint8)).tolist()
    [[[0, 128, 128]]]
    """

    random = True

    @checked
    def __init__(self, bits: Bits = (8, 8)) -> None:
        self.bits = bits

    def params(self, draws: Draws) -> tuple[Any, ...]:
        low, high = (self.bits, self.bits) if isinstance(self.bits, int) else self.bits
        return (draws.integers(0, low, high + 1),)

    def row(self, x: Any, bits: int) -> Any:
        return colour.posterize(x, int(bits), "RandomPosterize")


def _threshold(name: str, value: Any) -> None:
    check_type(value, (float, int, list, tuple), name)
    pair = (value, value) if isinstance(value, (float, int)) else value
    each_type(pair, (float, int), name)
    if len(pair) != 2:
        raise ArgumentTypeError("threshold must be a single number or sequence of two numbers.")
    for i, item in enumerate(pair):
        between(item, 0, 255, f"{name}[{i}]")
    if pair[1] < pair[0]:
        raise ArgumentValueError("threshold must be in order of (min, max).")


class Solarize(ImageOperation):
    """Values within a range (or equal to one number) inverted.

    >>> Solarize((100, 255))(np.array([[[50, 100, 200]]], np.uint8)).tolist()
    [[[50, 155, 55]]]
    """

    @checked
    def __init__(self, threshold: Annotated[Any, Rule(_threshold)]) -> None:
        self.threshold = (threshold,) * 2 if isinstance(threshold, (float, int)) else tuple(threshold)

    def row(self, x: Any) -> Any:
        return colour.solarize(x, *self.threshold)


def _thresholds(name: str, value: Any) -> None:
    check_type(value, (tuple,), name)
    each_type(value, (int,), name)
    if len(value) != 2:
        raise ArgumentValueError("threshold must be a sequence of two numbers.")
    for item in value:
        between(item, 0, 255)
    if value[1] < value[0]:
        raise ArgumentValueError("threshold must be in min max format numbers.")


class RandomSolarize(ImageOperation):
    """Solarize with a range drawn from within the given one.

    >>> RandomSolarize((0, 255))(np.zeros((2, 2, 3), np.uint8)).shape
    (2, 2, 3)
    """

    random = True

    @checked
    def __init__(self, threshold: Annotated[Any, Rule(_thresholds)] = (0, 255)) -> None:
        self.threshold = threshold

    def params(self, draws: Draws) -> tuple[Any, ...]:
        low, high = self.threshold
        return draws.integers(0, low, high + 1), draws.integers(1, low, high + 1)

    def row(self, x: Any, one: int, two: int) -> Any:
        return colour.solarize(x, min(one, two), max(one, two), "RandomSolarize")


class RandomColor(ImageOperation):
    """AdjustSaturation by a factor drawn from a range.

    >>> RandomColor((0.5, 1.5))(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    random = True

    @checked
    def __init__(self, degrees: PositiveDegrees = (0.1, 1.9)) -> None:
        self.degrees = tuple(degrees)

    def params(self, draws: Draws) -> tuple[Any, ...]:
        return (draws.uniform(0, *self.degrees),)

    def row(self, x: Any, factor: float) -> Any:
        return colour.saturation(x, factor, "RandomColor")


class RandomSharpness(RandomColor):
    """AdjustSharpness by a factor drawn from a range.

    >>> RandomSharpness((0.5, 1.5))(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    def row(self, x: Any, factor: float) -> Any:
        return colour.sharpness(x, factor, "RandomSharpness")


def _spread(name: str, value: Any, high: float) -> None:
    check_type(value, (numbers.Number, list, tuple), name)  # type: ignore[type-abstract]
    low = -high if name == "hue" else 0
    if isinstance(value, numbers.Number):
        if value < 0:  # type: ignore[operator]
            raise ArgumentValueError(f"The input value of {name} cannot be negative.")
        return
    if len(value) != 2:
        raise ArgumentTypeError(f"If {name} is a sequence, the length must be 2.")
    if value[0] > value[1]:
        raise ArgumentValueError(
            f"{name} value should be in (min,max) format. Got ({value[0]}, {value[1]})."
        )
    in_order(value, low, high)


Spread = Annotated[Any, Rule(lambda name, value: _spread(name, value, FLOAT_MAX))]
HueSpread = Annotated[Any, Rule(lambda name, value: _spread(name, value, 0.5))]


def _as_range(value: Any, center: int, low: float, high: float) -> tuple[float, float]:
    if not isinstance(value, numbers.Number):
        return (value[0], value[1])
    first = center - value  # type: ignore[operator]
    pair = (max(0, first) if center else first, center + value)  # type: ignore[operator]
    in_order(pair, low, high)
    return pair


class RandomColorAdjust(ImageOperation):
    """Brightness, contrast, saturation and hue by factors drawn from ranges, in a drawn order.

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

    def params(self, draws: Draws) -> tuple[Any, ...]:
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = np.stack([draws.uniform(i, *pair) for i, pair in enumerate(ranges)], axis=1)
        order = np.argsort(np.stack([draws.bits(4 + i) for i in range(4)], axis=1), axis=1)
        return factors, order

    def row(self, x: Any, factors: Any, order: Any) -> Any:
        for i in order:
            if is_pil(x) or factors[i] != (0.0 if i == 3 else 1.0):
                x = self._KERNELS[i](x, float(factors[i]), "RandomColorAdjust")
        return x


class RandomLighting(ImageOperation):
    """AlexNet's noise along the main colours of ImageNet, with weights of the given spread.

    >>> RandomLighting(0.0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    random = True

    @checked
    def __init__(self, alpha: Factor = 0.05) -> None:
        self.alpha = alpha

    def params(self, draws: Draws) -> tuple[Any, ...]:
        return (np.stack([draws.normal(i, 0.0, self.alpha) for i in range(3)], axis=1),)

    def row(self, x: Any, weights: Any) -> Any:
        return colour.lighting(x, weights)


def _kernel_size(name: str, value: Any) -> None:
    check_type(value, (int, list, tuple), name)
    if not isinstance(value, int) and len(value) != 2:
        raise ArgumentTypeError(
            "Kernel size should be a single integer or a list/tuple (kernel_width, kernel_height) of length 2."
        )
    for i, item in [("", value)] if isinstance(value, int) else [(f"[{i}]", v) for i, v in enumerate(value)]:
        check_type(item, (int,), f"{name}{i}")
        between(item, 1, FLOAT_MAX, name)
        if item % 2 != 1:
            raise ArgumentValueError(f"Input {name}{i} is not an odd value.")


def _sigma(name: str, value: Any) -> None:
    check_type(value, (numbers.Number, list, tuple), name)  # type: ignore[type-abstract]
    if isinstance(value, numbers.Number):
        between(value, 0, FLOAT_MAX, name)
        return
    if len(value) != 2:
        raise ArgumentTypeError("Sigma should be a single number or a list/tuple of length 2 for width and height.")
    for i, item in enumerate(value):
        check_type(item, (numbers.Number,), f"size[{i}]")  # type: ignore[type-abstract]
        between(item, 0, FLOAT_MAX, name)


class GaussianBlur(ImageOperation):
    """A blur with a kernel of odd size (width, height); sigma follows from the size where it is not given.

    >>> GaussianBlur(3)(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    @checked
    def __init__(
        self, kernel_size: Annotated[Any, Rule(_kernel_size)], sigma: Annotated[Any, Rule(_sigma)] = None
    ) -> None:
        self.kernel_size = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        self.sigma = (0.0, 0.0) if sigma is None else sigma
        self.sigma = (float(self.sigma),) * 2 if not isinstance(self.sigma, (list, tuple)) else tuple(self.sigma)

    def row(self, x: Any) -> Any:
        return colour.gaussian_blur(x, self.kernel_size, self.sigma)


class ConvertColor(ImageOperation):
    """Other colour channels, or the same in another order.

    >>> import millrace.dataset.vision as vision
    >>> ConvertColor(vision.ConvertMode.COLOR_RGB2BGR)(np.array([[[1, 2, 3]]], np.uint8)).tolist()
    [[[3, 2, 1]]]
    """

    @checked
    def __init__(self, convert_mode: ConvertMode) -> None:
        self.convert_mode = convert_mode

    def row(self, x: Any) -> Any:
        return colour.convert(x, self.convert_mode)


def _num_channels(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value not in (1, 3):
        raise ArgumentValueError(
            f"Number of channels of the output grayscale imageshould be either 1 or 3. Got {value}."
        )


class Grayscale(ImageOperation):
    """A grey Pillow image, with one channel or three equal ones.

    >>> import PIL.Image
    >>> Grayscale(1)(PIL.Image.new("RGB", (8, 6))).mode
    'L'
    """

    @checked
    def __init__(self, num_output_channels: Annotated[Any, Rule(_num_channels)] = 1) -> None:
        self.num_output_channels = num_output_channels

    def row(self, x: Any) -> Any:
        return colour.grayscale(x, self.num_output_channels)


class RandomGrayscale(ImageOperation):
    """A grey Pillow image with as many channels as before, with a given probability.

    >>> import PIL.Image
    >>> RandomGrayscale(1.0)(PIL.Image.new("RGB", (8, 6))).mode
    'RGB'
    """

    random = True

    @checked
    def __init__(self, prob: Probability = 0.1) -> None:
        self.prob = prob

    def params(self, draws: Draws) -> tuple[Any, ...]:
        return (draws.chance(0, self.prob),)

    def row(self, x: Any, now: bool) -> Any:
        colour.need_pil("RandomGrayscale", x)
        return colour.grayscale(x, 1 if x.mode == "L" else 3, "RandomGrayscale") if now else x
