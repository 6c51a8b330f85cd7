"""Files made to fill the memory, to recurse without end, or to lie about their size: refused by name, at once."""

from __future__ import annotations

import gzip
import json
import pickle
import pickletools
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import FormatError, MillraceError
from millrace._src.data.formats.annotations import read_json, read_xml
from millrace._src.data.formats.audio_files import read_sphere, read_wav
from millrace._src.data.formats.cifar_pickle import read_batch
from millrace._src.data.formats.column_readers import map_file, map_gray_bmp
from millrace._src.data.formats.files import decompression as unpacking
from millrace._src.data.formats.idx import map_idx, read_idx
from millrace._src.data.formats.json_decoder import parse_json
from millrace._src.data.formats.mat import read_mat
from millrace._src.data.formats.tar import iter_members

MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a file claims, no more than some megabytes are taken for it."""
    monkeypatch.setattr(unpacking, "ALWAYS", MEGABYTE)
    monkeypatch.setattr(unpacking, "STEP", MEGABYTE)
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * MEGABYTE


def zeros(size: int) -> Iterator[bytes]:
    for _ in range(size // MEGABYTE):
        yield bytes(MEGABYTE)


def gzip_bomb(path: Path, head: bytes = b"", size: int = 400 * MEGABYTE) -> Path:
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(head)
        for part in zeros(size):
            file.write(part)
    assert path.stat().st_size < size // 500
    return path


def deflate(head: bytes, size: int) -> bytes:
    packer = zlib.compressobj(9)
    parts = [packer.compress(head)]
    parts += [packer.compress(part) for part in zeros(size)]
    return b"".join([*parts, packer.flush()])


# --- compressed files ----------------------------------------------------------------------------------------------


def test_tfrecord_that_unpacks_without_end(tmp_path: Path) -> None:
    bomb = gzip_bomb(tmp_path / "bomb.gz")
    with pytest.raises(
        FormatError, match=r"bomb\.gz has \d+ bytes and would unpack to more than.*unpack it yourself"
    ):
        list(ds.TFRecordDataset(str(bomb), compression_type="GZIP").create_dict_iterator(num_epochs=1))
    (tmp_path / "bomb.z").write_bytes(deflate(b"", 400 * MEGABYTE))
    with pytest.raises(FormatError, match=r"bomb\.z has \d+ bytes and would unpack to more than"):
        list(
            ds.TFRecordDataset(str(tmp_path / "bomb.z"), compression_type="ZLIB").create_dict_iterator(
                num_epochs=1
            )
        )


def test_what_packs_well_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "a.z").write_bytes(zlib.compress(bytes(MEGABYTE - 1), 9))
    with open(unpacking.DecompressedFile("ZLIB")(str(tmp_path / "a.z")), "rb") as file:
        file.seek(0)
        assert len(file.read()) == MEGABYTE - 1


def test_idx_that_unpacks_without_end(tmp_path: Path) -> None:
    promised = gzip_bomb(tmp_path / "a", bytes([0, 0, 8, 1]) + struct.pack(">I", 400 * MEGABYTE))
    with pytest.raises(FormatError, match="the dimensions"):
        read_idx(promised)
    bomb = gzip_bomb(tmp_path / "b", bytes([0, 0, 8, 1]) + struct.pack(">I", 9))
    with pytest.raises(FormatError, match="more than 9 bytes"):
        read_idx(bomb)


def mat(*elements: bytes) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 256, 0x4D49) + b"".join(elements)


def test_mat_that_unpacks_without_end(tmp_path: Path) -> None:
    inner = deflate(struct.pack("<II", 14, 32 * MEGABYTE), 32 * MEGABYTE)
    (tmp_path / "x.mat").write_bytes(mat(struct.pack("<II", 15, len(inner)) + inner))
    with pytest.raises(FormatError, match=r"x\.mat.*would unpack"):
        read_mat(tmp_path / "x.mat")


# --- sizes that lie ------------------------------------------------------------------------------------------------

MANY = 0x7FFFFFFF


def variable(code: int, shape: tuple[int, int], *rest: bytes) -> bytes:
    body = struct.pack("<IIII", 6, 8, code, 0) + struct.pack("<IIii", 5, 8, *shape)
    body += struct.pack("<HH4s", 1, 1, b"x") + b"".join(rest)
    return struct.pack("<II", 14, len(body)) + body


def column_ends(count: int) -> bytes:
    return struct.pack("<II", 5, 0) + struct.pack("<II", 5, 4 * count) + bytes(4 * count)


LIARS: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "idx, mapped": (bytes([0, 0, 8, 1]) + struct.pack(">I", MANY) + b"abc", lambda p: map_idx(str(p), ())),
    "idx, read": (bytes([0, 0, 8, 1]) + struct.pack(">I", MANY) + b"abc", read_idx),
    "idx of doubles": (bytes([0, 0, 14, 8]) + struct.pack(">I", MANY) * 8, read_idx),
    "cifar": (b"abc", lambda p: map_file(str(p), (3073,))),
    "cifar as a pickle": (b"\x80\x02B" + struct.pack("<I", MANY) + b"abc.", read_batch),
    "long text of a pickle": (b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"abc.", read_batch),
    "mat of an element": (mat(struct.pack("<II", 14, MANY)), read_mat),
    "mat of numbers": (mat(variable(6, (1 << 20, 1 << 11), struct.pack("<II", 9, 0))), read_mat),
    "mat of cells": (mat(variable(1, (1 << 20, 1 << 11))), read_mat),
    "mat, sparse": (mat(variable(5, (1 << 30, 3), column_ends(4), struct.pack("<II", 9, 0))), read_mat),
    "wav": (b"RIFF" + struct.pack("<I", MANY) + b"WAVE" + b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8, 16, 2, 16)
            + b"data" + struct.pack("<I", MANY) + b"abcd", lambda p: read_wav(str(p))),
    "sphere": (b"NIST_1A\n   1024\nsample_rate -i 2147483646\nend_head\n".ljust(1024) + b"abcd",
               lambda p: read_sphere(str(p), 0, 1e9)),
    "bmp": (b"BM" + struct.pack("<IIIIiiHHI", 0, 0, 54, 40, 1 << 19, 1 << 19, 1, 8, 0) + bytes(20),
            lambda p: map_gray_bmp(str(p))),
    "tar": (b"x".ljust(100, b"\0") + b"\0" * 24 + b"77777777777\0" + bytes(12) + b"0" * 8 + bytes(356),
            lambda p: list(iter_members(p))),
}  # fmt: skip


@pytest.mark.parametrize("name", LIARS)
def test_a_size_that_lies(name: str, tmp_path: Path) -> None:
    data, read = LIARS[name]
    path = tmp_path / "liar"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert "liar" in str(caught.value)


# --- nesting ---------------------------------------------------------------------------------------------------------

LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha">{}]>
<annotation><object><name>&k;</name></object></annotation>
""".format("".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(10)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "entities cannot be read"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "document types and entities cannot be read"),
        ("<a>" * 100_000 + "</a>" * 100_000, "too deep"),
        ("<a>" + "<b/>" * 1_000_001 + "</a>", "too large"),
    ],
    ids=["billion laughs", "from elsewhere", "deep", "many"],
)
def test_xml(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_xml(tmp_path / "a.xml")
    assert "a.xml" in str(caught.value)


@pytest.mark.parametrize("sign", ["[", '{"a":'])
def test_json(sign: str, tmp_path: Path) -> None:
    deep = sign * 200_000
    (tmp_path / "a.json").write_text(deep)
    with pytest.raises(FormatError, match="failed to parse"):
        read_json(tmp_path / "a.json")
    with pytest.raises(FormatError, match=r"a\.json at line 3"):
        parse_json(deep, "a.json", 3)


def test_coco_outlines_that_do_not_fit_in_an_array(tmp_path: Path) -> None:
    outlines = [[0] * 2_000] + [[0]] * 100_000
    note = {"image_id": 1, "iscrowd": 0, "segmentation": outlines}
    (tmp_path / "a.json").write_text(
        json.dumps({"images": [{"id": 1, "file_name": "x"}], "annotations": [note]})
    )
    tracemalloc.stop()
    data = ds.CocoDataset(str(tmp_path), str(tmp_path / "a.json"), "Stuff")
    with pytest.raises(MillraceError, match=r"100001 x 2000(.|\n)*a\.json"):
        data.get_dataset_size()
    tracemalloc.start()


# --- pickles ---------------------------------------------------------------------------------------------------------


def test_a_key_that_takes_for_ever_to_hash(tmp_path: Path) -> None:
    """Tuples of two equal tuples, sixty deep: 2**60 steps for whoever hashes them."""
    doubled = b"".join(b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86q" + bytes([n + 1]) for n in range(60))
    (tmp_path / "batch").write_bytes(b"\x80\x02})q\x00" + doubled + b"K\x01s.")
    assert any(op.name == "SETITEM" for op, _, _ in pickletools.genops((tmp_path / "batch").read_bytes()))
    with pytest.raises(FormatError, match="key of the type tuple"):
        read_batch(tmp_path / "batch")


def test_bytes_made_again_and_again(tmp_path: Path) -> None:
    text = "x" * MEGABYTE
    one = b"c_codecs\nencode\nh\x00X\x06\x00\x00\x00latin1\x86R"
    data = (
        b"\x80\x02}U\x01a](X" + struct.pack("<I", len(text)) + text.encode() + b"q\x00" + one * 400 + b"es."
    )
    (tmp_path / "batch").write_bytes(data)
    with pytest.raises(FormatError, match="more bytes than it has"):
        read_batch(tmp_path / "batch")


def test_a_pickle_that_calls_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "touched",))

    (tmp_path / "data_batch_1").write_bytes(pickle.dumps({"data": Evil()}, protocol=2))
    with pytest.raises(FormatError, match="which a data file has no need of"):
        read_batch(tmp_path / "data_batch_1")
    assert not (tmp_path / "touched").exists()


# --- rows that do not belong together --------------------------------------------------------------------------------


def test_fewer_images_than_labels(tmp_path: Path) -> None:
    from millrace._src.data.formats.mat import write_mat

    images = np.zeros((32, 32, 3, 4), np.uint8)
    write_mat(tmp_path / "train_32x32.mat", {"X": images, "y": np.ones((7, 1), np.uint8)})
    with pytest.raises(MillraceError, match=r"4 rows, but 7 labels(.|\n)*train_32x32\.mat"):
        list(ds.SVHNDataset(str(tmp_path), "train", shuffle=False).create_dict_iterator(num_epochs=1))
