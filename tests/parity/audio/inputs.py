"""The values that go in, by name. Made by arithmetic, so that both sides have the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

RATE = 16000


def noise(*shape: int, salt: int = 1) -> np.ndarray:
    """Numbers in [-1, 1) that look random, with few enough bits to be exact in float32."""
    count = int(np.prod(shape))
    x = np.arange(count, dtype=np.uint64) + np.uint64(salt * 7919)
    x = (x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)) >> np.uint64(33)
    x = (x * np.uint64(2654435761)) >> np.uint64(13)
    return (x % np.uint64(1 << 20)).astype(np.float64).reshape(shape) / (1 << 19) - 1


def steps(values: np.ndarray, step: float = 2.0**-15) -> np.ndarray:
    """Rounded to multiples of a step: the last bits of sin() may differ from one machine to the next."""
    return np.round(values / step) * step


def chirp(length: int, low: float = 50.0, high: float = 7000.0) -> np.ndarray:
    """A tone that rises."""
    t = np.arange(length) / RATE
    end = length / RATE
    return steps(0.8 * np.sin(2 * np.pi * (low * t + (high - low) / (2 * end) * t * t)))


def tone(length: int, pitch: float = 440.0) -> np.ndarray:
    return steps(0.5 * np.sin(2 * np.pi * pitch * np.arange(length) / RATE))


def spoilt(value: float, at: int = 7, length: int = 40) -> np.ndarray:
    """Noise with one value in it that is no number."""
    made = noise(length, salt=3).astype(np.float32)
    made[at] = value
    return made


def impulse(length: int = 60) -> np.ndarray:
    made = np.zeros(length, np.float32)
    made[0] = 1
    return made


WAVES: dict[str, Callable[[], np.ndarray]] = {
    "mono": lambda: noise(120).astype(np.float32),
    "mono64": lambda: noise(120),
    "mono16": lambda: noise(120).astype(np.float16),
    "stereo": lambda: noise(2, 90, salt=2).astype(np.float32),
    "stereo64": lambda: noise(2, 90, salt=2),
    "batch": lambda: noise(2, 3, 40, salt=4).astype(np.float32),
    "batch4": lambda: noise(2, 1, 2, 30, salt=5).astype(np.float32),
    "loud": lambda: (noise(100, salt=6) * 20).astype(np.float32),
    "quiet": lambda: (noise(100, salt=7) * 1e-6).astype(np.float32),
    "silence": lambda: np.zeros(50, np.float32),
    "ones": lambda: np.ones(50, np.float32),
    "impulse": impulse,
    "chirp": lambda: chirp(400).astype(np.float32),
    "chirp64": lambda: chirp(400),
    "tone": lambda: tone(400).astype(np.float32),
    "long": lambda: (chirp(4000) * 0.7 + noise(4000) * 0.1).astype(np.float32),
    "long2": lambda: np.stack([chirp(2000), noise(2000)]).astype(np.float32),
    "one": lambda: np.array([0.25], np.float32),
    "two": lambda: np.array([0.25, -0.5], np.float32),
    "column": lambda: noise(5, 1, salt=8).astype(np.float32),
    "empty": lambda: np.zeros(0, np.float32),
    "empty2": lambda: np.zeros((2, 0), np.float32),
    "scalar": lambda: np.array(0.5, np.float32),
    "nan": lambda: spoilt(np.nan),
    "inf": lambda: spoilt(np.inf),
    "minus_inf": lambda: spoilt(-np.inf),
    "bool": lambda: noise(30) > 0,
    "int8": lambda: (noise(30) * 127).astype(np.int8),
    "uint8": lambda: (noise(30) * 127 + 128).astype(np.uint8),
    "int16": lambda: (noise(2, 30) * 32767).astype(np.int16),
    "uint16": lambda: (noise(30) * 32767 + 32768).astype(np.uint16),
    "int32": lambda: (noise(30) * 100).astype(np.int32),
    "uint32": lambda: (noise(30) * 100 + 100).astype(np.uint32),
    "int64": lambda: (noise(2, 30) * 100).astype(np.int64),
    "uint64": lambda: (noise(30) * 100 + 100).astype(np.uint64),
    "small": lambda: np.array([-1, 0, 1, 0, 1, 1, -1], np.int32),
    "levels": lambda: np.arange(0, 256, 5, dtype=np.int32),
    "text": lambda: np.array(["a", "b"]),
    # spectrograms: frequency, time; the last of size 2 is a complex number
    "spec": lambda: np.abs(noise(12, 9, salt=9)).astype(np.float32),
    "spec64": lambda: np.abs(noise(12, 9, salt=9)),
    "specs": lambda: np.abs(noise(2, 12, 9, salt=10)).astype(np.float32),
    "specs4": lambda: np.abs(noise(2, 2, 6, 5, salt=11)).astype(np.float32),
    "nan2": lambda: spoilt(np.nan).reshape(4, 10),
    "inf2": lambda: spoilt(np.inf).reshape(4, 10),
    "bool16": lambda: noise(4, 10).astype(np.float16) > 0,
    "complex": lambda: noise(6, 5, 2, salt=12).astype(np.float32),
    "complex64": lambda: noise(6, 5, 2, salt=12),
    "complexes": lambda: noise(2, 2, 6, 5, 2, salt=13).astype(np.float32),
    "pair": lambda: np.array([3.0, -4.0], np.float32),
    "pairs_int": lambda: (noise(4, 3, 2, salt=14) * 50).astype(np.int32),
    "real_complex": lambda: noise(4, 5).astype(np.complex64),
}


def make(name: str) -> np.ndarray:
    return WAVES[name]()
