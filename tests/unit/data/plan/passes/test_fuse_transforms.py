"""Transforms that a pass made one give what they give one by one."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import cv2
import numpy as np
import pytest
import simplejpeg

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.data.kernels.vision import jpeg_region as jpeg
from millrace._src.data.plan import bind
from millrace.dataset.vision import Inter
from tests.unit.data.kernels.vision.test_jpeg_region import encoded, picture

SIZES = [(64, 80), (97, 61), (50, 50), (120, 41)]
JPEGS = [encoded(*size, kind) for size in SIZES for kind in ("4:2:0", "4:4:4", "grey")]
PNGS = [vision.encode_png(picture(*size)).tobytes() for size in SIZES]


class Files:
    def __init__(self, files: list[bytes]) -> None:
        self.files = files

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return np.frombuffer(self.files[index], np.uint8), index

    def __len__(self) -> int:
        return len(self.files)


def images(files: list[bytes] = JPEGS) -> ds.Dataset:
    return ds.GeneratorDataset(Files(files), ["image", "label"], shuffle=False)


def rows(dataset: ds.Dataset) -> list[Any]:
    ds.config.set_seed(5)
    return [row[0] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def apart(monkeypatch: Any, dataset: ds.Dataset) -> list[Any]:
    """The rows without the pass, and without the library that decodes parts."""
    with monkeypatch.context() as patch:
        patch.setattr(bind, "PASSES", tuple(p for p in bind.PASSES if p[0] != "join transforms"))
        patch.setattr(jpeg, "library", lambda: None)
        return rows(dataset)


CHAINS = {
    "eval": [vision.Decode(), vision.Resize(40), vision.CenterCrop(32)],
    "train": [vision.Decode(), vision.RandomResizedCrop(24), vision.RandomHorizontalFlip()],
    "crop": [vision.Decode(), vision.RandomCrop(30)],
    "crop, larger": [vision.Decode(), vision.Crop((3, 5), (20, 30)), vision.Resize((90, 100), Inter.CUBIC)],
    "crop of larger": [vision.Decode(), vision.Resize(200, Inter.CUBIC), vision.RandomCrop(33)],
    "area": [vision.Decode(), vision.Resize(17, Inter.AREA), vision.CenterCrop(9)],
    "nearest": [vision.Decode(), vision.Resize((30, 23), Inter.NEAREST), vision.RandomCrop((7, 9))],
    "pillow's cubic": [vision.Decode(), vision.Resize((30, 23), Inter.PILCUBIC), vision.CenterCrop(9)],
    "a part, resized": [vision.Decode(), vision.ResizedCrop(3, 4, 30, 31, (12, 13)), vision.RandomCrop(8)],
    "crop with padding": [vision.Decode(), vision.RandomCrop(60, padding=20)],
    "centre with zeros": [vision.Decode(), vision.CenterCrop(100)],
    "many": [
        vision.Decode(),
        vision.RandomCrop((40, 39)),
        vision.Resize(60),
        vision.RandomResizedCrop(44),
        vision.CenterCrop(20),
        vision.RandomVerticalFlip(),
    ],
    "in one": [vision.RandomCropDecodeResize(24), vision.RandomHorizontalFlip()],
    "planes": [vision.Decode(), vision.Resize((8, 9)), vision.Normalize([1.0], [2.0]), vision.HWC2CHW()],
    "planes of three": [
        vision.Decode(),
        vision.CenterCrop(32),
        vision.Normalize([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]),
        vision.HWC2CHW(),
    ],
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("files", [JPEGS, PNGS], ids=["jpeg", "png"])
def test_the_rows_do_not_change(name, files, monkeypatch):
    dataset = images(files).map(CHAINS[name], "image")
    together, alone = rows(dataset), apart(monkeypatch, dataset)
    for one, two in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_map_for_each_operation_is_joined_too(monkeypatch):
    dataset = images()
    for operation in CHAINS["many"]:
        dataset = dataset.map(operation, "image")
    assert "Decode(to_pil=False) + RandomCrop" in dataset.explain()
    for one, two in zip(rows(dataset), apart(monkeypatch, dataset), strict=True):
        np.testing.assert_array_equal(one, two)


def test_maps_of_other_columns_stay_apart():
    dataset = images().map(vision.Decode(), "image").map(np.negative, "label").map(vision.Resize(20), "image")
    assert "Decode(to_pil=False) + " not in dataset.explain()
    assert len(rows(dataset)) == len(JPEGS)


def test_decoded_rows_pass(monkeypatch):
    pixels = [picture(*size) for size in SIZES]
    dataset = ds.GeneratorDataset([(p,) for p in pixels], ["image"], shuffle=False).map(
        CHAINS["eval"], "image"
    )
    for one, two in zip(rows(dataset), apart(monkeypatch, dataset), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_plan_shows_it():
    shown = images().map(CHAINS["eval"], "image").explain()
    assert "Decode(to_pil=False) + Resize" in shown
    assert "Decode(to_pil=False) + " not in images().map(CHAINS["eval"], "image").explain("as written")


def test_hooks_see_every_operation():
    with settings.override(debug_mode=True):
        assert " + Resize" not in images().map(CHAINS["eval"], "image").explain()


def test_an_error_names_the_part_that_failed():
    dataset = images().map([vision.Decode(), vision.Crop((0, 0), (1000, 1000))], "image")
    with pytest.raises(DataError, match=r"^Crop: .*(.|\n)*row: 0"):
        rows(dataset)
    dataset = images([JPEGS[0], b"\xff\xd8\xffno image at all"]).map(CHAINS["eval"], "image")
    with pytest.raises(DataError, match=r"^Decode: .*(.|\n)*row: 1"):
        rows(dataset)


class TestTolerance:
    # detail of twenty pixels: photographs have it
    LARGE = [simplejpeg.encode_jpeg(cv2.resize(picture(100, 150 + i), (600, 400 + 13 * i))) for i in range(6)]
    CHAINS = (
        [vision.Decode(), vision.Resize(64), vision.CenterCrop(50)],
        [vision.Decode(), vision.RandomResizedCrop(40)],
        [vision.Decode(), vision.ResizedCrop(20, 30, 300, 310, (33, 34))],
        [vision.RandomCropDecodeResize(40)],
    )

    @pytest.mark.parametrize("chain", range(len(CHAINS)))
    def test_the_difference_is_within_what_is_stated(self, chain):
        dataset = images(self.LARGE).map(self.CHAINS[chain], "image")
        exact = rows(dataset)
        ds.config.set_decode_tolerance(30)
        near = rows(dataset)
        assert [row.shape for row in near] == [row.shape for row in exact]
        differences = [np.abs(a.astype(float) - b).mean() for a, b in zip(near, exact, strict=True)]
        assert max(differences) <= 30
        if jpeg.library() is not None:
            assert max(differences) > 0  # else nothing was decoded smaller

    def test_less_than_the_stated_difference_stays_exact(self, monkeypatch):
        dataset = images(self.LARGE).map(self.CHAINS[0], "image")
        ds.config.set_decode_tolerance(29.9)
        for one, two in zip(rows(dataset), apart(monkeypatch, dataset), strict=True):
            np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize("chain", range(len(CHAINS)))
    def test_what_is_no_jpeg_stays_exact(self, chain, monkeypatch):
        files = [vision.encode_png(picture(420, 500)).tobytes()]
        dataset = images(files).map(self.CHAINS[chain], "image")
        ds.config.set_decode_tolerance(30)
        for one, two in zip(rows(dataset), apart(monkeypatch, dataset), strict=True):
            np.testing.assert_array_equal(one, two)

    def test_images_that_do_not_shrink_stay_exact(self, monkeypatch):
        dataset = images().map([vision.Decode(), vision.Resize(60), vision.CenterCrop(40)], "image")
        ds.config.set_decode_tolerance(30)
        for one, two in zip(rows(dataset), apart(monkeypatch, dataset), strict=True):
            np.testing.assert_array_equal(one, two)


def test_opencv_is_imported_before_the_threads_start():
    """It changes the environment when it is imported, which must not happen while another thread decodes."""
    script = (
        "import sys, numpy as np, millrace.dataset as ds, millrace.dataset.vision as vision\n"
        "data = ds.NumpySlicesDataset([np.zeros((4, 4, 3), np.uint8)], ['x']).map(vision.Resize(2), 'x')\n"
        "assert 'cv2' not in sys.modules\n"
        "iterator = data.create_tuple_iterator()\n"
        "assert 'cv2' in sys.modules, 'a worker would import it'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_file_with_a_slip_is_decoded_whole_with_a_tolerance_too(monkeypatch):
    """The library decodes no part of it, so nothing was shrunk either."""
    ds.config.set_decode_tolerance(30)
    dataset = images(TestTolerance.LARGE).map(TestTolerance.CHAINS[1], "image")
    exact = apart(monkeypatch, dataset)
    decode_part = jpeg.decode_jpeg_region

    def fails(data: Any, factor: Any, wants: Any) -> None:
        assert decode_part(data, factor, wants) is not None
        # it was asked, and then there was a warning

    if jpeg.library() is None:
        pytest.skip("no libjpeg-turbo 3 here")
    monkeypatch.setattr(jpeg, "decode_jpeg_region", fails)
    for one, two in zip(rows(dataset), exact, strict=True):
        np.testing.assert_array_equal(one, two)
