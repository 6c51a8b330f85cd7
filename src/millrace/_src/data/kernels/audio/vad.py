"""Voice activity detection by SoX's algorithm: trim a waveform to the start of speech."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.optional import require

from .validation import as_float_waveform

__all__ = ["VadParams", "trim_to_speech"]

Array = np.ndarray[Any, Any]


class VadParams(NamedTuple):
    """Parameters of the voice activity detector; times in seconds, frequencies in hertz."""

    sample_rate: int
    trigger_level: float
    trigger_time: float
    search_time: float
    allowed_gap: float
    pre_trigger_time: float
    boot_time: float
    noise_up_time: float
    noise_down_time: float
    noise_reduction_amount: float
    measure_freq: float
    measure_duration: float
    measure_smooth_time: float
    hp_filter_freq: float
    lp_filter_freq: float
    hp_lifter_freq: float
    lp_lifter_freq: float


def trim_to_speech(x: Array, params: VadParams) -> Array:
    """Trim a waveform (..., time) to the start of speech in any channel; without speech, keep its end."""
    op = "Vad"
    x = as_float_waveform(x, op)
    flat = x.reshape(-1, x.shape[-1])
    rate = params.sample_rate
    size = int(rate * params.measure_duration + 0.5)
    period = int(rate / params.measure_freq + 0.5)
    num_measures = math.ceil(params.search_time * params.measure_freq)
    if not (size and period and num_measures):
        raise DataError(
            f"{op}: the length of measures cannot be zero: search_time, measure_duration and measure_freq must fit "
            f"the sample rate of {rate}."
        )
    buffer_size = int(params.pre_trigger_time * rate + 0.5) + num_measures * period + size
    smoothing = _decay_factor(params.trigger_time, params.measure_freq)
    gap = int(params.allowed_gap * params.measure_freq + 0.5)
    detector = _SpeechDetector(params, size, len(flat))
    measures = np.zeros((len(flat), num_measures))
    means = np.zeros(len(flat))
    for number, end in enumerate(range(size - 1, flat.shape[-1], period)):
        slot = number % num_measures
        measures[:, slot] = detector.measure(_recent_samples(flat, end, size, buffer_size))
        means = means * smoothing + measures[:, slot] * (1 - smoothing)
        triggered = means >= params.trigger_level
        if triggered.any():
            # channels before the first triggered one do not count
            channels = range(int(triggered.argmax()), len(flat))
            speech_measures = max(
                _speech_duration(measures[i], slot, params.trigger_level, gap) for i in channels
            )
            return x[..., max(end + 1 - buffer_size + (num_measures - speech_measures) * period, 0) :]
    return x[..., max(x.shape[-1] - buffer_size, 0) :]


def _recent_samples(flat: Array, end: int, size: int, buffer_size: int) -> Array:
    """Samples of one measurement, as a ring buffer of ``buffer_size`` samples holds them."""
    ring = (end + buffer_size - size + np.arange(size)) % buffer_size
    positions = end - (end - ring) % buffer_size
    samples: Array = np.where(positions >= 0, flat[:, positions], 0)
    return samples


def _speech_duration(measures: Array, newest: int, level: float, gap: int) -> int:
    """Number of measurements since speech began, with gaps of up to ``gap`` allowed."""
    count = len(measures)
    spoke = silent = count
    j = 0
    for j in range(count):
        measure = measures[(newest - j) % count]
        if measure >= level and j <= spoke + gap:
            spoke = silent = j
        elif measure == 0 and spoke >= silent:
            silent = j
    return min(j, silent)


def _decay_factor(time: float, per_second: float) -> float:
    return math.exp(-1.0 / (time * per_second)) if time * per_second else 0.0


class _SpeechDetector:
    """Speech detector: power of the cepstrum above the estimated noise."""

    def __init__(self, params: VadParams, size: int, channels: int) -> None:
        self.fft = require("scipy.fft", extra="audio", purpose="Vad")
        self.params, self.size = params, size
        self.width = 16
        while self.width < size:
            self.width *= 2
        rate = params.sample_rate
        self.start = max(int(params.hp_filter_freq / rate * self.width + 0.5), 1)
        self.end = min(int(params.lp_filter_freq / rate * self.width + 0.5), self.width // 2)
        _check_order("spectrum", self.start, self.end, "filter")
        self.window = _hann(size) * (2 / math.sqrt(size))
        self.lifter = _hann(self.end - self.start) * (2 / math.sqrt(self.end - self.start))
        self.first = math.ceil(rate * 0.5 / params.lp_lifter_freq)
        self.last = min(math.floor(rate * 0.5 / params.hp_lifter_freq), self.width // 4)
        _check_order("cepstrum", self.first, self.last, "lifter")
        self.smooth = _decay_factor(params.measure_smooth_time, params.measure_freq)
        self.up = _decay_factor(params.noise_up_time, params.measure_freq)
        self.down = _decay_factor(params.noise_down_time, params.measure_freq)
        self.boots = int(params.boot_time * params.measure_freq - 0.5)
        self.boot = 0
        self.spectrum = np.zeros((channels, self.end - self.start))
        self.noise = np.zeros((channels, self.end - self.start))

    def measure(self, samples: Array) -> Array:
        """One measurement per channel."""
        magnitudes = np.abs(self.fft.rfft(samples * self.window, self.width)[:, self.start : self.end])
        smoothing = self.boot / (1.0 + self.boot) if self.boot >= 0 else self.smooth
        self.spectrum = self.spectrum * smoothing + magnitudes * (1 - smoothing)
        power = np.square(self.spectrum)
        noise_smoothing = 0.0 if self.boot >= 0 else np.where(power > self.noise, self.up, self.down)
        self.noise = self.noise * noise_smoothing + power * (1 - noise_smoothing)
        denoised = np.zeros((len(samples), self.width // 2))
        denoised[:, self.start : self.end] = (
            np.sqrt(np.maximum(0, power - self.params.noise_reduction_amount * self.noise)) * self.lifter
        )
        cepstrum = np.abs(self.fft.rfft(denoised)[:, self.first : self.last])
        if self.boot >= 0:
            self.boot = -1 if self.boot == self.boots else self.boot + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            log_energy = np.log(np.square(cepstrum).sum(-1) / (self.last - self.first))
        return np.maximum(0, 21 + log_energy)


def _hann(length: int) -> Array:
    return 0.5 - 0.5 * np.cos(np.arange(length) * (2 * math.pi / length))


def _check_order(what: str, start: int, end: int, stage: str) -> None:
    if end <= start:
        raise DataError(
            f"Vad: the end of {what} must be greater than the start. Check if `hp_{stage}_freq` is too large or "
            f"`lp_{stage}_freq` is too small."
        )
