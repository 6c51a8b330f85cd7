"""A part of a grey PNG unpacked alone has the pixels of the whole one."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.data.kernels.vision import decode as codec
from millrace._src.data.kernels.vision import png_region as png


@pytest.fixture(autouse=True)
def _every_file_is_tried():
    """A file with another filter, in whatever test, makes this thread leave out some of the next."""
    png._buffers.pause = 0
    yield
    png._buffers.pause = 0


def mask(height: int, width: int) -> np.ndarray:
    rng = np.random.default_rng(height * 1000 + width)
    coarse = rng.integers(0, 256, (height // 9 + 2, width // 7 + 2), dtype=np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_NEAREST)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def filtered(image: np.ndarray, kinds: list[int]) -> bytes:
    """The rows as a PNG stores them, each with its filter: none, sub or up."""
    rows = []
    for y, row in enumerate(image):
        kind = kinds[y % len(kinds)]
        left = np.concatenate([np.zeros(1, np.uint8), row[:-1]])
        above = image[y - 1] if y else np.zeros_like(row)
        rows.append(bytes([kind]) + (row - (0 * row, left, above)[kind]).astype(np.uint8).tobytes())
    return b"".join(rows)


def encoded(image: np.ndarray, kinds: list[int], pieces: int = 1, extra: bytes = b"") -> bytes:
    packed = zlib.compress(filtered(image, kinds))
    step = -(-len(packed) // pieces)
    body = b"".join(chunk(b"IDAT", packed[at : at + step]) for at in range(0, len(packed), step))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + extra + body + chunk(b"IEND", b"")


def part_of(data: bytes, box: png.Box) -> Any:
    return png.decode_gray_png_region(memoryview(data), lambda *size: box)


@given(
    st.tuples(st.integers(1, 70), st.integers(1, 90)),
    st.tuples(*[st.floats(0, 1)] * 4),
    st.lists(st.sampled_from([0, 1]), min_size=1, max_size=3),
    st.integers(1, 3),
)
def test_same_pixels(size: Any, shares: Any, kinds: list[int], pieces: int):
    height, width = size
    top, left = int(shares[0] * (height - 1)), int(shares[1] * (width - 1))
    tall, wide = 1 + int(shares[2] * (height - top - 1)), 1 + int(shares[3] * (width - left - 1))
    image = mask(height, width)
    data = encoded(image, kinds, pieces)
    assert (cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) == image).all()
    got = part_of(data, (top, left, tall, wide))
    assert got.shape == (height, width, 1)
    part = np.s_[top : top + tall, left : left + wide]
    assert (got[part][:, :, 0] == image[part]).all()


def test_as_opencv_writes_it(monkeypatch):
    image = mask(97, 61)
    data = cv2.imencode(".png", image)[1].tobytes()
    assert (part_of(data, (0, 0, 97, 61))[:, :, 0] == image).all()
    monkeypatch.setattr(png, "inflater", lambda: zlib)  # where zlib-ng is not installed
    assert (part_of(data, (3, 2, 90, 50))[3:93, 2:52, 0] == image[3:93, 2:52]).all()


GOOD = encoded(mask(20, 30), [1])


@pytest.mark.parametrize(
    "data",
    [
        encoded(mask(20, 30), [2]),
        encoded(mask(20, 30), [1], extra=chunk(b"tRNS", b"\0\5")),
        encoded(mask(20, 30), [1], extra=chunk(b"gAMA", b"\0\0\xb1\x8f")),
        vision.encode_png(np.zeros((20, 30, 3), np.uint8)).tobytes(),
        GOOD[:-1],
        GOOD[:-12],
        GOOD[:40],
        GOOD[:50] + bytes([GOOD[50] ^ 1]) + GOOD[51:],
        encoded(mask(10, 30), [1]).replace(
            chunk(b"IHDR", struct.pack(">IIBBBBB", 30, 10, 8, 0, 0, 0, 0)),
            chunk(b"IHDR", struct.pack(">IIBBBBB", 30, 20, 8, 0, 0, 0, 0)),
        ),
        b"",
        b"\x89PNG\r\n\x1a\n",
    ],
    ids=[
        "up",
        "transparent",
        "gamma",
        "colour",
        "end cut",
        "no end",
        "cut",
        "damaged",
        "too short",
        "empty",
        "head",
    ],
)
def test_others_are_left_to_opencv(data: bytes):
    assert part_of(data, (0, 0, 20, 30)) is None


def test_after_another_filter_some_files_are_not_tried():
    assert part_of(encoded(mask(20, 30), [2]), (0, 0, 20, 30)) is None
    assert png.decode_gray_png_region(memoryview(GOOD), lambda *size: (0, 0, 20, 30)) is None


def test_what_is_huge_is_refused():
    with (
        settings.use_settings(settings.current().replace(max_image_pixels=100)),
        pytest.raises(DataError, match="20 x 30"),
    ):
        codec.decode_gray_region(GOOD, lambda *size: (0, 0, 20, 30), lambda image: image, False)


def test_results_are_not_overwritten_by_the_next():
    first, second = mask(20, 30), 255 - mask(20, 30)
    got = [
        codec.decode_gray_region(encoded(x, [1]), lambda *size: (0, 0, 20, 30), lambda x: x, False)
        for x in (first, second)
    ]
    assert (got[0] == first).all()
    assert (got[1] == second).all()
    three = codec.decode_gray_region(GOOD, lambda *size: (0, 0, 20, 30), lambda x: x, True)
    assert (three == first[:, :, None]).all()
    assert three.shape == (20, 30, 3)
