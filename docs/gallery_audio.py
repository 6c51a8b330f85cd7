"""The audio page of the gallery: every audio transform as waveforms and spectrograms, before and after."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import millrace.dataset.audio as audio

RATE = 8000
WIDTH, HEIGHT = 150, 84
# how far each frequency turns from frame to frame
ADVANCE = np.linspace(0, np.pi * 64, 129, dtype=np.float32)[:, None]

INTRO = """# Audio gallery

Every audio transform, before and after. A wave is drawn as its largest and least values over time, a spectrogram with
low frequencies below and loud ones bright. The sound, a second at {rate} Hz, is made by `docs/gallery_audio.py`: three
notes, a rising tone, and a little noise. Random transforms are shown twice, with the seed set to {seed}.

```python
import numpy as np
import millrace.dataset.audio as audio

wave = np.sin(np.arange(8000) / 8).astype(np.float32)  # yours
print(audio.MelSpectrogram(8000, n_fft=256, n_mels=40)(wave).shape)
```

"""


# --- the sound --------------------------------------------------------------------------------------------------


@functools.cache
def wave() -> np.ndarray:
    """Silence, three notes that fade, and a tone that rises, with a little noise under them."""
    time = np.arange(RATE) / RATE
    made = 0.008 * np.random.default_rng(3).standard_normal(RATE)
    for start, note in ((0.1, 440.0), (0.3, 660.0), (0.5, 880.0)):
        since = np.clip(time - start, 0, None)
        made += np.where(time >= start, 0.3 * np.exp(-9 * since) * np.sin(2 * np.pi * note * since), 0)
    rising = np.clip(time - 0.65, 0, None)
    sweep = np.sin(2 * np.pi * (300 * rising + 3800 * rising**2))
    made += np.where(time >= 0.65, 0.25 * sweep * np.hanning(2 * RATE)[: 2 * RATE : 2], 0)
    return np.clip(made, -1, 1).astype(np.float32)


def inputs(kind: str) -> tuple[Any, ...]:
    """What a transform of this kind is called on."""
    sound = wave()
    if kind == "bright":
        return (audio.Vol(1.2)(sound),)
    if kind == "channel":
        return (sound[None],)
    if kind == "low":
        return (audio.Gain(-12.0)(sound),)
    if kind == "codes":
        return (audio.MuLawEncoding(16)(sound),)
    if kind == "spectrogram":
        return (audio.Spectrogram(256, hop_length=64)(sound),)
    if kind == "magnitude":
        return (audio.Spectrogram(256, hop_length=64, power=1.0)(sound),)
    if kind == "decibel":
        return (audio.AmplitudeToDB()(audio.Spectrogram(256, hop_length=64)(sound)),)
    if kind == "level":
        return (audio.AmplitudeToDB()(audio.MelSpectrogram(RATE, 256, hop_length=64, n_mels=40)(sound)),)
    if kind == "batch":
        made = inputs("level")[0]
        return (np.stack([made, made])[None],)
    if kind == "mel":
        return (audio.MelSpectrogram(RATE, 256, hop_length=64, n_mels=40)(sound),)
    if kind == "complex":
        return (audio.Spectrogram(256, hop_length=64, power=0.0)(sound),)
    return (sound,)


# --- values as pictures -------------------------------------------------------------------------------------------


def pictures(value: Any, planes: bool = False) -> list[np.ndarray]:
    """A wave or a spectrogram as something to look at."""
    if isinstance(value, tuple):
        return [picture for part in value for picture in pictures(part)]
    values = np.asarray(value)
    while values.ndim > 2 and values.shape[-1] != 2:
        values = values[0]
    if values.ndim == 3:  # real and imaginary part
        values = np.hypot(values[..., 0], values[..., 1])
    return [_curve(values.reshape(-1)) if values.ndim == 1 or values.shape[0] == 1 else _heat(values)]


def _curve(values: np.ndarray) -> np.ndarray:
    """The largest and the least value in each column of the picture; the whole height is one for a wave."""
    values = np.nan_to_num(values.astype(np.float64))
    is_wave = values.min(initial=0) < 0 or values.max(initial=0) <= 1
    most = max(1.0, float(np.abs(values).max(initial=0))) if is_wave else None
    low, high = (-most, most) if most else (0.0, max(1e-9, float(values.max(initial=0))))
    image = Image.new("RGB", (WIDTH, HEIGHT), "#10242b")
    draw = ImageDraw.Draw(image)
    edges = np.linspace(0, len(values), WIDTH + 1).astype(int)

    def height(level: float) -> float:
        return (HEIGHT - 1) * (1 - (level - low) / (high - low))

    for x, (a, b) in enumerate(itertools.pairwise(edges)):
        part = values[a : max(b, a + 1)]
        if len(part):
            draw.line([x, height(float(part.max())), x, height(float(part.min())) + 1], fill="#5fd3bc")
    return np.asarray(image)


# from dark through blue-green to bright: as even in print
_COLOURS = np.array([[8, 12, 28], [22, 60, 92], [24, 122, 124], [122, 196, 110], [253, 240, 150]], np.float64)


def _heat(values: np.ndarray) -> np.ndarray:
    values = np.nan_to_num(values.astype(np.float64))
    if values.min() >= 0:  # powers span many magnitudes
        values = np.log10(np.maximum(values, values.max() * 1e-6 + 1e-12))
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low if high > low else 1.0) * (len(_COLOURS) - 1)
    below = np.minimum(share.astype(int), len(_COLOURS) - 2)
    part = (share - below)[..., None]
    pixels = (_COLOURS[below] * (1 - part) + _COLOURS[below + 1] * part).astype(np.uint8)
    whole = Image.fromarray(np.ascontiguousarray(pixels[::-1]))
    return np.asarray(whole.resize((WIDTH, HEIGHT), Image.Resampling.NEAREST))
