"""Writers of tiny files: pictures, IDX, MAT, WAV, SPH. They need numpy only, so the oracle can run them too."""

from __future__ import annotations

import struct
import wave
import zlib
from pathlib import Path
from typing import Any

import numpy as np


def pixels(seed: int, height: int = 4, width: int = 5) -> np.ndarray:
    """RGB values that no two seeds share."""
    flat = np.arange(height * width * 3, dtype=np.int64) * 7 + seed * 31
    return (flat % 251).astype(np.uint8).reshape(height, width, 3)


def bmp(image: np.ndarray) -> bytes:
    """A 24-bit BMP: no encoder is involved, so its bytes are the same everywhere."""
    height, width, _ = image.shape
    rows = [row[:, ::-1].tobytes().ljust((width * 3 + 3) // 4 * 4, b"\0") for row in image[::-1]]
    body = b"".join(rows)
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(body), 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + header + body


def grey_bmp(image: np.ndarray) -> bytes:
    """An 8-bit BMP with a grey palette."""
    height, width = image.shape
    palette = b"".join(bytes((i, i, i, 0)) for i in range(256))
    rows = [row.tobytes().ljust((width + 3) // 4 * 4, b"\0") for row in image[::-1]]
    body = b"".join(rows)
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, len(body), 2835, 2835, 256, 0)
    start = 54 + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + header + palette + body


def picture(path: Path, seed: int, height: int = 4, width: int = 5) -> Path:
    """A BMP under any name: decoders look at the content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bmp(pixels(seed, height, width)))
    return path


def text(path: Path, *lines: str, end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(("\n".join(lines) + end).encode())
    return path


def idx(path: Path, array: np.ndarray) -> Path:
    """An IDX file of uint8 or big-endian int32."""
    code = {"u1": 0x08, "i4": 0x0C}[array.dtype.str[1:]]
    head = struct.pack(">BBBB", 0, 0, code, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + array.astype(array.dtype.newbyteorder(">")).tobytes())
    return path


def wav(path: Path, seed: int, frames: int = 40, rate: int = 16000, channels: int = 1) -> Path:
    """16-bit PCM."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(samples(seed, frames * channels).astype("<i2").tobytes())
    return path


def samples(seed: int, count: int) -> np.ndarray:
    return ((np.arange(count, dtype=np.int64) * 977 + seed * 4099) % 65536 - 32768).astype(np.int16)


def sph(path: Path, seed: int, frames: int = 4000, rate: int = 16000) -> Path:
    """A NIST SPHERE file of 16-bit samples."""
    fields = [
        "NIST_1A",
        "   1024",
        f"sample_count -i {frames}",
        "sample_n_bytes -i 2",
        "channel_count -i 1",
        "sample_byte_format -s2 01",
        f"sample_rate -i {rate}",
        "sample_coding -s3 pcm",
        "end_head",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    head = ("\n".join(fields) + "\n").encode().ljust(1024, b" ")
    path.write_bytes(head + samples(seed, frames).astype("<i2").tobytes())
    return path


# --- MATLAB 5 -------------------------------------------------------------------------------------------------

_CLASS = {"f8": (6, 9), "f4": (7, 7), "i1": (8, 1), "u1": (9, 2), "i2": (10, 3), "u2": (11, 4), "i4": (12, 5)}
_CLASS |= {"u4": (13, 6), "i8": (14, 12), "u8": (15, 13)}


def element(kind: int, data: bytes) -> bytes:
    if 0 < len(data) <= 4:
        return struct.pack("<HH", kind, len(data)) + data.ljust(4, b"\0")
    return struct.pack("<II", kind, len(data)) + data.ljust((len(data) + 7) // 8 * 8, b"\0")


def matrix(name: str, value: Any) -> bytes:
    """One variable: an array, a dict (a 1x1 struct), a list (a cell column), or Sparse."""
    if isinstance(value, Sparse):
        flags = struct.pack("<II", 5, max(1, len(value.rows)))
        body = element(5, np.array(value.rows, "<i4").tobytes())
        body += element(5, np.array(value.columns, "<i4").tobytes())
        body += element(9, np.array(value.values, "<f8").tobytes())
        shape = value.shape
    elif isinstance(value, dict):
        flags, shape = struct.pack("<II", 2, 0), (1, 1)
        body = element(5, struct.pack("<i", 32))
        body += element(1, b"".join(key.encode().ljust(32, b"\0") for key in value))
        body += b"".join(matrix("", inner) for inner in value.values())
    elif isinstance(value, list):
        flags, shape = struct.pack("<II", 1, 0), (len(value), 1)
        body = b"".join(matrix("", inner) for inner in value)
    else:
        code, kind = _CLASS[value.dtype.str[1:]]
        flags, shape = struct.pack("<II", code, 0), value.shape
        body = element(kind, value.astype(value.dtype.newbyteorder("<")).tobytes(order="F"))
    head = element(6, flags) + element(5, np.array(shape, "<i4").tobytes()) + element(1, name.encode())
    return struct.pack("<II", 14, len(head + body)) + head + body


class Sparse:
    """A sparse matrix from a dense one, in columns."""

    def __init__(self, dense: np.ndarray) -> None:
        self.shape = dense.shape
        columns, rows = np.nonzero(dense.T)
        self.rows, self.values = rows.tolist(), dense[rows, columns].tolist()
        self.columns = [0, *np.cumsum((dense != 0).sum(axis=0)).tolist()]


def mat(path: Path, compress: bool = True, **variables: Any) -> Path:
    made = b"MATLAB 5.0 MAT-file, written by a test".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)
    for name, value in variables.items():
        data = matrix(name, value)
        if compress:
            squeezed = zlib.compress(data)
            data = struct.pack("<II", 15, len(squeezed)) + squeezed
        made += data
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made)
    return path
