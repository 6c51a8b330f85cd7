"""Biquad filters, by their frequency response."""

from __future__ import annotations

from typing import Annotated, Any

from millrace._src.core.args import Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.public import public
from millrace._src.data.kernels.audio import biquad_filters as biquads
from millrace._src.data.kernels.audio.biquad_filters import Coefficients
from millrace._src.data.kernels.audio.iir_filters import filter_waveform
from millrace._src.data.transforms.argument_types import FLOAT_MAX, ArgumentRule, check_interval

from .argument_types import Float, NonZeroInt
from .base import AudioTensorOperation, batch_any_leading_dims

__all__ = [
    "AllpassBiquad",
    "BandBiquad",
    "BandpassBiquad",
    "BandrejectBiquad",
    "BassBiquad",
    "DeemphBiquad",
    "EqualizerBiquad",
    "HighpassBiquad",
    "LowpassBiquad",
    "RiaaBiquad",
    "TrebleBiquad",
]

Quality = Annotated[float | int, Range(0, 1, left_open=True)]


class BiquadOperation(AudioTensorOperation):
    """Base of the filters with two poles and two zeros."""

    _is_builtin = True
    libraries = ("scipy.signal",)

    def coefficients(self) -> Coefficients:
        """Coefficients b and a of the filter."""
        raise ArgumentTypeError(f"{type(self).__name__} does not define coefficients()")

    def row(self, x: Any) -> Any:
        return filter_waveform(x, type(self).__name__, self.coefficients())

    batch = batch_any_leading_dims


def _check_deemph_rate(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value not in (44100, 48000):
        raise ArgumentValueError(f"Argument {name} should be 44100 or 48000, but got {value}.")


def _check_riaa_rate(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value not in (44100, 48000, 88200, 96000):
        raise ArgumentValueError(f"{name} should be one of [44100, 48000, 88200, 96000], but got {value}.")


def _check_central(name: str, value: Any) -> None:
    # MindSpore's message uses the name of the other filters
    check_type(value, (float, int), "central_freq")
    check_interval(value, -FLOAT_MAX, FLOAT_MAX, "central_freq")


@public("dataset.audio", "dataset.audio.transforms")
class AllpassBiquad(BiquadOperation):
    """Apply a two-pole all-pass filter: it changes the phase around a central frequency, not the magnitude.

    >>> import numpy as np
    >>> AllpassBiquad(44100, 200.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(self, sample_rate: NonZeroInt, central_freq: Float, Q: Quality = 0.707) -> None:
        self.sample_rate, self.central_freq, self.Q = sample_rate, central_freq, Q

    def coefficients(self) -> Coefficients:
        if self.central_freq == 0:
            raise DataError("AllpassBiquad: central_freq can not be equal to zero, but got: 0.000000")
        return biquads.allpass(self.sample_rate, self.central_freq, self.Q)


@public("dataset.audio", "dataset.audio.transforms")
class BandBiquad(BiquadOperation):
    """Apply a two-pole band filter: frequencies are attenuated with their distance from a central frequency.

    ``noise`` selects the mode for unpitched audio.

    >>> import numpy as np
    >>> BandBiquad(44100, 200.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(
        self, sample_rate: NonZeroInt, central_freq: Float, Q: Quality = 0.707, noise: bool = False
    ) -> None:
        self.sample_rate, self.central_freq, self.Q, self.noise = sample_rate, central_freq, Q, noise

    def coefficients(self) -> Coefficients:
        return biquads.band(self.sample_rate, self.central_freq, self.Q, self.noise)


@public("dataset.audio", "dataset.audio.transforms")
class BandpassBiquad(BiquadOperation):
    """Apply a two-pole band-pass filter around a central frequency.

    The peak gain is Q with ``const_skirt_gain``, else 1.

    >>> import numpy as np
    >>> BandpassBiquad(44100, 200.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(
        self, sample_rate: NonZeroInt, central_freq: Float, Q: Quality = 0.707, const_skirt_gain: bool = False
    ) -> None:
        self.sample_rate, self.central_freq, self.Q, self.const_skirt_gain = (
            sample_rate,
            central_freq,
            Q,
            const_skirt_gain,
        )

    def coefficients(self) -> Coefficients:
        return biquads.bandpass(self.sample_rate, self.central_freq, self.Q, self.const_skirt_gain)


@public("dataset.audio", "dataset.audio.transforms")
class BandrejectBiquad(BiquadOperation):
    """Apply a two-pole band-reject (notch) filter around a central frequency.

    >>> import numpy as np
    >>> BandrejectBiquad(44100, 200.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(self, sample_rate: NonZeroInt, central_freq: Float, Q: Quality = 0.707) -> None:
        self.sample_rate, self.central_freq, self.Q = sample_rate, central_freq, Q

    def coefficients(self) -> Coefficients:
        return biquads.bandreject(self.sample_rate, self.central_freq, self.Q)


@public("dataset.audio", "dataset.audio.transforms")
class BassBiquad(BiquadOperation):
    """Apply a two-pole low-shelf filter: boost (gain above 0) or attenuate low frequencies, in decibels.

    >>> import numpy as np
    >>> BassBiquad(44100, 10.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(
        self, sample_rate: NonZeroInt, gain: Float, central_freq: Float = 100.0, Q: Quality = 0.707
    ) -> None:
        self.sample_rate, self.gain, self.central_freq, self.Q = sample_rate, gain, central_freq, Q

    def coefficients(self) -> Coefficients:
        return biquads.bass(self.sample_rate, self.gain, self.central_freq, self.Q)


@public("dataset.audio", "dataset.audio.transforms")
class DeemphBiquad(BiquadOperation):
    """Apply the de-emphasis filter of compact discs (IEC 60908); the sample rate is 44100 or 48000.

    >>> import numpy as np
    >>> DeemphBiquad(44100)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(self, sample_rate: Annotated[Any, ArgumentRule(_check_deemph_rate)]) -> None:
        self.sample_rate = sample_rate

    def coefficients(self) -> Coefficients:
        return biquads.deemphasis(self.sample_rate)


@public("dataset.audio", "dataset.audio.transforms")
class EqualizerBiquad(BiquadOperation):
    """Apply a two-pole peaking equalizer: boost (gain above 0) or attenuate around a center frequency, in decibels.

    >>> import numpy as np
    >>> EqualizerBiquad(44100, 1500.0, 5.5)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(
        self,
        sample_rate: NonZeroInt,
        center_freq: Annotated[Any, ArgumentRule(_check_central)],
        gain: Float,
        Q: Quality = 0.707,
    ) -> None:
        self.sample_rate, self.center_freq, self.gain, self.Q = sample_rate, center_freq, gain, Q

    def coefficients(self) -> Coefficients:
        return biquads.equalizer(self.sample_rate, self.center_freq, self.gain, self.Q)


@public("dataset.audio", "dataset.audio.transforms")
class HighpassBiquad(BiquadOperation):
    """Apply a two-pole high-pass filter with a cutoff frequency.

    >>> import numpy as np
    >>> HighpassBiquad(44100, 1500.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(self, sample_rate: NonZeroInt, cutoff_freq: Float, Q: Quality = 0.707) -> None:
        self.sample_rate, self.cutoff_freq, self.Q = sample_rate, cutoff_freq, Q

    def coefficients(self) -> Coefficients:
        return biquads.highpass(self.sample_rate, self.cutoff_freq, self.Q)


@public("dataset.audio", "dataset.audio.transforms")
class LowpassBiquad(BiquadOperation):
    """Apply a two-pole low-pass filter with a cutoff frequency.

    >>> import numpy as np
    >>> LowpassBiquad(4000, 1500.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(self, sample_rate: NonZeroInt, cutoff_freq: Float, Q: Quality = 0.707) -> None:
        self.sample_rate, self.cutoff_freq, self.Q = sample_rate, cutoff_freq, Q

    def coefficients(self) -> Coefficients:
        return biquads.lowpass(self.sample_rate, self.cutoff_freq, self.Q)


@public("dataset.audio", "dataset.audio.transforms")
class RiaaBiquad(BiquadOperation):
    """Apply the RIAA playback equalization of vinyl records; the sample rate is 44100, 48000, 88200 or 96000.

    >>> import numpy as np
    >>> RiaaBiquad(44100)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(self, sample_rate: Annotated[Any, ArgumentRule(_check_riaa_rate)]) -> None:
        self.sample_rate = sample_rate

    def coefficients(self) -> Coefficients:
        return biquads.riaa(self.sample_rate)


@public("dataset.audio", "dataset.audio.transforms")
class TrebleBiquad(BiquadOperation):
    """Apply a two-pole high-shelf filter: boost (gain above 0) or attenuate high frequencies, in decibels.

    >>> import numpy as np
    >>> TrebleBiquad(44100, 10.0)(np.array([[0.5, 0.25, 0.0, -0.5]])).shape
    (1, 4)
    """

    @checked
    def __init__(
        self, sample_rate: NonZeroInt, gain: Float, central_freq: Float = 3000, Q: Quality = 0.707
    ) -> None:
        self.sample_rate, self.gain, self.central_freq, self.Q = sample_rate, gain, central_freq, Q

    def coefficients(self) -> Coefficients:
        return biquads.treble(self.sample_rate, self.gain, self.central_freq, self.Q)
