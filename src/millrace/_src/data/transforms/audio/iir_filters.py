"""Filters that are defined by their coefficients."""

from __future__ import annotations

from typing import Annotated, Any

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.audio.biquad_filters import Coefficients, user_coefficients
from millrace._src.data.kernels.audio.iir_filters import filter_waveform, filtfilt
from millrace._src.data.transforms.argument_types import FLOAT_MAX, ArgumentRule, check_interval

from .argument_types import Float
from .base import AudioTensorOperation, batch_any_leading_dims
from .biquad_filters import BiquadOperation

__all__ = ["Biquad", "Filtfilt", "LFilter"]


def _check_not_zero(name: str, value: Any) -> None:
    check_type(value, (float, int), name)
    if value == 0 or not -FLOAT_MAX <= value <= FLOAT_MAX:
        raise ArgumentValueError(
            f"Input {name} is not within the required interval of [-{FLOAT_MAX}, 0) and (0, {FLOAT_MAX}]."
        )


def _check_both(a_coeffs: Any, b_coeffs: Any) -> None:
    """Check two lists of numbers of equal length; types before values, as in MindSpore."""
    for name, value in (("a_coeffs", a_coeffs), ("b_coeffs", b_coeffs)):
        check_type(value, (list, tuple), name)
    for name, values in (("a_coeffs", a_coeffs), ("b_coeffs", b_coeffs)):
        for i, value in enumerate(values):
            check_type(value, (float, int), f"{name}[{i}]")
            check_interval(value, -FLOAT_MAX, FLOAT_MAX, f"{name}[{i}]")
    if len(a_coeffs) != len(b_coeffs):
        raise ArgumentValueError("The size of a_coeffs should be the same as that of b_coeffs.")


@public("dataset.audio", "dataset.audio.transforms")
class Biquad(BiquadOperation):
    """Apply a biquad filter (two poles, two zeros) by its coefficients, and clip the result to [-1, 1].

    float32 is computed in float64 and rounded once, so that results differ from MindSpore's by its own rounding: about
    1e-6 of the largest value, and up to 1e-4 where poles lie close to the unit circle. An unstable filter gives
    infinities and then NaN, as in MindSpore.

    >>> import numpy as np
    >>> Biquad(0.5, 0.0, 0.0, 1.0, -0.5, 0.0)(np.array([0.5, 0.0, 0.0])).tolist()
    [0.25, 0.125, 0.0625]
    """

    @checked
    def __init__(
        self,
        b0: Float,
        b1: Float,
        b2: Float,
        a0: Annotated[Any, ArgumentRule(_check_not_zero)],
        a1: Float,
        a2: Float,
    ) -> None:
        self.b0, self.b1, self.b2, self.a0, self.a1, self.a2 = b0, b1, b2, a0, a1, a2

    def coefficients(self) -> Coefficients:
        return user_coefficients((self.b0, self.b1, self.b2), (self.a0, self.a1, self.a2))


@public("dataset.audio", "dataset.audio.transforms")
class LFilter(AudioTensorOperation):
    """Apply an IIR filter of any order by its coefficients, lower delays first; ``clamp`` clips the result to [-1, 1].

    Results differ from MindSpore's as those of Biquad do.

    >>> import numpy as np
    >>> LFilter([1.0, -0.5], [0.5, 0.0])(np.array([0.5, 0.0, 0.0])).tolist()
    [0.25, 0.125, 0.0625]
    """

    libraries = ("scipy.signal",)

    @checked
    def __init__(self, a_coeffs: Any, b_coeffs: Any, clamp: bool = True) -> None:
        _check_both(a_coeffs, b_coeffs)
        self.a_coeffs, self.b_coeffs, self.clamp = a_coeffs, b_coeffs, clamp

    def row(self, x: Any) -> Any:
        return filter_waveform(x, "LFilter", user_coefficients(self.b_coeffs, self.a_coeffs), self.clamp)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class Filtfilt(AudioTensorOperation):
    """Apply an IIR filter forward and backward, which gives zero phase shift.

    Results differ from MindSpore's as those of Biquad do.

    >>> import numpy as np
    >>> Filtfilt([1.0, 0.0], [0.5, 0.5])(np.array([0.0, 1.0, 0.0, 0.0])).tolist()
    [0.25, 0.5, 0.25, 0.0]
    """

    libraries = ("scipy.signal",)

    @checked
    def __init__(self, a_coeffs: Any, b_coeffs: Any, clamp: bool = True) -> None:
        _check_both(a_coeffs, b_coeffs)
        self.a_coeffs, self.b_coeffs, self.clamp = a_coeffs, b_coeffs, clamp

    def row(self, x: Any) -> Any:
        return filtfilt(x, "Filtfilt", user_coefficients(self.b_coeffs, self.a_coeffs), self.clamp)

    batch = batch_any_leading_dims
