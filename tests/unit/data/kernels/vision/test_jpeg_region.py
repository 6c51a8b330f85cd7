"""A part of a JPEG decoded alone has the pixels of the whole one."""

from __future__ import annotations

import io
from typing import Any

import cv2
import numpy as np
import pytest
import simplejpeg
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from millrace._src.core.errors import DataError
from millrace._src.data.kernels.vision import decode as codec
from millrace._src.data.kernels.vision import jpeg_region as jpeg
from millrace._src.data.kernels.vision import jpeg_rows


def picture(height: int, width: int) -> np.ndarray:
    """Colours that change fast enough for neighbouring blocks to differ."""
    rng = np.random.default_rng(height * 1000 + width)
    coarse = rng.integers(0, 256, (height // 5 + 2, width // 5 + 2, 3), dtype=np.uint8)
    return cv2.resize(coarse, (width, height))


def encoded(height: int, width: int, kind: str) -> bytes:
    image = picture(height, width)
    if kind == "440":
        return simplejpeg.encode_jpeg(image, colorsubsampling="440")
    file = io.BytesIO()
    if kind == "grey":
        Image.fromarray(image).convert("L").save(file, "JPEG")
    else:
        sampling, _, form = kind.partition(" ")
        Image.fromarray(image).save(file, "JPEG", subsampling=sampling, progressive=form == "progressive")
    return file.getvalue()


KINDS = ["4:4:4", "4:2:2", "4:2:0", "4:2:0 progressive", "440", "grey"]


def part_of(data: bytes, box: jpeg.Box) -> Any:
    return jpeg.decode_jpeg_region(memoryview(data), lambda *size: 1, lambda *size: box)


# the system's library is optional: where it is missing, simplejpeg alone decodes parts
ENGINES = ["simplejpeg"] + ["system"] * (jpeg.library() is not None)


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    if request.param == "simplejpeg":
        monkeypatch.setattr(jpeg, "library", lambda: None)
    return request.param


@given(
    st.sampled_from(KINDS),
    st.tuples(st.integers(1, 70), st.integers(1, 90)),
    st.tuples(*[st.floats(0, 1)] * 4),
    st.sampled_from(ENGINES),
)
def test_any_part_is_exact(kind, size, at, engine):
    data = encoded(*size, kind)
    whole = simplejpeg.decode_jpeg(data, "RGB", fastdct=False, fastupsample=False)
    tall, wide = 1 + int(at[0] * (size[0] - 1)), 1 + int(at[1] * (size[1] - 1))
    top, left = int(at[2] * (size[0] - tall)), int(at[3] * (size[1] - wide))
    with pytest.MonkeyPatch.context() as patch:
        if engine == "simplejpeg":
            patch.setattr(jpeg, "library", lambda: None)
        part = part_of(data, (top, left, tall, wide))
    if engine == "simplejpeg":
        saves = "progressive" not in kind and top + tall + 32 <= size[0]
        assert part is not None or not saves
        if part is None:
            return
    box = np.s_[top : top + tall, left : left + wide]
    assert part.shape == whole.shape
    np.testing.assert_array_equal(part[box], whole[box])


def test_an_image_leaves_nothing_for_the_next(engine):
    small, large = encoded(64, 80, "4:2:0"), encoded(200, 300, "4:2:2")
    for by in (1, 4, 2):
        for data, size in ((small, (64, 80)), (large, (200, 300))):
            jpeg.decode_jpeg_region(memoryview(large), lambda *_, by=by: by, lambda *_: None)
            part = part_of(data, (5, 6, 20, 21))
            assert part.shape == (*size, 3)
            np.testing.assert_array_equal(part[5:25, 6:27], codec.decode(data)[5:25, 6:27])


@pytest.mark.parametrize("by", [2, 4, 8])
def test_smaller_sizes(by, engine):
    data = encoded(120, 161, "4:2:0")
    made = jpeg.decode_jpeg_region(memoryview(data), lambda *size: by, lambda *size: None)
    assert made.shape == (-(-120 // by), -(-161 // by), 3)
    part = jpeg.decode_jpeg_region(memoryview(data), lambda *size: by, lambda *size: (1, 2, 3, 4)).copy()
    whole = simplejpeg.decode_jpeg(data, "RGB", min_height=-(-120 // by), min_width=-(-161 // by))
    np.testing.assert_array_equal(part[1:4, 2:6], whole[1:4, 2:6])


def restarting(height, width):
    """A file with restart markers."""
    file = io.BytesIO()
    Image.fromarray(picture(height, width)).save(file, "JPEG", restart_marker_rows=1)
    return file.getvalue()


def test_what_cannot_be_decoded_alone_is_none(engine):
    ink = io.BytesIO()
    Image.fromarray(picture(20, 20)).convert("CMYK").save(ink, "JPEG")
    whole = encoded(64, 64, "4:2:0")
    for data in (ink.getvalue(), whole[:-200], whole[:30] + b"\xff\xd9", b"\xff\xd8\xff\xd9"):
        assert part_of(data, (1, 1, 5, 5)) is None


def test_rows_of_files_that_are_not_plain_are_left_to_the_whole_decode():
    def rows(data):
        return jpeg_rows.decode_upper_rows(memoryview(data), lambda *_: 1, lambda *_: (1, 1, 5, 5))

    assert rows(encoded(96, 64, "4:2:0")) is not None
    assert rows(encoded(96, 64, "4:2:0 progressive")) is None
    assert rows(restarting(96, 64)) is None
    assert rows(encoded(12, 64, "4:2:0")) is None


def test_damage_inside_the_part_is_noticed(engine):
    data = bytearray(encoded(200, 200, "4:2:0"))
    start = data.index(b"\xff\xda") + 14
    data[start + 20 : start + 24] = b"\xff\xc7\x00\x00"
    assert part_of(bytes(data), (0, 0, 60, 60)) is None


def test_a_part_is_the_same_as_of_the_whole_decode(monkeypatch, engine):
    data = np.frombuffer(encoded(90, 80, "4:2:0"), np.uint8)
    cut = lambda image: image[10:30, 20:50].copy()  # noqa: E731
    part = codec.decode_region(data, lambda *size: (10, 20, 20, 30), cut)
    monkeypatch.setattr(jpeg, "decode_jpeg_region", lambda *arguments: None)
    np.testing.assert_array_equal(codec.decode_region(data, lambda *size: (10, 20, 20, 30), cut), part)


def test_a_view_of_the_part_is_not_overwritten():
    first, second = (np.frombuffer(encoded(60, 80, kind), np.uint8) for kind in ("4:2:0", "grey"))
    cut = lambda image: image[10:30, 20:50]  # noqa: E731
    kept = codec.decode_region(first, lambda *size: (10, 20, 20, 30), cut)
    before = kept.copy()
    codec.decode_region(second, lambda *size: (10, 20, 20, 30), cut)
    np.testing.assert_array_equal(kept, before)


def test_a_file_cut_short_is_an_error_wherever_the_part_lies():
    data = np.frombuffer(encoded(200, 200, "4:2:0"), np.uint8)[:-500]
    with pytest.raises(DataError, match="cut short"):
        codec.decode_region(data, lambda *size: (0, 0, 8, 8), lambda image: image)


def test_a_size_that_is_claimed_is_checked_first():
    data = bytearray(encoded(32, 32, "4:2:0"))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = b"\xff\xdc\xff\xdc"
    with pytest.raises(DataError, match="65500 x 65500"):
        codec.decode_region(bytes(data), lambda *size: (0, 0, 8, 8), lambda image: image)
