"""Time stretching, pitch shift and resampling."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import INT32_MAX, Range, check_type, checked
from millrace._src.core.errors import DataError
from millrace._src.core.public import public
from millrace._src.data.kernels.audio import phase_vocoder as phase
from millrace._src.data.kernels.audio.enums import ResampleMethod, WindowType
from millrace._src.data.kernels.audio.resample import resample
from millrace._src.data.kernels.audio.stft import StftParams
from millrace._src.data.kernels.audio.validation import as_float, as_float_waveform
from millrace._src.data.transforms.argument_types import INT32_MIN, NonNegativeInt, PositiveInt

from .argument_types import NonZeroInt, PositiveFloat, PositiveReal, check_window
from .base import AudioTensorOperation, batch_in_blocks

__all__ = ["PhaseVocoder", "PitchShift", "Resample", "TimeStretch"]


@public("dataset.audio", "dataset.audio.transforms")
class PhaseVocoder(AudioTensorOperation):
    """Speed up a complex spectrogram <..., freq, time, 2> by a rate at the same pitch, with a phase vocoder.

    `phase_advance` <freq, 1> is the expected phase advance of each frequency per frame; it has the type of the
    spectrogram. Phases are summed in float64. MindSpore sums those of float32 in float32: they differ by about
    1e-4 after ten frames, and by more after many.

    >>> import numpy as np
    >>> advance = np.linspace(0, 4 * np.pi, 5)[:, None]
    >>> PhaseVocoder(2.0, advance)(np.ones((5, 10, 2))).shape
    (5, 5, 2)
    """

    dims = 3

    @checked
    def __init__(self, rate: PositiveReal, phase_advance: Any) -> None:
        check_type(phase_advance, (np.ndarray,), "phase_advance")
        self.rate = rate
        self.phase_advance = phase_advance

    def row(self, x: Any) -> Any:
        advance = self.phase_advance
        if advance.ndim != 2 or advance.shape[1] != 1:
            raise DataError(
                "PhaseVocoder: invalid parameter, 'phase_advance' should be in shape of <freq, 1>. "
                f"But got shape {list(advance.shape)}."
            )
        if x.ndim >= 3 and advance.dtype != x.dtype:
            raise DataError(
                "PhaseVocoder: invalid parameter, data type of phase_advance should be equal to data type of input "
                f"tensor, but got: data type of phase_advance {advance.dtype} while data type of input tensor "
                f"{x.dtype}."
            )
        return phase.phase_vocoder(x, self.rate, as_float(advance), "PhaseVocoder")

    batch = batch_in_blocks


@public("dataset.audio", "dataset.audio.transforms")
class TimeStretch(AudioTensorOperation):
    """Stretch a complex spectrogram <..., freq, time, 2> in time by a rate, at the same pitch.

    Phases are summed in float64, as in PhaseVocoder. All leading dimensions are kept (at a rate of 1 MindSpore
    merges them into one), and the spectrogram must have `n_freq` frequencies.

    >>> import numpy as np
    >>> TimeStretch(n_freq=5, fixed_rate=0.5)(np.ones((5, 10, 2), np.float32)).shape
    (5, 20, 2)
    """

    dims = 3

    @checked
    def __init__(
        self,
        hop_length: PositiveInt | None = None,
        n_freq: PositiveInt = 201,
        fixed_rate: PositiveReal | None = None,
    ) -> None:
        self.n_freq = n_freq
        self.hop_length = hop_length if hop_length is not None else n_freq - 1
        self.fixed_rate = fixed_rate if fixed_rate is not None else 1

    def row(self, x: Any) -> Any:
        return phase.phase_vocoder(
            x, self.fixed_rate, phase.phase_advances(self.hop_length, self.n_freq), "TimeStretch"
        )

    batch = batch_in_blocks


@public("dataset.audio", "dataset.audio.transforms")
class PitchShift(AudioTensorOperation):
    """Shift the pitch of a waveform by some steps of an octave; its length stays the same.

    Phases are summed in float64, as in PhaseVocoder, and frames of long waveforms are not added onto the first ones,
    as they are in MindSpore (in float32 over 127 frames of n_fft 512).

    >>> import numpy as np
    >>> PitchShift(16000, 4)(np.ones(1000, np.float32)).shape
    (1000,)
    """

    @checked
    def __init__(
        self,
        sample_rate: NonNegativeInt,
        n_steps: Annotated[int, Range(INT32_MIN, INT32_MAX)],
        bins_per_octave: NonZeroInt = 12,
        n_fft: PositiveInt = 512,
        win_length: PositiveInt | None = None,
        hop_length: PositiveInt | None = None,
        window: WindowType = WindowType.HANN,
    ) -> None:
        check_window(win_length, n_fft)
        self.sample_rate = sample_rate
        self.n_steps = n_steps
        self.bins_per_octave = bins_per_octave
        self.n_fft = n_fft
        self.win_length = win_length or n_fft
        self.hop_length = hop_length or self.win_length // 4
        self.window = window

    def row(self, x: Any) -> Any:
        frames = StftParams(self.n_fft, self.win_length, self.hop_length, self.window)
        return phase.pitch_shift(x, self.sample_rate, self.n_steps, self.bins_per_octave, frames)

    batch = batch_in_blocks


@public("dataset.audio", "dataset.audio.transforms")
class Resample(AudioTensorOperation):
    """Resample a waveform <..., time> to another sample rate.

    Only the ratio of the rates matters, and only their integer parts. A ratio with many phases (20159 to 16000) takes
    no more time than a simple one.

    >>> import numpy as np
    >>> Resample(16000, 8000)(np.ones(100, np.float32)).shape
    (50,)
    """

    @checked
    def __init__(
        self,
        orig_freq: PositiveFloat = 16000,
        new_freq: PositiveFloat = 16000,
        resample_method: ResampleMethod = ResampleMethod.SINC_INTERPOLATION,
        lowpass_filter_width: PositiveInt = 6,
        rolloff: Annotated[float, Range(0, 1.0, left_open=True)] = 0.99,
        beta: Any = None,
    ) -> None:
        self.orig_freq = orig_freq
        self.new_freq = new_freq
        self.resample_method = resample_method
        self.lowpass_filter_width = lowpass_filter_width
        self.rolloff = rolloff
        self.beta = beta if beta is not None else 14.769656459379492

    def row(self, x: Any) -> Any:
        x = as_float_waveform(x, "Resample")
        if self.orig_freq == self.new_freq:
            return x
        return resample(
            x,
            self.orig_freq,
            self.new_freq,
            self.resample_method,
            self.lowpass_filter_width,
            self.rolloff,
            self.beta,
        )

    batch = batch_in_blocks
