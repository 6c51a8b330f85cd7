"""Flanger and phaser."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from millrace._src.core.args import INT32_MAX, Range, checked
from millrace._src.core.public import public
from millrace._src.data.kernels.audio import modulation_effects as delays
from millrace._src.data.kernels.audio.enums import Interpolation, Modulation
from millrace._src.data.transforms.argument_types import INT32_MIN

from .argument_types import NonZeroInt
from .base import AudioTensorOperation, batch_any_leading_dims

__all__ = ["Flanger", "Phaser"]


@public("dataset.audio", "dataset.audio.transforms")
class Flanger(AudioTensorOperation):
    """Apply a flanger <..., channel, time>: mix each channel with itself at a modulated delay of some milliseconds.

    >>> import numpy as np
    >>> Flanger(16000)(np.array([[0.5, 0.25, 0.125]])).round(3).tolist()
    [[0.5, 0.25, 0.125]]
    """

    dims: ClassVar[int] = 2

    @checked
    def __init__(
        self,
        sample_rate: NonZeroInt,
        delay: Annotated[float | int, Range(0, 30)] = 0.0,
        depth: Annotated[float | int, Range(0, 10)] = 2.0,
        regen: Annotated[float | int, Range(-95, 95)] = 0.0,
        width: Annotated[float | int, Range(0, 100)] = 71.0,
        speed: Annotated[float | int, Range(0.1, 10)] = 0.5,
        phase: Annotated[float | int, Range(0, 100)] = 25.0,
        modulation: Modulation = Modulation.SINUSOIDAL,
        interpolation: Interpolation = Interpolation.LINEAR,
    ) -> None:
        self.sample_rate, self.delay, self.depth, self.regen, self.width = (
            sample_rate,
            delay,
            depth,
            regen,
            width,
        )
        self.speed, self.phase, self.modulation, self.interpolation = speed, phase, modulation, interpolation

    def row(self, x: Any) -> Any:
        return delays.flanger(
            x,
            self.sample_rate,
            self.delay,
            self.depth,
            self.regen,
            self.width,
            self.speed,
            self.phase,
            self.modulation,
            self.interpolation,
        )

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class Phaser(AudioTensorOperation):
    """Apply a phaser: add a share of the waveform at a modulated delay of up to ``delay_ms``.

    >>> import numpy as np
    >>> Phaser(16000)(np.array([0.5, 0.25, 0.0])).round(3).tolist()
    [0.148, 0.133, 0.053]
    """

    @checked
    def __init__(
        self,
        sample_rate: Annotated[int, Range(INT32_MIN, INT32_MAX)],
        gain_in: Annotated[float | int, Range(0, 1)] = 0.4,
        gain_out: Annotated[float | int, Range(0, 1e9)] = 0.74,
        delay_ms: Annotated[float | int, Range(0, 5.0)] = 3.0,
        decay: Annotated[float | int, Range(0, 0.99)] = 0.4,
        mod_speed: Annotated[float | int, Range(0.1, 2)] = 0.5,
        sinusoidal: bool = True,
    ) -> None:
        self.sample_rate, self.gain_in, self.gain_out, self.delay_ms = (
            sample_rate,
            gain_in,
            gain_out,
            delay_ms,
        )
        self.decay, self.mod_speed, self.sinusoidal = decay, mod_speed, sinusoidal

    def row(self, x: Any) -> Any:
        return delays.phaser(
            x,
            self.sample_rate,
            self.gain_in,
            self.gain_out,
            self.delay_ms,
            self.decay,
            self.mod_speed,
            self.sinusoidal,
        )

    batch = batch_any_leading_dims
