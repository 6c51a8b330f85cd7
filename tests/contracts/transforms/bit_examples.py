"""What the bit contract runs: an example of every public transform, and larger ones where sums are long.

The examples of transform_examples.py are small: a sum of sixteen products has the same bits in many orders. Those here
have the sizes of real rows, so that another order of summation shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import millrace.dataset.audio as A
import millrace.dataset.vision as V
from tests.contracts.transforms.test_transforms import values as small_values
from tests.contracts.transforms.transform_examples import EXAMPLES, Example
from tests.parity.data.audio.inputs import noise
from tests.parity.data.vision.inputs import u8, unit


def _whitening() -> V.LinearTransformation:
    return V.LinearTransformation(unit(663, 663, salt=3) - 0.5, unit(663, salt=4))


_POINTS = [(0, 0), (74, 0), (74, 60), (0, 60)]
_MOVED = [(5, 3), (70, 9), (66, 57), (2, 51)]

LARGE: dict[str, Example] = {
    "AdjustContrast, large": Example(lambda: V.AdjustContrast(1.7), "large image"),
    "AdjustContrast, float": Example(lambda: V.AdjustContrast(1.7), "float image"),
    "AdjustGamma, float": Example(lambda: V.AdjustGamma(2.2, 0.9), "float image"),
    "AdjustHue, large": Example(lambda: V.AdjustHue(0.3), "large image"),
    "AdjustSaturation, large": Example(lambda: V.AdjustSaturation(1.7), "large image"),
    "AdjustSharpness, large": Example(lambda: V.AdjustSharpness(2.3), "large image"),
    "Affine, large": Example(lambda: V.Affine(15, (0.1, 0.2), 1.1, 5, V.Inter.LINEAR), "large image"),
    "ConvertColor, float": Example(lambda: V.ConvertColor(V.ConvertMode.COLOR_RGB2GRAY), "float image"),
    "GaussianBlur, float": Example(lambda: V.GaussianBlur(9, 2.0), "float image"),
    "LinearTransformation, dense": Example(_whitening, "chw"),
    "Normalize, float": Example(lambda: V.Normalize([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]), "float image"),
    "Perspective, large": Example(lambda: V.Perspective(_POINTS, _MOVED), "large image"),
    "RandomLighting, float": Example(lambda: V.RandomLighting(0.5), "float image"),
    "RandomPerspective, large": Example(lambda: V.RandomPerspective(0.5, 1.0), "large pil"),
    "Resize, cubic": Example(lambda: V.Resize((40, 33), V.Inter.CUBIC), "large image"),
    "Resize, float": Example(lambda: V.Resize((40, 33)), "float image"),
    "Resize, large": Example(lambda: V.Resize((40, 33)), "large image"),
    "Rotate, large": Example(lambda: V.Rotate(33, V.Inter.LINEAR, True), "large image"),
    "GriffinLim, long": Example(lambda: A.GriffinLim(n_iter=3, rand_init=False), "long spectrum"),
    "InverseMelScale, long": Example(lambda: A.InverseMelScale(41, n_mels=20, max_iter=20), "mels"),
    "InverseSpectrogram, long": Example(lambda: A.InverseSpectrogram(), "long stft"),
    "LFCC, long": Example(lambda: A.LFCC(), "long wave"),
    "MFCC, long": Example(lambda: A.MFCC(), "long wave"),
    "MelScale, long": Example(lambda: A.MelScale(), "long spectrum"),
    "MelSpectrogram, long": Example(lambda: A.MelSpectrogram(), "long wave"),
    "MFCC, mono": Example(lambda: A.MFCC(), "mono wave"),
    "LFCC, mono": Example(lambda: A.LFCC(), "mono wave"),
    "MelSpectrogram, mono": Example(lambda: A.MelSpectrogram(), "mono wave"),
    "MelSpectrogram, float64": Example(lambda: A.MelSpectrogram(), "long wave64"),
    "PitchShift, long": Example(lambda: A.PitchShift(16000, 4), "long wave"),
    "Resample, long": Example(lambda: A.Resample(44100, 16000), "long wave"),
    "SpectralCentroid, long": Example(lambda: A.SpectralCentroid(16000), "long wave"),
    "Spectrogram, long": Example(lambda: A.Spectrogram(), "long wave"),
    "Spectrogram, float64": Example(lambda: A.Spectrogram(), "long wave64"),
    "TimeStretch, long": Example(lambda: A.TimeStretch(fixed_rate=1.3), "long stft"),
}

ALL: dict[str, Example] = EXAMPLES | LARGE


def values(inputs: str, i: int) -> tuple[Any, ...]:
    """The i-th row of an input, as arrays."""
    match inputs:
        case "large image" | "large pil":
            return (u8(61, 75, 3, salt=i + 1),)
        case "float image":
            return (unit(61, 75, 3, salt=i + 1).astype(np.float32),)
        case "long wave":
            return (noise(2, 1900, salt=i + 1).astype(np.float32),)
        case "mono wave":
            return (noise(1900, salt=i + 1).astype(np.float32) * np.float32((1, 1e-3, 3)[i % 3]),)
        case "long wave64":
            return (noise(2, 1900, salt=i + 1),)
        case "long spectrum":
            return (np.abs(noise(2, 201, 9, salt=i + 1)).astype(np.float32),)
        case "mels":
            return (np.abs(noise(2, 20, 7, salt=i + 1)).astype(np.float32),)
        case "long stft":
            return (noise(2, 201, 9, 2, salt=i + 1).astype(np.float32),)
    return small_values(inputs, i)


def takes_pil(inputs: str) -> bool:
    return inputs in ("pil", "large pil")


def arguments(inputs: str, i: int) -> tuple[Any, ...]:
    """The same as a transform takes it."""
    row = values(inputs, i)
    if not takes_pil(inputs):
        return row
    from PIL import Image

    return (Image.fromarray(row[0]),)
