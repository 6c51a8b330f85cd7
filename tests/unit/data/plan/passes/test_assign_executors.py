"""Which work goes to processes by itself, and that the batches are the same there."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.data.plan.bind import bind, optimize
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes.physical import Segment
from tests.unit.data.kernels.vision.test_jpeg_region import encoded

MODULE = importlib.import_module("millrace._src.data.plan.passes.assign_executors")

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
    monkeypatch.setattr(MODULE, "available_cores", lambda: 16)
    monkeypatch.setattr(MODULE, "MIN_ROWS", 20)


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


def kinds(data: ds.Dataset) -> list[tuple[str, ...]]:
    """The segments, sources first: the executor, then the ops."""
    plan = optimize(bind(data._node, settings.current(), seed=1))
    found = [node for node in walk(plan.root) if isinstance(node, Segment)]
    return [(node.placement.executor, *(type(op).__name__ for op in node.ops)) for node in found]


class Files:
    """A user's dataset class: it reads files, and leaves decoding to the pipeline."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.rglob("*.jpg"))

    def __getitem__(self, index: int) -> Any:
        return np.frombuffer(self.files[index].read_bytes(), np.uint8), os.getpid()

    def __len__(self) -> int:
        return len(self.files)


def own(folder: Path, workers: int | None = None) -> ds.Dataset:
    data = ds.GeneratorDataset(Files(folder), ["image", "pid"], shuffle=True)
    return data.map(TRAIN, "image", num_parallel_workers=workers)


def test_heavy_work_of_ours_leaves_a_users_object_behind(folder):
    assert kinds(own(folder).batch(4)) == [("threads", "Read"), ("processes", "Map", "Batch")]
    assert kinds(own(folder)) == [("threads", "Read"), ("processes", "Map")]
    assert kinds(own(folder).map(function, "image").batch(4))[0][0] == "threads"
    big = own(folder).batch(MODULE.MAX_BATCH_ROWS + 1)
    assert kinds(big) == [("threads", "Read"), ("processes", "Map"), ("threads", "Batch")]


def test_not_where_it_does_not_pay(folder, monkeypatch):
    assert kinds(own(folder, 2).batch(4))[0] == ("threads", "Read", "Map")
    monkeypatch.setattr(MODULE, "MIN_ROWS", 24)
    assert kinds(own(folder).batch(4))[0] == ("threads", "Read", "Map")
    monkeypatch.setattr(MODULE, "MIN_ROWS", 20)
    monkeypatch.setattr(MODULE, "available_cores", lambda: 2)
    assert kinds(own(folder).batch(4))[0] == ("threads", "Read", "Map")


@pytest.mark.parametrize("drop", [False, True])
def test_a_users_object_gives_the_same_batches(folder, drop, no_leaks):
    few, many = (batches(own(folder, workers).batch(4, drop)) for workers in (1, 3))
    assert len(few) == len(many) == (5 if drop else 6)
    for one, two in zip(few, many, strict=True):
        assert set(two["pid"]) == {os.getpid()}  # the object is read here
        np.testing.assert_array_equal(one["image"], two["image"])


def test_a_bad_row_of_a_users_object_comes_after_the_good_batches(folder):
    (folder / "a" / "08.jpg").write_bytes(b"\xff\xd8\xffno picture")
    data = ds.GeneratorDataset(Files(folder), ["image", "pid"], shuffle=False)
    data = data.map(TRAIN, "image", num_parallel_workers=3).batch(4)
    assert kinds(data)[1][0] == "processes"
    rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert len(next(rows)["image"]) == 4
    with pytest.raises(DataError, match=r"08\.jpg"):
        next(rows)


def per_batch(images: Any, info: Any) -> Any:
    return (images,)


def test_rows_for_a_batch_function_are_made_by_all_workers(folder):
    data = images(folder, 8).batch(4, per_batch_map=per_batch, input_columns=["image"])
    assert kinds(data) == [("processes", "Read", "Map"), ("threads", "Batch")]
    data = images(folder, 2).batch(4, per_batch_map=per_batch, input_columns=["image"])
    assert kinds(data) == [("threads", "Read", "Map"), ("threads", "Batch")]
    few, many = (
        batches(images(folder, workers).batch(4, per_batch_map=per_batch, input_columns=["image"]))
        for workers in (1, 3)
    )
    for one, two in zip(few, many, strict=True):
        np.testing.assert_array_equal(one["image"], two["image"])


def test_everything_is_decided_before_anything_is_fused(folder):
    plan = optimize(bind(images(folder, 8).batch(4)._node, settings.current(), seed=1))
    placed = dict(plan.history)["place"]
    (place,) = {node.placement for node in walk(placed)}
    assert (place.executor, place.workers, place.row_multiple, place.max_rows) == ("processes", 8, 4, 8)
    assert [node.placement for node in walk(plan.root)] == [place]


def test_what_the_user_sets_holds(folder):
    for kind in ("threads", "inline"):
        with settings.override(executor=kind):
            assert "processes" not in images(folder, 8).batch(4).explain()
    with settings.override(debug_mode=True):
        assert "processes" not in images(folder, 8).batch(4).explain()


def test_large_batches_are_made_by_all_workers(folder):
    shown = images(folder, 3).batch(MODULE.MAX_BATCH_ROWS + 1).explain()
    assert "on=3 processes" in shown
    assert "Regroup" in shown


def test_a_short_epoch_keeps_threads(folder, monkeypatch):
    monkeypatch.setattr(MODULE, "MIN_ROWS", 24)
    assert "on=8 threads" in images(folder, 8).batch(4).explain()


def test_two_cores_keep_threads(folder, monkeypatch):
    monkeypatch.setattr(MODULE, "available_cores", lambda: 2)
    assert "processes" not in images(folder, 8).batch(4).explain()


def test_a_bad_file_is_named(folder):
    (folder / "a" / "04.jpg").write_bytes(b"\xff\xd8\xffno picture")
    with pytest.raises(DataError, match=r"04\.jpg"):
        batches(images(folder, 3).batch(4))
