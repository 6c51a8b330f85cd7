"""A source that decodes, and maps over image and mask together: the rows, errors and warnings stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.data.plan import bind
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes.physical import Segment
from millrace._src.data.transforms.base import display_name
from millrace.dataset.vision import Inter
from tests.unit.data.kernels.vision.test_jpeg_region import encoded, picture
from tests.unit.data.kernels.vision.test_png_region import encoded as png_of
from tests.unit.data.kernels.vision.test_png_region import mask as mask_of

SIZES = [(64, 80), (97, 61), (50, 50), (120, 61), (80, 64), (70, 75)]
GREY = vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY)


def masks(number: int, size: tuple[int, int]) -> bytes:
    """As OpenCV writes them, as others might, and coloured."""
    mask = mask_of(*size)
    if number == 4:
        return vision.encode_png(picture(*size)).tobytes()
    return (
        cv2.imencode(".png", mask)[1].tobytes()
        if number % 2
        else png_of(mask, [[0, 1], [1, 2], [0]][number % 3])
    )


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    for name in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        (tmp_path / name).mkdir(parents=True)
    for number, size in enumerate(SIZES):
        kind = ("4:2:0", "4:4:4", "grey")[number % 3]
        (tmp_path / f"JPEGImages/{number}.jpg").write_bytes(encoded(*size, kind))
        (tmp_path / f"SegmentationClass/{number}.png").write_bytes(masks(number, size))
    names = "".join(f"{number}\n" for number in range(len(SIZES)))
    (tmp_path / "ImageSets/Segmentation/train.txt").write_text(names)
    return tmp_path


def source(voc: Path, **more: Any) -> ds.Dataset:
    return ds.VOCDataset(str(voc), usage="train", decode=True, **{"shuffle": False} | more)


def cut_alike(voc: Path, size: int = 40) -> ds.Dataset:
    """The usual: one crop and one mirror for both, then each its own."""
    both = [vision.RandomCrop(size), vision.RandomHorizontalFlip()]
    image = [vision.Resize((24, 20)), vision.Normalize([120.0] * 3, [60.0] * 3), vision.HWC2CHW()]
    data = source(voc).map(both, ["image", "target"]).map(image, ["image"])
    return data.map([vision.Resize((24, 20), Inter.NEAREST), GREY], ["target"])


PIPELINES = {
    "cut alike": cut_alike,
    "batches": lambda voc: cut_alike(voc).batch(2),
    "target first": lambda voc: (
        source(voc)
        .map([vision.RandomVerticalFlip(), vision.CenterCrop(30)], ["target", "image"])
        .map(vision.HWC2CHW(), ["target"])
    ),
    "each its own": lambda voc: (
        source(voc)
        .map([vision.RandomResizedCrop(20, interpolation=Inter.NEAREST), vision.VerticalFlip()], ["target"])
        .map([vision.Resize(30), vision.RandomCrop(25)], ["image"])
        .map([vision.RandomCrop(17), vision.HorizontalFlip()], ["image", "target"])
    ),
    "one of them": lambda voc: source(voc).map([vision.Crop((3, 5), (20, 30))], ["image"]),
    "first column": lambda voc: source(voc).map([vision.Resize(33), vision.CenterCrop(20)]),
    "a function between": lambda voc: (
        source(voc)
        .map(vision.RandomCrop(44), ["image", "target"])
        .map(lambda x, y: (x[::2], y[:, ::2]), ["image", "target"])
        .map(vision.CenterCrop((10, 11)), ["image", "target"])
    ),
    "larger than the image": lambda voc: source(voc).map(vision.CenterCrop(100), ["image", "target"]),
    "with padding": lambda voc: source(voc).map(
        vision.RandomCrop(60, padding=20, fill_value=(1, 2, 3)), ["image", "target"]
    ),
    "larger mask": lambda voc: source(voc).map([vision.Resize((200, 150), Inter.NEAREST), GREY], ["target"]),
    "linear mask": lambda voc: source(voc).map([vision.RandomCrop(40), vision.Resize(55), GREY], ["target"]),
    "names": lambda voc: (
        source(voc, extra_metadata=True)
        .map(vision.RandomCrop(40), ["image", "target"])
        .rename(["image"], ["x"])
        .map(vision.Resize(9), ["x"])
    ),
    "some columns": lambda voc: cut_alike(voc).project(["target"]),
}


def rows(data: ds.Dataset) -> list[Any]:
    ds.config.set_seed(11)
    return list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))


def plain(monkeypatch: Any, data: ds.Dataset, run: Any = rows) -> Any:
    """The same without the passes that join."""
    with monkeypatch.context() as patch:
        kept = tuple(p for p in bind.PASSES if p[0] not in ("join transforms", "decode late"))
        patch.setattr(bind, "PASSES", kept)
        return run(data)


def equal(a: list[Any], b: list[Any]) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        assert len(one) == len(other)
        for x, y in zip(one, other, strict=True):
            assert x.dtype == y.dtype
            assert x.shape == y.shape
            assert (x == y).all()
            assert x.flags.c_contiguous


@pytest.mark.parametrize("name", PIPELINES)
def test_same_rows(voc: Path, monkeypatch: Any, name: str):
    for seed_of_run in range(3):
        ds.config.set_seed(seed_of_run + 1)
        data = PIPELINES[name](voc)
        equal(rows(data), plain(monkeypatch, data))


def fast_of(data: ds.Dataset) -> list[str]:
    """The ops that stand in for those of the segment that reads."""
    tree = bind.optimize(bind.bind(data._node, settings.current(), seed=1)).root
    read = next(node for node in walk(tree) if isinstance(node, Segment))
    return [
        " ".join(display_name(each) for each in getattr(op, "operations", ())) for op in read.fast_path_ops
    ]


@pytest.mark.parametrize(
    ("name", "maps"),
    {
        "cut alike": [
            "Decode+RandomCrop+RandomHorizontalFlip+Resize Normalize+HWC2CHW",
            "Decode+RandomCrop+RandomHorizontalFlip+Resize+ConvertColor",
        ],
        "one of them": ["Decode+Crop"],
        "first column": ["Decode+Resize+CenterCrop"],
        "a function between": ["Decode+RandomCrop", "Decode+RandomCrop"],
    }.items(),
)
def test_each_column_is_decoded_where_it_is_cut(voc: Path, name: str, maps: list[str]):
    assert fast_of(PIPELINES[name](voc)) == ["", *maps]


@pytest.mark.parametrize(
    "data",
    [
        lambda voc: source(voc).map(vision.Normalize([1.0], [2.0]), ["image"]),
        lambda voc: source(voc).map(lambda x: x, ["image"]),
        lambda voc: source(voc, decrypt=lambda path: Path(path).read_bytes()).map(
            vision.CenterCrop(9), ["image"]
        ),
        lambda voc: ds.VOCDataset(str(voc), usage="train").map(
            [vision.Decode(), vision.CenterCrop(9)], ["image"]
        ),
        lambda voc: source(voc).map(vision.RandomHorizontalFlip(), ["image", "target"]),
    ],
    ids=["no crop", "a function", "decrypted", "not decoded", "mirror"],
)
def test_what_gains_nothing_stays(voc: Path, data: Any):
    assert fast_of(data(voc)) == []


def spoil(voc: Path, how: str) -> None:
    image, mask = voc / "JPEGImages/3.jpg", voc / "SegmentationClass/3.png"
    data = image.read_bytes()
    if how == "image cut":
        image.write_bytes(data[: len(data) // 2])
    elif how == "no image":
        image.unlink()
    elif how == "mask damaged":
        mask.write_bytes(mask.read_bytes()[:60] + b"?" * 30)
    elif how == "mask is text":
        mask.write_bytes(b"no picture")
    else:  # too small for the crop
        mask.write_bytes(cv2.imencode(".png", mask_of(20, 20))[1].tobytes())


def outcome(data: ds.Dataset) -> tuple[list[Any], str]:
    ds.config.set_seed(3)
    got: list[Any] = []
    try:
        for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            got.append(row)
    except DataError as error:
        return got, str(error)
    raise AssertionError("nothing was said")


@pytest.mark.parametrize("how", ["image cut", "no image", "mask damaged", "mask is text", "mask too small"])
def test_a_bad_row_is_named_as_ever(voc: Path, monkeypatch: Any, how: str):
    spoil(voc, how)
    data = cut_alike(voc)
    assert fast_of(data)
    got, said = outcome(data)
    wanted, words = plain(monkeypatch, data, outcome)
    assert said == words
    assert "3.png" in said or "3.jpg" in said
    equal(got, wanted)
    assert len(got) == 3


def skipped(data: ds.Dataset) -> tuple[list[Any], list[Any]]:
    before = ds.config.get_error_samples_mode()
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    try:
        return rows(data), data.skipped()
    finally:
        ds.config.set_error_samples_mode(before)


def test_a_bad_row_is_skipped_as_ever(voc: Path, monkeypatch: Any):
    spoil(voc, "mask damaged")
    ds.config.set_seed(3)
    data = cut_alike(voc)
    got, listed = skipped(data)
    wanted, as_listed = plain(monkeypatch, data, skipped)
    equal(got, wanted)
    assert listed == as_listed
    assert len(got) == len(SIZES) - 1


def test_a_damaged_picture_that_decodes_is_told_of(voc: Path, monkeypatch: Any):
    """The warning names the file, and the pixels are those of the whole decode."""
    monkeypatch.setattr("millrace._src.core.log._warned_keys", set())
    path = voc / "JPEGImages/1.jpg"
    data = path.read_bytes()
    at = data.rindex(b"\xff\xda") + 60
    path.write_bytes(data[:at] + b"\xff\xd3" + data[at + 2 :])
    pipeline = cut_alike(voc)
    assert fast_of(pipeline)
    with pytest.warns(UserWarning, match="1.jpg: Decode: the JPEG is damaged"):
        got = rows(pipeline)
    equal(got, plain(monkeypatch, pipeline))


@pytest.mark.parametrize("after", [1, 4])
def test_resumes(voc: Path, after: int):
    data = cut_alike(voc)
    wanted = rows(data)
    ds.config.set_seed(11)
    first = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    got = [next(first) for _ in range(after)]
    second = data.create_tuple_iterator(num_epochs=1, output_numpy=True, state=first.state())
    equal([*got, *second], wanted)


def test_in_processes(voc: Path):
    data = cut_alike(voc)
    wanted = rows(data)
    before = ds.config.get_executor()
    ds.config.set_executor("processes")
    try:
        equal(rows(data), wanted)
    finally:
        ds.config.set_executor(before)
