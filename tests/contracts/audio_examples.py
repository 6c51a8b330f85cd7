"""One example of every audio transform; see transform_examples.py.

Inputs: a waveform <2,40>, a spectrogram <8,10>, or a complex one <6,5,2>, all float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millrace.dataset.audio as A
from tests.parity.audio.inputs import noise

AUDIO: dict[str, tuple[Callable[[], Any], str]] = {
    "Gain": (lambda: A.Gain(3.0), "wave"),
}


def audio_values(inputs: str, i: int) -> tuple[Any, ...] | None:
    """The i-th row of an audio input; None for another kind of input."""
    if inputs == "wave":
        return (noise(2, 40, salt=i + 1).astype(np.float32),)
    if inputs == "spectrogram":
        return (np.abs(noise(8, 10, salt=i + 1)).astype(np.float32),)
    if inputs == "complex":
        return (noise(6, 5, 2, salt=i + 1).astype(np.float32),)
    return None
