"""How much an encoded image may claim or hold, set by two settings, in every place where images are decoded."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.data.kernels.vision import image_header as headers
from tests.parity.data.vision.inputs import FILES, smooth

PICTURES = [
    "rgb.jpg", "rgb422.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg", "ycck.jpg", "turned.jpg", "trailing.jpg",
    "rgb.png", "animated.png", "deep_rgb.png", "palette.png", "rgb.bmp", "rgb.gif", "rgb.tiff", "deep.tiff", "rgb.webp",
]  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_the_header_tells_the_size(name):
    data = (FILES / name).read_bytes()
    assert headers.image_size(data) == (37, 53)
    assert headers.image_size(memoryview(data)) == (37, 53)


def test_sizes_of_tiff_files_in_either_byte_order():
    for order, magic in (("<", b"II*\0"), (">", b"MM\0*")):
        for form, kind in (("H2x", 3), ("I", 4)):
            entries = [
                struct.pack(order + "HHI" + form, tag, kind, 1, value) for tag, value in ((256, 7), (257, 5))
            ]
            data = magic + struct.pack(order + "I", 8) + struct.pack(order + "H", 2) + b"".join(entries)
            assert headers.image_size(data) == (5, 7)


@pytest.mark.parametrize("name", PICTURES)
def test_every_cut_of_a_header_gives_a_size_or_none(name):
    data = (FILES / name).read_bytes()
    for length in range(min(len(data), 400)):
        assert headers.image_size(data[:length]) in (None, (37, 53))


def test_sizes_of_a_jpeg_with_bytes_between_its_segments():
    data = (FILES / "rgb.jpg").read_bytes()
    at = data.index(b"\xff\xdb")
    assert headers.image_size(data[:at] + b"\0" * 10_000 + b"\xff\xff" + data[at:]) == (37, 53)
    assert headers.image_size(b"\xff\xd8\xff" + b"\0" * 100_000) is None


ALL = ["rgb.jpg", "rgb.png", "rgb.bmp", "rgb.tiff", "cmyk.jpg", "grey.png"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "op", [vision.Decode(), vision.Decode(True), vision.RandomCropDecodeResize(9)], ids=repr
)
def test_pixels(name, op):
    data = np.fromfile(FILES / name, np.uint8)
    ds.config.set_max_image_pixels(37 * 53 - 1)
    with pytest.raises(DataError, match=r"37 x 53 pixels; at most 1960.*config\.set_max_image_pixels"):
        op(data)
    ds.config.set_max_image_pixels(37 * 53)
    assert np.asarray(op(data)).ndim == 3
    ds.config.set_max_image_pixels(None)
    assert np.asarray(op(data)).ndim == 3


@pytest.mark.parametrize(
    "op", [vision.Decode(), vision.Decode(True), vision.RandomCropDecodeResize(9)], ids=repr
)
def test_bytes(op):
    data = np.fromfile(FILES / "rgb.jpg", np.uint8)
    ds.config.set_max_image_bytes(len(data) - 1)
    with pytest.raises(DataError, match=r"1481 bytes; at most 1480.*config\.set_max_image_bytes"):
        op(data)
    ds.config.set_max_image_bytes(len(data))
    assert np.asarray(op(data)).ndim == 3


def test_read_image_looks_before_it_reads(tmp_path):
    path = str(tmp_path / "a.png")
    vision.write_png(path, smooth(37, 53))
    ds.config.set_max_image_bytes("100B")
    with pytest.raises(DataError, match=r"a\.png.*set_max_image_bytes"):
        vision.read_image(path)
    assert vision.read_file(path).size > 100
    ds.config.set_max_image_bytes(None)
    ds.config.set_max_image_pixels(100)
    with pytest.raises(DataError, match="ReadImage: the image claims 37 x 53 pixels"):
        vision.read_image(path)


@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_a_pipeline_keeps_the_limits_it_was_started_with(executor):
    rows = [(np.fromfile(FILES / "rgb.jpg", np.uint8),)] * 4
    ds.config.set_executor(executor)
    ds.config.set_max_image_pixels(1000)
    data = ds.GeneratorDataset(rows, ["image"], shuffle=False).map(vision.Decode(), "image")
    refused = data.create_dict_iterator(1, output_numpy=True)
    with pytest.raises(DataError, match=r"at most 1000 are decoded[\s\S]*Decode"):
        next(refused)
    ds.config.set_max_image_pixels(10_000)
    assert [row["image"].shape for row in data.create_dict_iterator(1, output_numpy=True)] == [
        (37, 53, 3)
    ] * 4


def test_what_is_no_limit():
    for wrong in (0, -5):
        with pytest.raises(ValueError, match="pixels must be at least 1"):
            ds.config.set_max_image_pixels(wrong)
    for wrong in ("many", True, 1.5):
        with pytest.raises(TypeError, match="pixels"):
            ds.config.set_max_image_pixels(wrong)
    with pytest.raises(ValueError, match="must be positive"):
        ds.config.set_max_image_bytes(0)
    with pytest.raises(ValueError, match="cannot read 'lots' as a size"):
        ds.config.set_max_video_bytes("lots")
    assert ds.config.get_max_image_pixels() == settings.Settings().max_image_pixels == 178_956_970
    assert ds.config.get_max_image_bytes() == 256 * 2**20


def test_more_pixels_than_pillow_allows(monkeypatch):
    """Pillow has a limit of its own, for the whole process: it stays as it is, and the error names it."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30)).save(buffer, "png")
    with pytest.raises(DataError, match=r"PIL\.Image\.MAX_IMAGE_PIXELS"):
        vision.Decode(True)(buffer.getvalue())
    assert vision.Decode()(buffer.getvalue()).shape == (30, 40, 3)
