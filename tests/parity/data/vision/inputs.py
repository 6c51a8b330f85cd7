"""The values that go in, by name. Made by arithmetic, so that both sides have the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

FILES = Path(__file__).parent / "files"


def noise(*shape: int, low: int = 0, high: int = 256, salt: int = 1) -> np.ndarray:
    """Integers that look random."""
    count = int(np.prod(shape))
    x = np.arange(count, dtype=np.uint64) + np.uint64(salt * 7919)
    x = (x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)) >> np.uint64(33)
    x = (x * np.uint64(2654435761)) >> np.uint64(13)
    return (low + (x % np.uint64(high - low)).astype(np.int64)).reshape(shape)


def unit(*shape: int, salt: int = 1) -> np.ndarray:
    return noise(*shape, low=0, high=10000, salt=salt) / 10000


def smooth(height: int, width: int, channels: int = 3) -> np.ndarray:
    """A picture with slopes, edges and flat parts."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [
        np.abs(np.sin((c + 1) * x / 9) * np.cos(y / (7 + c))) * 200 + 40 * ((x // 11 + y // 13) % 2)
        for c in range(channels)
    ]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def u8(*shape: int, salt: int = 1) -> np.ndarray:
    return noise(*shape, salt=salt).astype(np.uint8)


ARRAYS = {
    "rgb": lambda: u8(13, 17, 3),
    "even": lambda: u8(16, 20, 3, salt=2),
    "wide": lambda: u8(5, 41, 3, salt=3),
    "tall": lambda: u8(37, 6, 3, salt=4),
    "one": lambda: u8(1, 1, 3, salt=5),
    "grey": lambda: u8(13, 17, 1, salt=6),
    "flat": lambda: u8(13, 17, salt=7),
    "two": lambda: u8(13, 17, 2, salt=8),
    "rgba": lambda: u8(13, 17, 4, salt=9),
    "five": lambda: u8(13, 17, 5, salt=10),
    "batch": lambda: u8(2, 13, 17, 3, salt=11),
    "batch5": lambda: u8(2, 2, 13, 17, 3, salt=11),
    "vector": lambda: u8(17, salt=12),
    "picture": lambda: smooth(120, 161),
    "big": lambda: smooth(375, 500),
    "grey_picture": lambda: smooth(60, 77, 1)[:, :, 0].copy(),
    "constant": lambda: np.full((9, 8, 3), 77, np.uint8),
    "black": lambda: np.zeros((9, 8, 3), np.uint8),
    "bool": lambda: noise(13, 17, 3) > 128,
    "int8": lambda: noise(13, 17, 3, low=-128, high=128).astype(np.int8),
    "int16": lambda: noise(13, 17, 3, low=-3000, high=3000).astype(np.int16),
    "uint16": lambda: noise(13, 17, 3, low=0, high=65536).astype(np.uint16),
    "int32": lambda: noise(13, 17, 3, low=-70000, high=70000).astype(np.int32),
    "uint32": lambda: noise(13, 17, 3, low=0, high=70000).astype(np.uint32),
    "int64": lambda: noise(13, 17, 3, low=-70000, high=70000),
    "uint64": lambda: noise(13, 17, 3, low=0, high=70000).astype(np.uint64),
    "float16": lambda: unit(13, 17, 3).astype(np.float16),
    "float32": lambda: unit(13, 17, 3).astype(np.float32),
    "float64": lambda: unit(13, 17, 3),
    "float255": lambda: (unit(13, 17, 3) * 255).astype(np.float32),
    "chw": lambda: u8(3, 13, 17, salt=13),
    "chw32": lambda: unit(3, 13, 17, salt=13).astype(np.float32),
    "chw64": lambda: unit(3, 13, 17, salt=13),
    "text": lambda: np.array(["a", "b"]),
    "int0": lambda: np.array(3),
    "ints": lambda: np.array([3, 0, 2, 3, 1, 0], np.int32),
    "ints2": lambda: np.array([[3, 0], [2, 3]], np.int64),
    "floats": lambda: np.array([1.5, -2.5, 3.0, 300.7], np.float32),
    "floats2": lambda: unit(3, 4, salt=3),
    "words": lambda: np.array(["one", "two", "three", "two"]),
    "octets": lambda: np.array([b"one", b"two", b"three"]),
    "labels": lambda: np.eye(4, dtype=np.float32)[[1, 3]],
    "batch_chw": lambda: u8(2, 3, 13, 17, salt=14),
    "boxes": lambda: np.array([[1, 2, 5, 6], [0, 0, 17, 13], [10, 3, 4, 2]], np.float32),
    "boxes5": lambda: np.array([[1, 2, 5, 6, 7], [3, 0, 9, 12, 8]], np.float32),
    "boxes_int": lambda: np.array([[1, 2, 5, 6], [3, 1, 9, 12]], np.int32),
    "boxes_out": lambda: np.array([[1, 2, 25, 6]], np.float32),
    "boxes_flat": lambda: np.array([1, 2, 5, 6], np.float32),
    "boxes3": lambda: np.array([[1, 2, 5]], np.float32),
    "box": lambda: np.array([[1, 2, 5, 6]], np.float32),
    "boxes_minus": lambda: np.array([[-1, 2, 5, 6]], np.float32),
}

PICTURES = {
    "pil": ("RGB", lambda: u8(13, 17, 3)),
    "pil_picture": ("RGB", lambda: smooth(120, 161)),
    "pil_wide": ("RGB", lambda: u8(5, 41, 3, salt=3)),
    "pil_tall": ("RGB", lambda: u8(37, 6, 3, salt=4)),
    "pil_l": ("L", lambda: u8(13, 17, salt=7)),
    "pil_rgba": ("RGBA", lambda: u8(13, 17, 4, salt=9)),
}


def make(name: str) -> Any:
    """The value of this name; a new one each time."""
    if name in ARRAYS:
        return ARRAYS[name]()
    if name in PICTURES:
        from PIL import Image

        return Image.fromarray(PICTURES[name][1]())
    if name == "pil_1":
        from PIL import Image

        return Image.fromarray(u8(13, 17, salt=7)).convert("1")
    if name == "pil_p":
        from PIL import Image

        return Image.fromarray(u8(13, 17, 3)).quantize(16)
    data = (FILES / name).read_bytes()
    return np.frombuffer(data, np.uint8)
