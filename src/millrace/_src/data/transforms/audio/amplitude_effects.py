"""Amplitude transforms: gain, volume, contrast, DC shift, dither, fade, mu-law, overdrive."""

from __future__ import annotations

from typing import Annotated, Any

from millrace._src.core.args import Range, checked
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.audio import amplitude_effects as levels
from millrace._src.data.kernels.audio import dither
from millrace._src.data.kernels.audio import mu_law as codecs
from millrace._src.data.kernels.audio.enums import DensityFunction, FadeShape, GainType
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    NonNegativeInt,
    PositiveInt,
    check_interval,
)

from .argument_types import Float
from .base import AudioTensorOperation, batch_any_leading_dims

__all__ = [
    "Contrast",
    "DCShift",
    "Dither",
    "Fade",
    "Gain",
    "MuLawDecoding",
    "MuLawEncoding",
    "Overdrive",
    "Vol",
]

Percent = Annotated[float | int, Range(0, 100)]


@public("dataset.audio", "dataset.audio.transforms")
class Contrast(AudioTensorOperation):
    """Apply contrast (dynamic range compression) to a waveform, by an amount from 0 to 100; it sounds louder.

    >>> import numpy as np
    >>> Contrast(75.0)(np.array([0.0, 0.25, 1.0])).round(3).tolist()
    [0.0, 0.473, 1.0]
    """

    @checked
    def __init__(self, enhancement_amount: Percent = 75.0) -> None:
        self.enhancement_amount = enhancement_amount

    def row(self, x: Any) -> Any:
        return levels.contrast(x, self.enhancement_amount)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class DCShift(AudioTensorOperation):
    """Apply a DC shift: add a constant to a waveform and clip it to [-1, 1].

    With ``limiter_gain``, peaks are compressed instead of clipped. A shift below 0 has the same effect as the opposite
    shift on the negated waveform. MindSpore does not negate the limited values back, so that results with a limiter and
    a shift below 0 differ.

    >>> import numpy as np
    >>> DCShift(0.5)(np.array([-0.25, 0.25, 0.75])).tolist()
    [0.25, 0.75, 1.0]
    """

    @checked
    def __init__(
        self,
        shift: Annotated[float | int, Range(-2.0, 2.0)],
        limiter_gain: float | int | None = None,
    ) -> None:
        self.shift, self.limiter_gain = shift, limiter_gain

    def row(self, x: Any) -> Any:
        return levels.dc_shift(x, self.shift, self.limiter_gain)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class Dither(AudioTensorOperation):
    """Dither a waveform: quantize it to 16 bits after adding noise, which avoids quantization tones.

    TPDF adds a triangle over the whole waveform and is deterministic. RPDF adds one randomly selected value of the
    waveform, minus 0.5; GPDF adds the sum of seven. ``noise_shaping`` adds to each value the error of the previous one.
    (MindSpore's GPDF also modifies its input. Here the input is not changed.)

    >>> import numpy as np
    >>> Dither()(np.zeros(4, np.float32)).tolist()
    [0.0, 3.0517578125e-05, 3.0517578125e-05, 3.0517578125e-05]
    """

    @checked
    def __init__(
        self, density_function: DensityFunction = DensityFunction.TPDF, noise_shaping: bool = False
    ) -> None:
        self.density_function, self.noise_shaping = density_function, noise_shaping

    @property
    def random(self) -> bool:  # type: ignore[override]
        return self.density_function != DensityFunction.TPDF

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.uniforms(range(dither.RANDOM_VALUES)),)

    def row(self, x: Any, units: Any = ()) -> Any:
        if not self.random:
            return dither.add_triangular_noise(x, self.noise_shaping)
        gaussian = self.density_function == DensityFunction.GPDF
        return dither.add_sampled_noise(x, units, self.noise_shaping, gaussian)

    def batch(self, xs: Any, units: Any = None) -> Any:
        """Compute all rows at once if no random numbers are needed."""
        return None if self.random else batch_any_leading_dims(self, xs)


@public("dataset.audio", "dataset.audio.transforms")
class Fade(AudioTensorOperation):
    """Fade a waveform in and out over a number of samples, along a curve.

    >>> import numpy as np
    >>> Fade(3, 3)(np.ones(6)).tolist()
    [0.0, 0.5, 1.0, 1.0, 0.5, 0.0]
    """

    @checked
    def __init__(
        self,
        fade_in_len: NonNegativeInt = 0,
        fade_out_len: NonNegativeInt = 0,
        fade_shape: FadeShape = FadeShape.LINEAR,
    ) -> None:
        self.fade_in_len, self.fade_out_len, self.fade_shape = fade_in_len, fade_out_len, fade_shape

    def row(self, x: Any) -> Any:
        return levels.fade(x, self.fade_in_len, self.fade_out_len, self.fade_shape)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class Gain(AudioTensorOperation):
    """Amplify a waveform (above 0) or attenuate it by a gain in decibels.

    >>> import numpy as np
    >>> Gain(6.0)(np.array([0.1, -0.2])).round(3).tolist()
    [0.2, -0.399]
    """

    @checked
    def __init__(self, gain_db: Float = 1.0) -> None:
        self.gain_db = gain_db

    def row(self, x: Any) -> Any:
        return levels.gain(x, self.gain_db)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class MuLawDecoding(AudioTensorOperation):
    """Decode a mu-law signal: levels to values from -1 to 1.

    >>> import numpy as np
    >>> MuLawDecoding()(np.array([0.0, 127.5, 255.0])).round(4).tolist()
    [-1.0, 0.0, 1.0]
    """

    @checked
    def __init__(self, quantization_channels: PositiveInt = 256) -> None:
        self.quantization_channels = quantization_channels

    def row(self, x: Any) -> Any:
        return codecs.mu_law_decode(x, self.quantization_channels)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class MuLawEncoding(AudioTensorOperation):
    """Encode values from -1 to 1 with the mu-law, as int32 levels.

    NaN and infinities are refused (MindSpore gives a level of -2147483648).

    >>> import numpy as np
    >>> MuLawEncoding()(np.array([-1.0, 0.0, 1.0])).tolist()
    [0, 128, 255]
    """

    @checked
    def __init__(self, quantization_channels: PositiveInt = 256) -> None:
        self.quantization_channels = quantization_channels

    def row(self, x: Any) -> Any:
        return codecs.mu_law_encode(x, self.quantization_channels)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class Overdrive(AudioTensorOperation):
    """Apply overdrive distortion to a waveform.

    >>> import numpy as np
    >>> Overdrive(20.0, 20.0)(np.array([0.0, 0.25, 0.25])).round(3).tolist()
    [0.075, 0.625, 0.622]
    """

    libraries = ("scipy.signal",)

    @checked
    def __init__(self, gain: Percent = 20.0, color: Percent = 20.0) -> None:
        self.gain, self.color = gain, color

    def row(self, x: Any) -> Any:
        return levels.overdrive(x, self.gain, self.color)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class Vol(AudioTensorOperation):
    """Adjust the volume of a waveform and clip it to [-1, 1]; the gain is a factor, a power ratio or decibels.

    >>> import numpy as np
    >>> from millrace.dataset.audio import GainType
    >>> Vol(0.5)(np.array([0.5, 1.0])).tolist()
    [0.25, 0.5]
    >>> Vol(-20, GainType.DB)(np.array([0.5, 1.0])).tolist()
    [0.05, 0.1]
    """

    @checked
    def __init__(self, gain: int | float, gain_type: GainType = GainType.AMPLITUDE) -> None:
        if gain_type == GainType.POWER:
            check_interval(gain, 0, FLOAT_MAX, "gain", left_open=True)
        else:
            check_interval(gain, 0 if gain_type == GainType.AMPLITUDE else -FLOAT_MAX, FLOAT_MAX, "gain")
        self.gain, self.gain_type = gain, gain_type

    def row(self, x: Any) -> Any:
        return levels.volume(x, self.gain, self.gain_type)

    batch = batch_any_leading_dims
