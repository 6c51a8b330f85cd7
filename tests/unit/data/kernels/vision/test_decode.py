"""Encoded images: every form of bytes, every kind of file, and those that are damaged or an attack."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.data.kernels.vision import decode as codec
from tests.parity.data.vision.inputs import FILES, smooth

JPEG = (FILES / "rgb.jpg").read_bytes()


@pytest.mark.parametrize(
    "form",
    [
        bytes,
        bytearray,
        memoryview,
        lambda b: np.frombuffer(b, np.uint8),
        lambda b: np.frombuffer(b, np.int8),
        lambda b: np.array(b),
        lambda b: np.array([b]),
        lambda b: np.repeat(np.frombuffer(b, np.uint8), 2)[::2],
    ],
    ids=["bytes", "bytearray", "memoryview", "uint8", "int8", "bytes_0d", "bytes_1d", "strided"],
)
def test_all_forms_of_bytes(form):
    wanted = codec.decode(np.frombuffer(JPEG, np.uint8))
    np.testing.assert_array_equal(codec.decode(form(JPEG)), wanted)


@pytest.mark.parametrize("name", ["rgb.jpg", "rgb422.jpg", "grey.jpg", "rgb.png", "palette.png", "grey.png"])
def test_pixels_are_near_pillows(name):
    ours = codec.decode((FILES / name).read_bytes()).astype(int)
    theirs = np.asarray(Image.open(FILES / name).convert("RGB")).astype(int)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= (2 if name.endswith("jpg") else 0)


def test_alpha_is_dropped_and_sixteen_bits_become_eight():
    rgba = np.asarray(Image.open(FILES / "rgba.png"))
    np.testing.assert_array_equal(codec.decode((FILES / "rgba.png").read_bytes()), rgba[:, :, :3])
    deep = np.asarray(Image.open(FILES / "deep.png"))
    np.testing.assert_array_equal(codec.decode((FILES / "deep.png").read_bytes())[:, :, 0], deep >> 8)


def test_exif_is_ignored_in_arrays_as_in_pillow_images():
    data = (FILES / "turned.jpg").read_bytes()
    assert codec.decode(data).shape == (37, 53, 3)
    assert codec.decode_to_pil(data).size == (53, 37)


@pytest.mark.parametrize("name", ["truncated.jpg", "header_only.jpg", "truncated.png", "noise.bin"])
def test_damaged_files_say_so(name):
    with pytest.raises(DataError, match="Decode"):
        codec.decode((FILES / name).read_bytes())
    with pytest.raises((ValueError, RuntimeError), match=r"Failed to decode|Decode"):
        codec.decode_to_pil((FILES / name).read_bytes())


def test_slips_that_leave_the_picture_whole_are_forgiven():
    """As MindSpore forgives them: several files of ImageNet have one."""
    whole = codec.decode(JPEG)
    tables, scan = JPEG.index(b"\xff\xdb"), JPEG.index(b"\xff\xda")
    slips = [
        JPEG[:tables] + b"\0\1\2" + JPEG[tables:],
        JPEG[:scan] + b"\x11\x22" + JPEG[scan:],
        JPEG[:-2] + b"\x11\x22\x33" + JPEG[-2:],
        JPEG[:-2],
        JPEG[:-1],
        JPEG + b"\0" * 9,
        JPEG + JPEG,
        JPEG.replace(b"JFIF\0\1\1", b"JFIF\0\x09\x09"),
    ]
    for data in slips:
        np.testing.assert_array_equal(codec.decode(data), whole)
    for cut in (3, 10, 100, 700):
        with pytest.raises(DataError, match="cut short"):
            codec.decode(JPEG[:-cut])


def test_empty_and_foreign_bytes():
    with pytest.raises(DataError, match="empty"):
        codec.decode(b"")
    with pytest.raises(DataError, match=r"gif.*to_pil"):
        codec.decode((FILES / "animated.gif").read_bytes())
    with pytest.raises(DataError, match="1-D array of uint8"):
        codec.decode(np.zeros(9, np.float32))
    assert codec.decode_to_pil((FILES / "animated.gif").read_bytes()).size == (53, 37)


def _claims(kind: str) -> bytes:
    """A small file that claims 100,000 x 100,000 pixels."""
    if kind == "png":
        return (FILES / "bomb.png").read_bytes()
    size = (100_000).to_bytes(4, "little")
    if kind == "bmp":
        data = bytearray((FILES / "rgb.bmp").read_bytes())
        data[18:26] = size * 2
        return bytes(data)
    buffer = io.BytesIO()
    Image.new("RGB", (16, 16)).save(buffer, "jpeg")
    data = bytearray(buffer.getvalue())
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = (65_500).to_bytes(2, "big") * 2
    return bytes(data)


@pytest.mark.parametrize("kind", ["png", "bmp", "jpeg"])
def test_an_image_that_claims_too_many_pixels_is_refused_before_decoding(kind):
    with pytest.raises(DataError, match="at most 178956970"):
        codec.decode(_claims(kind))
    with pytest.raises(DataError, match="at most 178956970"):
        codec.decode_to_pil(_claims(kind))


def test_write_and_read_back(tmp_path):
    picture = smooth(37, 53)
    vision.write_png(str(tmp_path / "a.png"), picture)
    np.testing.assert_array_equal(vision.read_image(str(tmp_path / "a.png")), picture)
    vision.write_jpeg(str(tmp_path / "a.jpg"), picture, 95)
    near = vision.read_image(str(tmp_path / "a.jpg"), vision.ImageReadMode.COLOR)
    assert np.abs(near.astype(int) - picture).mean() < 6
    assert vision.read_image(str(tmp_path / "a.jpg"), vision.ImageReadMode.GRAYSCALE).shape == (37, 53, 1)
    np.testing.assert_array_equal(vision.Decode()(vision.encode_png(picture)), picture)
    grey = vision.encode_jpeg(picture[:, :, :1], 90)
    assert vision.Decode()(grey).shape == (37, 53, 3)


def test_importing_the_package_imports_no_image_library():
    code = "import sys, millrace.dataset.vision; print([m for m in ('cv2', 'PIL', 'simplejpeg') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def _grey_png(*chunks: tuple[bytes, bytes], size: tuple[int, int] = (5, 7)) -> bytes:
    """A PNG of 8-bit grey as the format describes it, with chunks between its header and its pixels."""
    height, width = size

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes(range(y, y + width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in body)


@pytest.mark.parametrize(
    "chunks",
    [
        (),
        ((b"tRNS", b"\0\3"),),
        ((b"gAMA", struct.pack(">I", 45455)),),
        ((b"acTL", struct.pack(">II", 1, 0)),),
    ],
    ids=["plain", "transparent", "gamma", "animated"],
)
def test_grey_png_files_have_three_equal_channels(chunks):
    """They are decoded as one channel, and made three after that."""
    pixels = codec.decode(_grey_png(*chunks))
    wanted = np.add.outer(np.arange(5), np.arange(7)).astype(np.uint8)
    assert pixels.shape == (5, 7, 3)
    for channel in range(3):
        assert np.array_equal(pixels[:, :, channel], wanted)
    assert pixels.flags.c_contiguous
    assert pixels.flags.writeable


# --- damaged inside, the end marker in place -----------------------------------------------------------------------


def _spoilt(how: str) -> bytes:
    at = JPEG.rindex(b"\xff\xda") + 400
    return {
        "zeros": JPEG[: at + 100] + bytes(40) + JPEG[at + 140 :],
        "another marker": JPEG[:at] + b"\xff\xd3" + JPEG[at + 2 :],
        "cut, end put back": JPEG[:at] + b"\xff\xd9",
        "an end inside": JPEG[:at] + b"\xff\xd9" + JPEG[at + 2 :],
    }[how]


# the checksums of the pixels that MindSpore 2.7.0 makes of these files
SPOILT = {
    "zeros": 1099278245,
    "another marker": 812129230,
    "cut, end put back": 812129230,
    "an end inside": 812129230,
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_damaged_picture_is_decoded_as_far_as_it_goes(how, monkeypatch):
    monkeypatch.setattr("millrace._src.core.log._warned_keys", set())
    with pytest.warns(UserWarning, match=r"Decode: the JPEG is damaged \(Corrupt JPEG data"):
        pixels = codec.decode(_spoilt(how))
    assert zlib.crc32(np.ascontiguousarray(pixels)) == SPOILT[how]


def test_without_its_end_a_damaged_picture_is_refused():
    with pytest.raises(DataError, match="damaged or cut short"):
        codec.decode(_spoilt("zeros")[:-300])


@pytest.mark.parametrize("decode", [True, False], ids=["by the source", "by a map"])
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_the_warning_names_the_file(decode, executor, tmp_path, monkeypatch, no_leaks):
    monkeypatch.setattr("millrace._src.core.log._warned_keys", set())
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "bad.jpg").write_bytes(_spoilt("zeros"))
    (tmp_path / "a" / "good.jpg").write_bytes(JPEG)
    data = ds.ImageFolderDataset(str(tmp_path), decode=decode, shuffle=False)
    data = data if decode else data.map(vision.Decode(), ["image"], num_parallel_workers=2)
    with settings.override(executor=executor), pytest.warns(UserWarning, match="damaged") as caught:
        shapes = [row["image"].shape for row in data.create_dict_iterator(num_epochs=2, output_numpy=True)]
    assert shapes == [(37, 53, 3)] * 2
    texts = [str(warning.message) for warning in caught if "damaged" in str(warning.message)]
    assert len(texts) == 1, "once for each file"
    assert str(tmp_path / "a" / "bad.jpg") in texts[0]
