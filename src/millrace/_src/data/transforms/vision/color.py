"""Color transforms with fixed parameters."""

from __future__ import annotations

import numbers
from typing import Annotated, Any

from millrace._src.core.args import Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.vision import batch_kernels as many
from millrace._src.data.kernels.vision import color as colour
from millrace._src.data.kernels.vision import histogram
from millrace._src.data.kernels.vision.enums import ConvertMode
from millrace._src.data.kernels.vision.validation import as_array
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    Factor,
    check_each_type,
    check_interval,
)
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation

from .argument_types import Ignore

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
    "Solarize",
]


def _check_unnamed_factor(name: str, value: Any) -> None:
    check_type(value, (float, int), name)
    check_interval(value, 0, FLOAT_MAX)


UnnamedFactor = Annotated[Any, ArgumentRule(_check_unnamed_factor)]


@public("dataset.vision")
class AdjustBrightness(ImageTensorOperation):
    """Adjust the brightness: multiply all values by a factor; 0 is black, 1 the image itself.

    >>> import numpy as np
    >>> AdjustBrightness(2.0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[120, 120, 120]]]
    """

    @checked
    def __init__(self, brightness_factor: Factor) -> None:
        self.brightness_factor = brightness_factor

    def row(self, x: Any) -> Any:
        return colour.brightness(x, self.brightness_factor)


@public("dataset.vision")
class AdjustContrast(ImageTensorOperation):
    """Adjust the contrast: move values away from the mean grey (above 1) or towards it (below 1).

    Floats differ from MindSpore's in their last bit: OpenCV 5 sums in another order.

    >>> import numpy as np
    >>> AdjustContrast(0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    @checked
    def __init__(self, contrast_factor: Factor) -> None:
        self.contrast_factor = contrast_factor

    def row(self, x: Any) -> Any:
        return colour.contrast(x, self.contrast_factor)


@public("dataset.vision")
class AdjustSaturation(ImageTensorOperation):
    """Adjust the saturation: move colours away from their grey (above 1) or towards it (below 1).

    Floats differ from MindSpore's in their last bit: OpenCV 5 sums in another order.

    >>> import numpy as np
    >>> AdjustSaturation(0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    @checked
    def __init__(self, saturation_factor: UnnamedFactor) -> None:
        self.saturation_factor = saturation_factor

    def row(self, x: Any) -> Any:
        return colour.saturation(x, self.saturation_factor)


@public("dataset.vision")
class AdjustHue(ImageTensorOperation):
    """Adjust the hue: rotate it by a share of the colour circle, from -0.5 to 0.5.

    Up to a third of the values differ by 1 from MindSpore's: OpenCV 5 rounds differently in the conversion back from
    HSV. Arrays must be uint8 (MindSpore's results for floats overflow).

    >>> import numpy as np
    >>> AdjustHue(0.5)(np.array([[[255, 0, 0]]], np.uint8)).shape
    (1, 1, 3)
    """

    @checked
    def __init__(self, hue_factor: Annotated[float | int, Range(-0.5, 0.5)]) -> None:
        self.hue_factor = hue_factor

    def row(self, x: Any) -> Any:
        return colour.hue(x, self.hue_factor)


@public("dataset.vision")
class AdjustSharpness(ImageTensorOperation):
    """Adjust the sharpness: move values away from the blurred image (above 1) or towards it (below 1).

    Floats differ from MindSpore's in their last bit: OpenCV 5 sums in another order.

    >>> import numpy as np
    >>> AdjustSharpness(2.0)(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    @checked
    def __init__(self, sharpness_factor: UnnamedFactor) -> None:
        self.sharpness_factor = sharpness_factor

    def row(self, x: Any) -> Any:
        return colour.sharpness(as_array(x), self.sharpness_factor)


def _check_gain(name: str, value: Any) -> None:
    check_type(value, (float, int), name)
    check_interval(value, -FLOAT_MAX, FLOAT_MAX)


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class AdjustGamma(ImageTensorOperation):
    """Apply gamma correction: 255 * gain * (x / 255) ** gamma.

    Floats in [0, 1] are (gain * x) ** gamma, as float32; they differ from MindSpore's by up to 6e-8, the last
    bit. Integers other than uint8 are refused: MindSpore transforms their bytes.

    >>> import numpy as np
    >>> AdjustGamma(1.0)(np.full((1, 1, 3), 60, np.uint8)).tolist()
    [[[60, 60, 60]]]
    """

    @checked
    def __init__(self, gamma: UnnamedFactor, gain: Annotated[Any, ArgumentRule(_check_gain)] = 1) -> None:
        self.gamma, self.gain = gamma, gain

    def row(self, x: Any) -> Any:
        return colour.gamma(x, self.gamma, self.gain)


def as_ignored(ignore: Any) -> tuple[int, ...]:
    return () if ignore is None else (ignore,) if isinstance(ignore, int) else tuple(ignore)


Cutoff = Annotated[int | float, Range(0, 50, right_open=True)]


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class AutoContrast(ImageTensorOperation):
    """Maximize the contrast: the darkest value becomes black, the lightest white, after a cutoff in percent.

    >>> import numpy as np
    >>> AutoContrast()(np.array([[[10] * 3, [20] * 3]], np.uint8)).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """

    @checked
    def __init__(self, cutoff: Cutoff = 0.0, ignore: Ignore = None) -> None:
        self.cutoff, self.ignore = cutoff, as_ignored(ignore)

    def row(self, x: Any) -> Any:
        return histogram.auto_contrast(x, self.cutoff, self.ignore)


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class Equalize(ImageTensorOperation):
    """Equalize the histogram: each value occurs about equally often.

    >>> import numpy as np
    >>> Equalize()(np.zeros((2, 2, 3), np.uint8)).max()
    np.uint8(0)
    """

    def row(self, x: Any) -> Any:
        return histogram.equalize(x)


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class Invert(ImageTensorOperation):
    """Invert the colours: 255 minus the value.

    >>> import numpy as np
    >>> Invert()(np.array([[[0, 5, 255]]], np.uint8)).tolist()
    [[[255, 250, 0]]]
    """

    def row(self, x: Any) -> Any:
        return colour.invert(x)

    def batch(self, xs: Any) -> Any:
        return many.invert(xs)


@public("dataset.vision")
class Posterize(ImageTensorOperation):
    """Posterize: keep only the highest bits of each value.

    >>> import numpy as np
    >>> Posterize(1)(np.array([[[100, 200, 128]]], np.uint8)).tolist()
    [[[0, 128, 128]]]
    """

    @checked
    def __init__(self, bits: Annotated[int, Range(0, 8)]) -> None:
        self.bits = bits

    def row(self, x: Any) -> Any:
        return colour.posterize(x, self.bits)


def _check_threshold(name: str, value: Any) -> None:
    check_type(value, (float, int, list, tuple), name)
    pair = (value, value) if isinstance(value, (float, int)) else value
    check_each_type(pair, (float, int), name)
    if len(pair) != 2:
        raise ArgumentTypeError("threshold must be a single number or sequence of two numbers.")
    for i, item in enumerate(pair):
        check_interval(item, 0, 255, f"{name}[{i}]")
    if pair[1] < pair[0]:
        raise ArgumentValueError("threshold must be in order of (min, max).")


@public("dataset.vision")
class Solarize(ImageTensorOperation):
    """Solarize: invert the values within a range (or equal to one number).

    >>> import numpy as np
    >>> Solarize((100, 255))(np.array([[[50, 100, 200]]], np.uint8)).tolist()
    [[[50, 155, 55]]]
    """

    @checked
    def __init__(self, threshold: Annotated[Any, ArgumentRule(_check_threshold)]) -> None:
        self.threshold = (threshold,) * 2 if isinstance(threshold, (float, int)) else tuple(threshold)

    def row(self, x: Any) -> Any:
        return colour.solarize(x, *self.threshold)


def _check_kernel_size(name: str, value: Any) -> None:
    check_type(value, (int, list, tuple), name)
    if not isinstance(value, int) and len(value) != 2:
        raise ArgumentTypeError(
            "Kernel size should be a single integer or a list/tuple (kernel_width, kernel_height) of length 2."
        )
    for i, item in [("", value)] if isinstance(value, int) else [(f"[{i}]", v) for i, v in enumerate(value)]:
        check_type(item, (int,), f"{name}{i}")
        check_interval(item, 1, FLOAT_MAX, name)
        if item % 2 != 1:
            raise ArgumentValueError(f"Input {name}{i} is not an odd value.")


def _check_sigma(name: str, value: Any) -> None:
    check_type(value, (numbers.Number, list, tuple), name)
    if isinstance(value, numbers.Number):
        check_interval(value, 0, FLOAT_MAX, name)
        return
    if len(value) != 2:
        raise ArgumentTypeError(
            "Sigma should be a single number or a list/tuple of length 2 for width and height."
        )
    for i, item in enumerate(value):
        check_type(item, (numbers.Number,), f"size[{i}]")
        check_interval(item, 0, FLOAT_MAX, name)


@public("dataset.vision", "dataset.vision.c_transforms")
class GaussianBlur(ImageTensorOperation):
    """Blur with a Gaussian kernel of odd size (width, height); the default sigma is computed from the size.

    Floats differ from MindSpore's in their last bit: OpenCV 5 sums in another order.

    >>> import numpy as np
    >>> GaussianBlur(3)(np.full((3, 3, 3), 60, np.uint8)).max()
    np.uint8(60)
    """

    @checked
    def __init__(
        self,
        kernel_size: Annotated[Any, ArgumentRule(_check_kernel_size)],
        sigma: Annotated[Any, ArgumentRule(_check_sigma)] = None,
    ) -> None:
        self.kernel_size = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        self.sigma = (0.0, 0.0) if sigma is None else sigma
        self.sigma = (
            (float(self.sigma),) * 2 if not isinstance(self.sigma, (list, tuple)) else tuple(self.sigma)
        )

    def row(self, x: Any) -> Any:
        return colour.gaussian_blur(x, self.kernel_size, self.sigma)


@public("dataset.vision", "dataset.vision.c_transforms")
class ConvertColor(ImageTensorOperation):
    """Convert the colour channels: other channels, or another order.

    Grey of float32 differs from MindSpore's by up to 1e-7: OpenCV 5 sums in another order.

    >>> import numpy as np
    >>> import millrace.dataset.vision as vision
    >>> ConvertColor(vision.ConvertMode.COLOR_RGB2BGR)(np.array([[[1, 2, 3]]], np.uint8)).tolist()
    [[[3, 2, 1]]]
    """

    @checked
    def __init__(self, convert_mode: ConvertMode) -> None:
        self.convert_mode = convert_mode

    def row(self, x: Any) -> Any:
        return colour.convert(x, self.convert_mode)


def _check_num_channels(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value not in (1, 3):
        raise ArgumentValueError(
            f"Number of channels of the output grayscale imageshould be either 1 or 3. Got {value}."
        )


@public("dataset.vision", "dataset.vision.py_transforms")
class Grayscale(ImageTensorOperation):
    """Convert a Pillow image to grey, with one channel or three equal ones.

    >>> import PIL.Image
    >>> Grayscale(1)(PIL.Image.new("RGB", (8, 6))).mode
    'L'
    """

    runs_in_python = True

    @checked
    def __init__(self, num_output_channels: Annotated[Any, ArgumentRule(_check_num_channels)] = 1) -> None:
        self.num_output_channels = num_output_channels

    def row(self, x: Any) -> Any:
        return colour.grayscale(x, self.num_output_channels)
