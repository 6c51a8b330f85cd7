"""Files written by MindSpore 2.7.0 read to the values written, and the same calls give the same bytes."""

import sqlite3

import numpy as np
import pytest

from millrace._src.data.formats.mindrecord import Cipher, FileWriter, MindRecordReader

from .helpers import FIXTURES, NAMES, OLD, assert_same, copied, data_files, expected, write

KEYED = ("shards4.mindrecord", "pad.mindrecord")  # MindSpore deals rows to shards at random


def cipher_of(document):
    return Cipher(document.get("enc_key"))


@pytest.mark.parametrize("name", NAMES)
def test_fixture_reads_to_its_expected_values(name):
    schema, rows, document = expected(name)
    first = data_files(FIXTURES, name)[0]
    with MindRecordReader(first, cipher=cipher_of(document)) as reader:
        values = list(reader.rows())
        assert {f.name: f.as_json() for f in reader.schema.fields} == schema
        assert len(reader) == len(rows)
        assert reader.index_fields == (_index(name, document) or [f.name for f in reader.schema.raw])
    if name in KEYED:
        values.sort(key=lambda row: row["id"])
    assert_same(values, rows)


def test_version_2_reads_to_its_expected_values():
    _, rows, _ = expected("aclImdb.mindrecord", OLD)
    with MindRecordReader(OLD / "aclImdb.mindrecord2") as reader:
        assert reader.version == "2.0"
        assert reader.shard_sizes == [4, 4, 4, 4]
        assert_same(list(reader.rows()), rows)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (*KEYED, "encrypted.mindrecord")])
def test_same_calls_give_the_same_bytes(name, tmp_path):
    schema, rows, document = expected(name)
    desc = {"tiny.mindrecord": "tiny schema", "two_images.mindrecord": "two images"}.get(name)
    batches = {
        "two_images.mindrecord": [rows[:5], rows[5:]],
        "pages.mindrecord": [[row] for row in rows],
        "append.mindrecord": [rows[:4]],
        "empty.mindrecord": [],
    }.get(name, [rows])
    path = write(tmp_path / name, schema, batches, index=_index(name, document), desc=desc)
    if name == "append.mindrecord":
        writer = FileWriter.open_for_append(str(path))
        writer.write_raw_data(rows[4:])
        writer.commit()
    assert path.read_bytes() == (FIXTURES / name).read_bytes()
    assert index_of(path) == index_of(FIXTURES / name)


def _index(name, document):
    return ["id"] if name == "pages.mindrecord" else document.get("index")


def index_of(path):
    """Return rows, name and columns of an index."""
    connection = sqlite3.connect(f"file:{path}.db?mode=ro&immutable=1", uri=True)
    try:
        rows = connection.execute("SELECT * FROM INDEXES ORDER BY ROW_ID").fetchall()
        name = connection.execute("SELECT NAME FROM SHARD_NAME").fetchall()
        return rows, name, connection.execute("PRAGMA table_info(INDEXES)").fetchall()
    finally:
        connection.close()


def test_four_shards_of_equal_share_have_the_same_bytes(tmp_path):
    schema, rows, _ = expected("shards4.mindrecord")
    write(tmp_path / "shards4.mindrecord", schema, [rows[:10], rows[10:]], shards=4)
    for path in data_files(FIXTURES, "shards4.mindrecord"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
        assert index_of(tmp_path / path.name) == index_of(path)


def test_worked_example_of_the_specification():
    data = (FIXTURES / "tiny.mindrecord").read_bytes()
    assert data[0x4000:0x400B] == bytes.fromhex("0300000000000000 010203")
    assert index_of(FIXTURES / "tiny.mindrecord")[0] == [
        (0, 1, 0, 24, 0, 0, 0, 11, 0, 7),
        (1, 1, 24, 50, 0, 0, 11, 20, 0, -300),
    ]


def test_blocks_come_as_arrays_of_the_schema():
    with MindRecordReader(FIXTURES / "scalars.mindrecord") as reader:
        block = reader.read(np.array([25, 0, 3, 3]))
    _, rows, _ = expected("scalars.mindrecord")
    assert block["i32"].dtype == np.int32
    assert block["z32"].dtype == np.float32
    assert block["m64"].tolist() == [rows[k]["m64"] for k in (25, 0, 3, 3)]
    assert block["a64"].tolist() == [rows[k]["a64"] for k in (25, 0, 3, 3)]
    assert block["s"] == ["row25", "row0", "row3", "row3"]


def test_fixed_shapes_come_dense_and_open_ones_as_lists():
    _, rows, _ = expected("arrays.mindrecord")
    with MindRecordReader(FIXTURES / "arrays.mindrecord") as reader:
        block = reader.read([4, 1])
        empty = reader.read([])
    for dtype in ("int32", "int64", "float32", "float64"):
        assert block[f"fix_{dtype}"].shape == (2, 2, 3)
        assert block[f"fix_{dtype}"].dtype == np.dtype(dtype)
        np.testing.assert_array_equal(block[f"fix_{dtype}"][0], rows[4][f"fix_{dtype}"])
        np.testing.assert_array_equal(block[f"mid_{dtype}"][1], rows[1][f"mid_{dtype}"])
        assert empty[f"fix_{dtype}"].shape == (0, 2, 3)
        assert empty[f"var_{dtype}"] == []


def test_columns_in_the_order_asked_for_and_views_without_copies():
    with MindRecordReader(FIXTURES / "two_images.mindrecord") as reader:
        block = reader.read([7, 2], ["label", "image_right"], views=True)
        plain = reader.read([7, 2], ["image_right"])
    assert list(block) == ["label", "image_right"]
    assert [bytes(v) for v in block["image_right"]] == plain["image_right"]  # alive after close
    assert not block["image_right"][0].flags.writeable


def test_an_index_of_mindspore_is_taken_as_it_is(tmp_path):
    path = copied("shards4.mindrecord", tmp_path)
    before = {p.name: (p.stat().st_ino, p.read_bytes()) for p in tmp_path.iterdir()}
    with MindRecordReader(path):
        pass
    assert {p.name: (p.stat().st_ino, p.read_bytes()) for p in tmp_path.iterdir()} == before
