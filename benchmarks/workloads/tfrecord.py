"""TFRecord: Examples of ten features, decoded, checksums compared, and batched."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import loop

from . import STREAM, Bar
from .files import folder, kept, seconds

QUESTION = "TFRecord: Examples of 10 features (ints, floats, bytes), batch 256"
NOTE = (
    "The same lines on one file of 40,000 records of about 250 bytes. Millrace compares the checksum of every record, "
    "MindSpore does not."
)
METRICS = STREAM
BARS = (Bar("at least 3 times MindSpore", "rows_per_s", ratio=3),)

BATCH = 256


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes(made) + bytes([value])


def message(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | 2]) + varint(len(data)) + data


def example(n: int, noise: Any) -> bytes:
    features = {
        "id": message(3, message(1, varint(n))),
        "small": message(3, message(1, varint(int(noise[0]) % 1000))),
        "large": message(3, message(1, varint(int(noise[1])))),
        "digit": message(3, message(1, varint(n % 10))),
        "four": message(3, message(1, b"".join(varint(int(value) % 300) for value in noise[2:6]))),
        "one": message(2, message(1, struct.pack("<f", n % 9))),
        "half": message(2, message(1, struct.pack("<f", 0.5))),
        "eight": message(2, message(1, np.arange(8, dtype="<f4").tobytes())),
        "sixteen": message(2, message(1, np.ones(16, "<f4").tobytes())),
        "name": message(1, message(1, b"a name of 20 letters")),
    }
    entries = [message(1, message(1, key.encode()) + message(2, value)) for key, value in features.items()]
    return message(1, b"".join(entries))


def _table() -> list[int]:
    made = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        made.append(n)
    return made


TABLE = _table()


def masked(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def write(path: Path, rows: int) -> None:
    noise = np.random.default_rng(0).integers(0, 1_000_000, (rows, 6))
    with path.open("wb") as file:
        for n in range(rows):
            data = example(n, noise[n])
            length = struct.pack("<Q", len(data))
            file.write(length + masked(length) + data + masked(data))


def like_mindspore(ds: Any, quick: bool, shuffle: bool = False) -> dict[str, Any]:
    path = kept(
        folder() / f"ten-{'quick' if quick else 'full'}.tfrecord",
        lambda p: write(p, 600 if quick else 40_000),
    )

    def build() -> Any:
        batches = ds.TFRecordDataset(str(path), shuffle=shuffle).batch(BATCH)
        return batches.create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick))


def millrace(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, shuffle)


def mindspore(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, shuffle)


VARIANTS = {
    "millrace": {"in order": millrace, "shuffled": lambda quick: millrace(quick, True)},
    "mindspore": {"in order": mindspore, "shuffled": lambda quick: mindspore(quick, True)},
}
