"""Which work goes to processes by itself, and that the batches are the same there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace.core import settings
from millrace.core.errors import DataError
from millrace.data.plan.passes import spread
from millrace.data.plan.passes.fuse_rows import MOST_ROWS
from tests.data.kernels.test_jpeg_part import encoded

TRAIN = [vision.RandomCropDecodeResize(80), vision.Normalize([1.0], [2.0]), vision.HWC2CHW()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(23):
        (tmp_path / "ab"[number % 2]).mkdir(exist_ok=True)
        file = tmp_path / "ab"[number % 2] / f"{number:02}.jpg"
        file.write_bytes(encoded(90 + number, 100, "4:2:0"))
    return tmp_path


@pytest.fixture(autouse=True)
def many_cores(monkeypatch):
    monkeypatch.setattr(spread, "available_cores", lambda: 16)
    monkeypatch.setattr(spread, "LEAST_ROWS", 20)


def images(folder: Path, workers: int, operations: list[Any] = TRAIN) -> ds.Dataset:
    data = ds.ImageFolderDataset(str(folder), shuffle=True)
    return data.map(operations, "image", num_parallel_workers=workers)


def batches(data: ds.Dataset) -> list[Any]:
    ds.config.set_seed(9)
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def test_many_workers_are_processes_that_make_whole_batches(folder):
    shown = images(folder, 3).batch(4).explain()
    assert "on=3 processes" in shown
    assert "Regroup" not in shown


@pytest.mark.parametrize("drop", [False, True])
def test_the_batches_are_the_same(folder, drop):
    few, many = (batches(images(folder, workers).batch(4, drop)) for workers in (1, 3))
    assert len(few) == len(many) == (5 if drop else 6)
    for one, two in zip(few, many, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], two[name])


def test_rows_without_a_batch(folder):
    few, many = (batches(images(folder, workers)) for workers in (1, 3))
    for one, two in zip(few, many, strict=True):
        np.testing.assert_array_equal(one["image"], two["image"])


def function(x: Any) -> Any:
    return x


class Own:
    def __getitem__(self, index: int) -> Any:
        return np.zeros(3, np.uint8)

    def __len__(self) -> int:
        return 4


@pytest.mark.parametrize(
    "build",
    [
        lambda folder: images(folder, 2),
        lambda folder: images(folder, 8, [*TRAIN, function]),
        lambda folder: images(folder, 8).filter(function, ["image"]),
        lambda folder: ds.ImageFolderDataset(str(folder), num_parallel_workers=8),
        lambda folder: ds.GeneratorDataset(Own(), ["image"]).map(
            vision.Decode(), "image", num_parallel_workers=8
        ),
    ],
    ids=["two workers", "a user's function", "a user's filter", "nothing heavy", "a user's object"],
)
def test_what_stays_on_threads(folder, build):
    assert "processes" not in build(folder).batch(4).explain()


def test_what_the_user_sets_holds(folder):
    for kind in ("threads", "inline"):
        with settings.override(executor=kind):
            assert "processes" not in images(folder, 8).batch(4).explain()
    with settings.override(debug_mode=True):
        assert "processes" not in images(folder, 8).batch(4).explain()


def test_large_batches_are_made_by_all_workers(folder):
    shown = images(folder, 3).batch(MOST_ROWS + 1).explain()
    assert "on=3 processes" in shown
    assert "Regroup" in shown


def test_a_short_epoch_keeps_threads(folder, monkeypatch):
    monkeypatch.setattr(spread, "LEAST_ROWS", 24)
    assert "on=8 threads" in images(folder, 8).batch(4).explain()


def test_two_cores_keep_threads(folder, monkeypatch):
    monkeypatch.setattr(spread, "available_cores", lambda: 2)
    assert "processes" not in images(folder, 8).batch(4).explain()


def test_a_bad_file_is_named(folder):
    (folder / "a" / "04.jpg").write_bytes(b"\xff\xd8\xffno picture")
    with pytest.raises(DataError, match=r"04\.jpg"):
        batches(images(folder, 3).batch(4))
