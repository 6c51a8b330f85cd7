"""Speech transforms: pitch detection, sliding-window cepstral mean normalization, voice activity detection."""

from __future__ import annotations

from typing import Any

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.audio import speech_features as speech
from millrace._src.data.kernels.audio.vad import VadParams, trim_to_speech
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    NonNegativeInt,
    PositiveInt,
    check_interval,
)

from .argument_types import NonNegativeReal, NonZeroInt, PositiveFloat, PositiveReal, Real
from .base import AudioTensorOperation, batch_any_leading_dims, batch_in_blocks

__all__ = ["DetectPitchFrequency", "SlidingWindowCmn", "Vad"]


@public("dataset.audio", "dataset.audio.transforms")
class SlidingWindowCmn(AudioTensorOperation):
    """Apply sliding-window cepstral mean and variance normalization to <..., freq, time>.

    The window slides along the last axis but one.

    >>> import numpy as np
    >>> SlidingWindowCmn(cmn_window=2, center=True)(np.array([[1.0], [3.0], [8.0]])).tolist()
    [[-1.0], [1.0], [2.5]]
    """

    dims = 2

    @checked
    def __init__(
        self,
        cmn_window: NonNegativeInt = 600,
        min_cmn_window: NonNegativeInt = 100,
        center: bool = False,
        norm_vars: bool = False,
    ) -> None:
        self.cmn_window = cmn_window
        self.min_cmn_window = min_cmn_window
        self.center = center
        self.norm_vars = norm_vars

    def row(self, x: Any) -> Any:
        return speech.sliding_window_cmn(x, self.cmn_window, self.min_cmn_window, self.center, self.norm_vars)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class DetectPitchFrequency(AudioTensorOperation):
    """Detect the pitch <..., frame> of a waveform <..., time> in hertz, as float32.

    float16 is computed as float32, MindSpore's as float16.

    >>> import numpy as np
    >>> tone = np.sin(np.arange(8000) * (2 * np.pi * 200 / 16000))
    >>> DetectPitchFrequency(16000)(tone).round().tolist()[:3]
    [200.0, 200.0, 200.0]
    """

    @checked
    def __init__(
        self,
        sample_rate: NonZeroInt,
        frame_time: PositiveFloat = 0.01,
        win_length: PositiveInt = 30,
        freq_low: PositiveReal = 85,
        freq_high: PositiveReal = 3400,
    ) -> None:
        self.sample_rate = sample_rate
        self.frame_time = frame_time
        self.win_length = win_length
        self.freq_low = freq_low
        self.freq_high = freq_high

    def row(self, x: Any) -> Any:
        return speech.pitch(
            x, self.sample_rate, self.frame_time, self.win_length, self.freq_low, self.freq_high
        )

    batch = batch_in_blocks


@public("dataset.audio", "dataset.audio.transforms")
class Vad(AudioTensorOperation):
    """Voice activity detection: trim a waveform <..., time> to the start of speech; without speech, keep only its end.

    Detects speech as SoX does. MindSpore never does: its measures are always 0, so that it gives the end of any
    waveform, unless `trigger_level` is 0.

    >>> import numpy as np
    >>> t = np.arange(32000) / 16000
    >>> voice = sum(np.sin(2 * np.pi * 150 * k * t) / k for k in range(1, 9))
    >>> quiet = np.cos(np.arange(32000) ** 2 * 0.7) * 1e-3
    >>> speech = Vad(16000)(np.concatenate([quiet, quiet + voice]))
    >>> 30000 < len(speech) < 36000
    True
    """

    @checked
    def __init__(
        self,
        sample_rate: PositiveInt,
        trigger_level: Real = 7.0,
        trigger_time: NonNegativeReal = 0.25,
        search_time: NonNegativeReal = 1.0,
        allowed_gap: NonNegativeReal = 0.25,
        pre_trigger_time: NonNegativeReal = 0.0,
        boot_time: NonNegativeReal = 0.35,
        noise_up_time: NonNegativeReal = 0.1,
        noise_down_time: NonNegativeReal = 0.01,
        noise_reduction_amount: NonNegativeReal = 1.35,
        measure_freq: PositiveReal = 20.0,
        measure_duration: Any = None,
        measure_smooth_time: NonNegativeReal = 0.4,
        hp_filter_freq: PositiveReal = 50.0,
        lp_filter_freq: PositiveReal = 6000.0,
        hp_lifter_freq: PositiveReal = 150.0,
        lp_lifter_freq: PositiveReal = 2000.0,
    ) -> None:
        if noise_up_time < noise_down_time:
            raise ArgumentValueError(
                "Input noise_up_time should be greater than noise_down_time, "
                f"but got noise_up_time: {noise_up_time} and noise_down_time: {noise_down_time}."
            )
        if measure_duration:
            check_type(measure_duration, (int, float), "measure_duration")
            check_interval(measure_duration, 0, FLOAT_MAX, "measure_duration")
        self.sample_rate = sample_rate
        self.trigger_level = trigger_level
        self.trigger_time = trigger_time
        self.search_time = search_time
        self.allowed_gap = allowed_gap
        self.pre_trigger_time = pre_trigger_time
        self.boot_time = boot_time
        self.noise_up_time = noise_up_time
        self.noise_down_time = noise_down_time
        self.noise_reduction_amount = noise_reduction_amount
        self.measure_freq = measure_freq
        self.measure_duration = measure_duration or 2.0 / measure_freq
        self.measure_smooth_time = measure_smooth_time
        self.hp_filter_freq = hp_filter_freq
        self.lp_filter_freq = lp_filter_freq
        self.hp_lifter_freq = hp_lifter_freq
        self.lp_lifter_freq = lp_lifter_freq

    def row(self, x: Any) -> Any:
        return trim_to_speech(x, VadParams(**vars(self)))
