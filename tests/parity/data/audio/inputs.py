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

# for spectral transforms: n_fft 64 and 16 kHz
SPECTRAL: dict[str, Callable[[], np.ndarray]] = {
    "stft": lambda: noise(33, 9, 2, salt=21).astype(np.float32),
    "stft64": lambda: noise(2, 33, 9, 2, salt=22),
    "stfts": lambda: noise(2, 2, 33, 6, 2, salt=23).astype(np.float32),
    "stft_full": lambda: noise(64, 9, 2, salt=24).astype(np.float32),
    "stft_odd": lambda: noise(17, 9, 2, salt=24).astype(np.float32),
    "stft_int": lambda: (noise(33, 5, 2, salt=25) * 50).astype(np.int16),
    "one_frame": lambda: noise(33, 1, 2, salt=26).astype(np.float32),
    "many_frames": lambda: noise(33, 1200, 2, salt=27).astype(np.float32),
    "power": lambda: np.abs(noise(33, 9, salt=31)).astype(np.float32),
    "power64": lambda: np.abs(noise(2, 33, 9, salt=32)),
    "powers": lambda: np.abs(noise(2, 2, 33, 6, salt=33)).astype(np.float32),
    "power_int": lambda: (np.abs(noise(33, 5, salt=34)) * 90).astype(np.uint8),
    "one_power": lambda: np.abs(noise(33, 1, salt=35)).astype(np.float32),
    "mels": lambda: np.abs(noise(2, 6, 5, salt=36)).astype(np.float32),
    "mels64": lambda: np.abs(noise(6, 5, salt=37)),
    "features": lambda: (noise(2, 40, 3, salt=38) * 3 + 1).astype(np.float32),
    "features64": lambda: noise(2, 2, 30, 2, salt=39),
    "flat": lambda: np.ones((12, 2), np.float32),
    "nan_features": lambda: np.where(np.arange(24).reshape(12, 2) == 9, np.nan, 1.5).astype(np.float32),
    "second": lambda: (tone(16000, 220.0) + noise(16000, salt=40) * 0.01).astype(np.float32),
    "second64": lambda: tone(16000, 220.0) + noise(16000, salt=40) * 0.01,
    "seconds": lambda: np.stack([tone(8000, 130.0), tone(8000, 700.0)]).astype(np.float32),
    "seconds16": lambda: np.stack([tone(8000, 130.0), tone(8000, 700.0)]).astype(np.float16),
    "hiss": lambda: noise(2000, salt=41).astype(np.float32) * np.float32(0.01),
    "hisses": lambda: noise(2, 1900, salt=42) * 0.01,
    "speech": lambda: speech().astype(np.float32),
}


def speech() -> np.ndarray:
    """Hiss, and from the middle on a voice: at 1600 samples per second it has a pitch of 150 Hz."""
    made = noise(3200, salt=43) * 0.01
    made[1600:] += sum(tone(1600, 1500.0 * k) / k for k in range(1, 6))
    return made


WAVES |= SPECTRAL


def make(name: str) -> np.ndarray:
    return WAVES[name]()
