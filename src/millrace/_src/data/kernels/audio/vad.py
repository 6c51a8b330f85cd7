"""Where speech begins: the rule of SoX's vad."""

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
    """How speech is told from noise; times in seconds, frequencies in hertz."""

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


def trim_to_speech(x: Array, how: VadParams) -> Array:
    """A waveform (..., time) from where one of its channels begins to speak; its end where none does."""
    op = "Vad"
    x = as_float_waveform(x, op)
    flat = x.reshape(-1, x.shape[-1])
    rate = how.sample_rate
    size = int(rate * how.measure_duration + 0.5)
    period = int(rate / how.measure_freq + 0.5)
    kept = math.ceil(how.search_time * how.measure_freq)
    if not (size and period and kept):
        raise DataError(
            f"{op}: the length of measures cannot be zero: search_time, measure_duration and measure_freq must fit "
            f"the sample rate of {rate}."
        )
    held = int(how.pre_trigger_time * rate + 0.5) + kept * period + size
    share = _fade(how.trigger_time, how.measure_freq)
    gap = int(how.allowed_gap * how.measure_freq + 0.5)
    ear = _SpeechMeasure(how, size, len(flat))
    measures = np.zeros((len(flat), kept))
    means = np.zeros(len(flat))
    for number, at in enumerate(range(size - 1, flat.shape[-1], period)):
        place = number % kept
        measures[:, place] = ear.measure(_recent(flat, at, size, held))
        means = means * share + measures[:, place] * (1 - share)
        heard = means >= how.trigger_level
        if heard.any():
            # a channel before the first that is heard has not been asked
            asked = range(int(heard.argmax()), len(flat))
            spoken = max(_speaking_for(measures[i], place, how.trigger_level, gap) for i in asked)
            return x[..., max(at + 1 - held + (kept - spoken) * period, 0) :]
    return x[..., max(x.shape[-1] - held, 0) :]


def _recent(flat: Array, at: int, size: int, held: int) -> Array:
    """The samples that a measure is taken of: as a ring of ``held`` samples gives them."""
    ring = (at + held - size + np.arange(size)) % held
    times = at - (at - ring) % held
    found: Array = np.where(times >= 0, flat[:, times], 0)
    return found


def _speaking_for(measures: Array, place: int, level: float, gap: int) -> int:
    """For how many measures it has been speaking, gaps allowed."""
    count = len(measures)
    spoke = silent = count
    j = 0
    for j in range(count):
        measure = measures[(place - j) % count]
        if measure >= level and j <= spoke + gap:
            spoke = silent = j
        elif measure == 0 and spoke >= silent:
            silent = j
    return min(j, silent)


def _fade(time: float, per_second: float) -> float:
    return math.exp(-1.0 / (time * per_second)) if time * per_second else 0.0


class _SpeechMeasure:
    """Measures of how much a stretch of sound is like speech: the strength of its cepstrum above the noise."""

    def __init__(self, how: VadParams, size: int, channels: int) -> None:
        self.fft = require("scipy.fft", extra="audio", purpose="Vad")
        self.how, self.size = how, size
        self.width = 16
        while self.width < size:
            self.width *= 2
        rate = how.sample_rate
        self.start = max(int(how.hp_filter_freq / rate * self.width + 0.5), 1)
        self.end = min(int(how.lp_filter_freq / rate * self.width + 0.5), self.width // 2)
        _check_order("spectrum", self.start, self.end, "filter")
        self.window = _hann(size) * (2 / math.sqrt(size))
        self.lifter = _hann(self.end - self.start) * (2 / math.sqrt(self.end - self.start))
        self.first = math.ceil(rate * 0.5 / how.lp_lifter_freq)
        self.last = min(math.floor(rate * 0.5 / how.hp_lifter_freq), self.width // 4)
        _check_order("cepstrum", self.first, self.last, "lifter")
        self.smooth = _fade(how.measure_smooth_time, how.measure_freq)
        self.up = _fade(how.noise_up_time, how.measure_freq)
        self.down = _fade(how.noise_down_time, how.measure_freq)
        self.boots = int(how.boot_time * how.measure_freq - 0.5)
        self.boot = 0
        self.spectrum = np.zeros((channels, self.end - self.start))
        self.noise = np.zeros((channels, self.end - self.start))

    def measure(self, samples: Array) -> Array:
        """One number per channel."""
        size = np.abs(self.fft.rfft(samples * self.window, self.width)[:, self.start : self.end])
        share = self.boot / (1.0 + self.boot) if self.boot >= 0 else self.smooth
        self.spectrum = self.spectrum * share + size * (1 - share)
        power = np.square(self.spectrum)
        held = 0.0 if self.boot >= 0 else np.where(power > self.noise, self.up, self.down)
        self.noise = self.noise * held + power * (1 - held)
        clear = np.zeros((len(samples), self.width // 2))
        clear[:, self.start : self.end] = (
            np.sqrt(np.maximum(0, power - self.how.noise_reduction_amount * self.noise)) * self.lifter
        )
        cepstrum = np.abs(self.fft.rfft(clear)[:, self.first : self.last])
        if self.boot >= 0:
            self.boot = -1 if self.boot == self.boots else self.boot + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            made = np.log(np.square(cepstrum).sum(-1) / (self.last - self.first))
        return np.maximum(0, 21 + made)


def _hann(length: int) -> Array:
    return 0.5 - 0.5 * np.cos(np.arange(length) * (2 * math.pi / length))


def _check_order(what: str, start: int, end: int, kind: str) -> None:
    if end <= start:
        raise DataError(
            f"Vad: the end of {what} must be greater than the start. Check if `hp_{kind}_freq` is too large or "
            f"`lp_{kind}_freq` is too small."
        )
