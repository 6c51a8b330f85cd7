"""Converters: MindSpore's schemas, names and order, from sources made here."""

import gzip
import pickle

import cv2
import numpy as np
import pytest

from millrace._src.core.errors import ArgumentValueError, DataError, FormatError
from millrace._src.data.formats.mindrecord import MindRecordReader
from millrace._src.data.formats.tfrecord.example import encode_example
from millrace._src.data.formats.tfrecord.record_file import write_record
from millrace.mindrecord import (
    SUCCESS,
    Cifar10ToMR,
    Cifar100ToMR,
    CsvToMR,
    ImageFolderToMR,
    ImageNetToMR,
    MnistToMR,
    TFRecordToMR,
)
from tests.unit.data.formats.mindrecord.helpers import rows_of


def describe(path):
    with MindRecordReader(path) as reader:
        schema = {f.name: f.as_json() for f in reader.schema.fields}
        return schema, reader.index_fields, reader.schema.desc, reader.shards[0].header.page_size


def encoded(image):
    return cv2.imencode(".jpeg", image[..., [2, 1, 0]] if image.ndim == 3 else image)[1].tobytes()


@pytest.fixture
def draw():
    return np.random.default_rng(0)


def test_mnist(tmp_path, draw):
    images = draw.integers(0, 256, (6, 28, 28)).astype(np.uint8)
    labels = draw.integers(0, 10, 6).astype(np.uint8)
    for part in ("train", "t10k"):
        head = bytes([0, 0, 8, 3, 0, 0, 0, 6, 0, 0, 0, 28, 0, 0, 0, 28])
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images.tobytes()))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(
            bytes([0, 0, 8, 1, 0, 0, 0, 6]) + labels.tobytes()
        )
    assert MnistToMR(str(tmp_path), str(tmp_path / "out")).transform() is SUCCESS
    for part in ("train", "test"):
        path = tmp_path / f"out_{part}.mindrecord"
        schema = {"data": {"type": "bytes"}, "label": {"type": "int64"}}
        assert describe(path) == (schema, ["label"], "mnist_schema", 64 << 20)
        assert rows_of(path) == [{"label": int(n), "data": encoded(i)} for n, i in zip(labels, images)]
    MnistToMR(str(tmp_path), str(tmp_path / "two"), 2).transform()
    assert len(rows_of(tmp_path / "two_train.mindrecord0")) == 6
    with pytest.raises(DataError, match="exists"):
        MnistToMR(str(tmp_path), str(tmp_path / "out")).transform()


def test_cifar10(tmp_path, draw):
    pixels = draw.integers(0, 256, (4, 3072)).astype(np.uint8)
    for name in ("data_batch_1", "data_batch_2", "test_batch"):
        batch = {b"data": pixels, b"labels": [3, 1, 4, 1]}
        (tmp_path / name).write_bytes(pickle.dumps(batch, protocol=2))
    Cifar10ToMR(str(tmp_path), str(tmp_path / "out")).transform(["label"])
    schema = {"data": {"type": "bytes"}, "id": {"type": "int64"}, "label": {"type": "int64"}}
    assert describe(tmp_path / "out") == (schema, ["label"], "img_train", 32 << 20)
    assert describe(tmp_path / "out_test")[1:3] == (["label"], "img_test")
    rows = rows_of(tmp_path / "out")
    assert [(r["id"], r["label"]) for r in rows] == list(enumerate([3, 1, 4, 1] * 2))
    assert rows[0]["data"] == encoded(pixels[0].reshape(3, 32, 32).transpose(1, 2, 0))
    Cifar10ToMR(str(tmp_path), str(tmp_path / "all")).transform()
    assert describe(tmp_path / "all")[1] == ["id", "label"]


def test_cifar100(tmp_path, draw):
    pixels = draw.integers(0, 256, (3, 3072)).astype(np.uint8)
    for name in ("train", "test"):
        batch = {b"data": pixels, b"fine_labels": [30, 10, 40], b"coarse_labels": [3, 1, 4]}
        (tmp_path / name).write_bytes(pickle.dumps(batch, protocol=2))
    Cifar100ToMR(str(tmp_path), str(tmp_path / "out")).transform()
    assert describe(tmp_path / "out")[1] == ["coarse_label", "fine_label", "id"]
    assert [(r["fine_label"], r["coarse_label"]) for r in rows_of(tmp_path / "out_test")] == [
        (30, 3),
        (10, 1),
        (40, 4),
    ]
    with pytest.raises(DataError, match="there is no file data_batch_"):
        Cifar10ToMR(str(tmp_path), str(tmp_path / "x"))


def test_imagenet(tmp_path):
    for folder in ("n01", "n02"):
        (tmp_path / "images" / folder).mkdir(parents=True)
        for name in ("b.JPEG", "a.jpg", "notes.txt"):
            (tmp_path / "images" / folder / name).write_bytes(f"{folder}/{name}".encode())
    (tmp_path / "images" / "n02" / "empty.jpg").write_bytes(b"")
    (tmp_path / "map").write_text("n01 0\nn02 7\nn03 9\n")
    ImageNetToMR(str(tmp_path / "map"), str(tmp_path / "images"), str(tmp_path / "out"), 2).transform()
    schema = {"file_name": {"type": "string"}, "image": {"type": "bytes"}, "label": {"type": "int32"}}
    assert describe(tmp_path / "out0") == (schema, ["label", "file_name"], "imagenet_schema", 64 << 20)
    root = tmp_path / "images"
    assert rows_of(tmp_path / "out0") == [
        {"file_name": f"{root}/{name}", "label": label, "image": name.encode()}
        for name, label in [("n01/a.jpg", 0), ("n01/b.JPEG", 0), ("n02/a.jpg", 7), ("n02/b.JPEG", 7)]
    ]
    (tmp_path / "map").write_text("../n01 0\n")
    with pytest.raises(FormatError, match="line 1"):
        ImageNetToMR(str(tmp_path / "map"), str(root), str(tmp_path / "x")).transform()
    with pytest.raises(DataError, match="not exists"):
        ImageNetToMR(str(tmp_path / "none"), str(root), str(tmp_path / "x")).transform()


def test_csv(tmp_path):
    (tmp_path / "t.csv").write_text("count,share,good,name\n1,0.5,True,a\n2,,False,b\n")
    CsvToMR(str(tmp_path / "t.csv"), str(tmp_path / "out")).transform()
    schema, index, desc, page = describe(tmp_path / "out")
    assert {name: entry["type"] for name, entry in schema.items()} == {
        "count": "int64", "good": "int32", "name": "string", "share": "float64",
    }  # fmt: skip
    assert (desc, page) == ("csv_schema", 64 << 20)
    assert index == ["count", "good", "name"]  # a column with a missing number cannot be indexed
    rows = rows_of(tmp_path / "out")
    assert [(r["count"], r["good"], r["name"]) for r in rows] == [(1, 1, "a"), (2, 0, "b")]
    assert np.isnan(rows[1]["share"])
    # only numbers: MindSpore drops every row
    CsvToMR(str(tmp_path / "t.csv"), str(tmp_path / "two"), ["share", "count"], 2).transform()
    assert [r["count"] for r in rows_of(tmp_path / "two0")] == [1, 2]
    with pytest.raises(DataError, match="column nope does not exist"):
        CsvToMR(str(tmp_path / "t.csv"), str(tmp_path / "x"), ["nope"]).transform()
    with pytest.raises(DataError, match="do not exist"):
        CsvToMR(str(tmp_path / "none.csv"), str(tmp_path / "x")).transform()
    with pytest.raises(ArgumentValueError, match="must be list of str"):
        CsvToMR("t.csv", "x", [1])
    with pytest.raises(ArgumentValueError, match="partition_number must be int"):
        CsvToMR("t.csv", "x", partition_number=None)


def test_tfrecord(tmp_path):
    path = tmp_path / "x.tfrecord"
    with open(path, "wb") as file:
        for k in range(5):
            example = {"image/data": bytes([255, k]), "name": f"é{k}", "n": k, "list": [k, k + 1], "x": k / 2}
            write_record(file, encode_example(example))

    class Feature:  # what tf.io.FixedLenFeature looks like
        def __init__(self, shape, name):
            self.shape, self.dtype = shape, type("DType", (), {"name": name})

    features = {
        "image/data": Feature([], "string"), "name": Feature([], "string"), "n": Feature([], "int64"),
        "list": Feature([2], "int64"), "x": Feature([], "float32"),
    }  # fmt: skip
    TFRecordToMR(str(path), str(tmp_path / "out"), features, ["image/data"]).transform()
    schema = describe(tmp_path / "out")[0]
    assert schema["image_data"] == {"type": "bytes"}
    assert schema["list"] == {"type": "int64", "shape": [2]}
    rows = rows_of(tmp_path / "out")
    assert [(r["image_data"], r["name"], r["n"], r["list"].tolist(), r["x"]) for r in rows] == [
        (bytes([255, k]), f"é{k}", k, [k, k + 1], k / 2) for k in range(5)
    ]
    with pytest.raises(FormatError, match="bytes_fields"):
        TFRecordToMR(str(path), str(tmp_path / "y"), features).transform()
    assert not (tmp_path / "y").exists()
    with pytest.raises(FormatError, match="holds 1 float32, feature_dict declares 1 of int64"):
        TFRecordToMR(str(path), str(tmp_path / "y"), {"x": ([], "int64")}).transform()
    with pytest.raises(FormatError, match="no feature 'zz'"):
        TFRecordToMR(str(path), str(tmp_path / "y"), {"zz": ([], "int64")}).transform()
    for bad in (None, {}, {"x": 3}, {"x": ([2, 2], "int64")}, {"x": ([0], "int64")}, {"x": ([2], "string")}):
        with pytest.raises(ArgumentValueError):
            TFRecordToMR(str(path), str(tmp_path / "y"), bad)


def test_folder(tmp_path):
    root = tmp_path / "photos"
    (root / "cat" / "old").mkdir(parents=True)
    (root / "dog").mkdir()
    for name in ("dog/1.JPG", "cat/2.png", "cat/old/3.webp", "cat/readme.md"):
        (root / name).write_bytes(name.encode())
    converter = ImageFolderToMR(str(root), str(tmp_path / "out"))
    converter.transform()
    assert converter.classes == ["cat", "cat/old", "dog"]
    assert [(r["label"], r["file_name"], r["image"]) for r in rows_of(tmp_path / "out")] == [
        (0, "cat/2.png", b"cat/2.png"), (1, "cat/old/3.webp", b"cat/old/3.webp"), (2, "dog/1.JPG", b"dog/1.JPG"),
    ]  # fmt: skip
    ImageFolderToMR(str(root / "dog"), str(tmp_path / "flat")).transform()
    assert describe(tmp_path / "flat")[0].keys() == {"image", "file_name"}
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no image"):
        ImageFolderToMR(str(tmp_path / "empty"), str(tmp_path / "x")).transform()
