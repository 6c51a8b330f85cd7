"""dataset.save: MindSpore's types; nothing lost in silence; all of the files or none."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import ArgumentValueError, DataError, FormatError, PlanError
from millrace._src.data.formats.mindrecord import FileReader, MindRecordReader, set_enc_key
from millrace._src.data.formats.mindrecord.recovery.verify import verify
from millrace._src.data.formats.tfrecord.example import parse_example
from millrace._src.data.formats.tfrecord.record_file import read_records
from millrace._src.data.sources import mindrecord as records
from tests.unit.data.formats.mindrecord.helpers import rows_of


def generated(values, **options):
    values = [value if isinstance(value, tuple) else (value,) for value in values]
    names = [f"c{n}" for n in range(len(values[0]))]
    return ds.GeneratorDataset(values, names, shuffle=False, **options)


def schema_of(path):
    with MindRecordReader(path) as reader:
        return {f.name: f.as_json() for f in reader.schema.fields}, reader.index_fields, reader.schema.desc


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        ("bool", "int32"), ("int8", "int32"), ("uint8", "int32"), ("int16", "int32"), ("uint16", "int32"),
        ("int32", "int32"), ("uint32", "int64"), ("int64", "int64"), ("uint64", "int64"),
        ("float16", "float32"), ("float32", "float32"), ("float64", "float64"),
    ],
)  # fmt: skip
def test_types_are_mapped_as_mindspore_maps_them(tmp_path, dtype, stored):
    scalars, arrays = np.array([1, 0], dtype), np.array([[1, 0, 1], [0, 0, 1]], dtype)
    path = str(tmp_path / "x")
    generated(list(zip(scalars, arrays))).save(path)
    schema = {"c0": {"type": stored}, "c1": {"shape": [-1], "type": stored}}
    assert schema_of(path) == (schema, ["c0"], "mindrecord")
    rows = rows_of(path)
    assert [r["c0"] for r in rows] == [1, 0]
    assert [r["c1"].tolist() for r in rows] == arrays.astype(stored).tolist()


def test_text_bytes_and_shapes(tmp_path):
    path = str(tmp_path / "x")
    rows = [
        (np.array(f"é{k}"), np.array(b"\0" + b"x" * k + b"\0"), np.full((k + 1, 2, 3), k, np.uint8))
        for k in range(4)
    ]
    generated(rows).save(path)
    schema, index, _ = schema_of(path)
    assert schema == {
        "c0": {"type": "string"},
        "c1": {"type": "bytes"},
        "c2": {"shape": [-1, 2, 3], "type": "int32"},
    }
    assert index == ["c0"]
    for k, row in enumerate(rows_of(path)):
        assert (row["c0"], row["c1"]) == (f"é{k}", b"\0" + b"x" * k + b"\0")
        np.testing.assert_array_equal(row["c2"], rows[k][2])


def test_what_was_saved_reads_back_through_a_pipeline(tmp_path):
    path = str(tmp_path / "x")
    ds.NumpySlicesDataset({"x": np.arange(600), "y": np.arange(1200).reshape(600, 2)}, shuffle=False).save(
        path, 4
    )
    data = records.MindDataset(path + "0", shuffle=False)
    assert sorted(row["x"].item() for row in data.create_dict_iterator(1, output_numpy=True)) == list(
        range(600)
    )
    data.map(lambda x: x * 2, "x").save(str(tmp_path / "again"))
    assert {row["x"] for row in rows_of(tmp_path / "again")} == set(range(0, 1200, 2))


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ([np.array(["a", "b"])], PlanError, "can not support multi-dimensional string tensor"),
        ([np.array([b"a", b"b"])], PlanError, "can not support multi-dimensional bytes tensor"),
        ([np.array(1j)], ArgumentValueError, "complex128"),
        ([{"a": 1}], ArgumentValueError, "holds a dict"),
        ([np.ones((2, 3)), np.ones((2, 4))], DataError, "Except for the shape of dimension 0"),
        ([np.ones((2, 3)), np.ones(6)], DataError, "Except for the shape of dimension 0"),
        ([np.array(1), np.array(1.5)], DataError, "row 1 has float64, the first row int64"),
        ([np.array(2**64 - 1, np.uint64)], ArgumentValueError, "beyond int64"),  # MindSpore writes -1
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path, values, error, text, no_leaks):
    with pytest.raises(error, match=text):
        generated(values).save(str(tmp_path / "x"))
    assert os.listdir(tmp_path) == []


def test_a_number_that_is_not_finite_is_kept_without_an_index(tmp_path):
    path = str(tmp_path / "x")
    rows = [(k, np.float32(np.nan if k == 700 else k)) for k in range(900)]
    with pytest.warns(UserWarning, match="column 'c1' holds a number that is not finite"):
        generated(rows).save(path)
    assert schema_of(path)[1] == ["c0"]
    stored = rows_of(path)
    assert len(stored) == 900
    assert np.isnan(stored[700]["c1"])
    with (
        pytest.raises(ArgumentValueError, match="no other column to index"),
        pytest.warns(UserWarning, match="column 'c0' holds a number that is not finite"),
    ):
        generated([np.float64("inf")]).save(str(tmp_path / "y"))


def test_all_or_nothing(tmp_path):
    def breaks(x):
        if x == 500:
            raise ValueError("boom")
        return x

    data = ds.NumpySlicesDataset(list(range(600)), "x", shuffle=False).map(breaks, "x")
    with pytest.raises(RuntimeError, match="boom"):
        data.save(str(tmp_path / "x"), 2)
    assert os.listdir(tmp_path) == []
    generated([1]).save(str(tmp_path / "x"))
    with pytest.raises(RuntimeError, match="Invalid file, mindrecord files already exist"):
        generated([2]).save(str(tmp_path / "x"))
    assert [r["c0"] for r in rows_of(tmp_path / "x")] == [1]


def test_kill_9_while_saving(tmp_path):  # 8
    code = (
        "import sys, numpy as np, millrace.dataset as ds, millrace._src.data.sources.mindrecord\n"
        "data = ds.NumpySlicesDataset({'x': np.arange(3000)}, shuffle=False)\n"
        "print('go', flush=True)\n"
        "data.save(sys.argv[1], 2)\n"
    )
    draw = random.Random(0)
    for number in range(8):
        path = tmp_path / f"x{number}_"
        process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
        process.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(draw.random() * 0.4)
        process.kill()
        process.wait()
        process.stdout.close()
        try:
            rows = rows_of(f"{path}0")
        except FormatError:
            continue  # nothing is there
        assert sorted(row["x"] for row in rows) == list(range(3000))


def test_arguments(tmp_path):
    with pytest.raises(PlanError, match="no row to save"):
        generated([1]).filter(lambda x: False).save(str(tmp_path / "x"))
    with pytest.raises(RuntimeError, match="folder does not exist"):
        generated([1]).save(str(tmp_path / "none" / "x"))
    with pytest.raises(ArgumentValueError, match="num_files should between 0 and 1000"):
        generated([1]).save(str(tmp_path / "x"), 0)
    with pytest.raises(ArgumentValueError, match="zip dataset format is not supported"):
        generated([1]).save(str(tmp_path / "x"), 1, "zip")
    set_enc_key("0123456789abcdef")
    try:
        with pytest.raises(RuntimeError, match="the automatic sharding function is unavailable"):
            generated([1]).save(str(tmp_path / "x"), 2)
        generated([5]).save(str(tmp_path / "x"))
        assert [r["c0"] for r in rows_of(tmp_path / "x")] == [5]
    finally:
        set_enc_key(None)


def test_behind_an_address():
    generated([(k, np.full(2, k)) for k in range(9)]).save("memory://saved/x.mindrecord", 2)
    data = records.MindDataset("memory://saved/x.mindrecord0", shuffle=False)
    assert [row["c0"].item() for row in data.create_dict_iterator(1, output_numpy=True)] == list(range(9))


def test_tfrecord(tmp_path):
    path = tmp_path / "x"
    rows = [(k, np.float32(k / 3), np.array(f"t{k}"), np.full((2, 3), k, np.uint8)) for k in range(7)]
    generated(rows).save(str(path), 2, "tfrecord")
    examples = [parse_example(r) for n in (0, 1) for r in read_records(f"{path}{n}")]
    assert [f["c0"].tolist() for f in examples] == [[k] for k in (0, 2, 4, 6, 1, 3, 5)]
    assert examples[1]["c1"][0] == np.float32(2 / 3)
    assert examples[1]["c2"] == [b"t2"]
    assert examples[1]["c3"].tolist() == [2] * 6
    schema = json.loads((tmp_path / "x.schema.json").read_text())
    assert schema["columns"]["c3"] == {"type": "int64", "rank": 2, "shape": [-1, 3]}
    with pytest.raises(DataError, match="exists"):
        generated(rows).save(str(path), 2, "tfrecord")
    with pytest.raises(ArgumentValueError, match="not a float32"):
        generated([0.1]).save(str(tmp_path / "y"), 1, "tfrecord")
    assert not [name for name in os.listdir(tmp_path) if name.startswith((".", "y"))]


def test_punctuation_in_names_becomes_an_underscore(tmp_path):
    data = ds.NumpySlicesDataset({"a.b-c": [1, 2], "plain": [3, 4]}, shuffle=False)
    data.save(str(tmp_path / "x"))
    assert sorted(FileReader(str(tmp_path / "x")).schema()) == ["a_b_c", "plain"]
    assert [row["a_b_c"] for row in FileReader(str(tmp_path / "x")).get_next()] == [1, 2]
    with pytest.raises(ValueError, match=r"'a\.b' and 'a-b' would both be stored as 'a_b'"):
        ds.NumpySlicesDataset({"a.b": [1], "a-b": [2]}, shuffle=False).save(str(tmp_path / "y"))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("y")] == []


def test_save_with_checksums(tmp_path):
    ds.NumpySlicesDataset([1, 2, 3]).save(str(tmp_path / "x"), checksums=True)
    assert (tmp_path / "x.crc").exists()
    assert verify(tmp_path / "x").checksums == 1
