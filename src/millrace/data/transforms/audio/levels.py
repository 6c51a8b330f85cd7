"""How loud a waveform is."""

from __future__ import annotations

from typing import Any

from millrace.core.args import checked
from millrace.data.kernels.audio import levels

from .base import AudioOperation, whole
from .checks import Float

__all__ = ["Gain"]


class Gain(AudioOperation):
    """A waveform louder (above 0) or softer by some decibels.

    >>> Gain(6.0)(np.array([0.1, -0.2], np.float32)).round(3).tolist()
    [0.20000000298023224, -0.39899998903274536]
    """

    @checked
    def __init__(self, gain_db: Float = 1.0) -> None:
        self.gain_db = gain_db

    def row(self, x: Any) -> Any:
        return levels.gain(x, self.gain_db)

    batch = whole
