"""The `.db` is rebuilt from the data file when it is missing, stale or damaged, and never trusted."""

import os
import random
import shutil
import sqlite3
import warnings

import pytest

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.mindrecord import MindRecordReader

from .helpers import FIXTURES, NAMES, assert_same, copied, data_files, expected, rows_of, write
from .test_fixtures import index_of

PLAIN = [name for name in NAMES if name != "encrypted.mindrecord"]


@pytest.mark.parametrize("name", PLAIN)
def test_a_missing_index_is_rebuilt_as_mindspore_wrote_it(name, tmp_path):
    path = copied(name, tmp_path)
    for data in data_files(tmp_path, name):
        os.unlink(f"{data}.db")
    with pytest.warns(UserWarning, match="rebuilt from the data file") as caught:
        before = rows_of(path)
    assert len(caught) == 1  # one for the set, not one per shard
    for data in data_files(tmp_path, name):
        assert index_of(data) == index_of(FIXTURES / data.name)
        assert (tmp_path / f"{data.name}.db").stat().st_mode == data.stat().st_mode
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(rows_of(path)) == len(before)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def change(sql, *arguments):
    def run(path):
        connection = sqlite3.connect(path)
        connection.execute(sql, arguments)
        connection.commit()
        connection.close()

    return run


def replace(data):
    return lambda path: path.write_bytes(data)


def cut(size):
    return lambda path: os.truncate(path, size)


def other(name):
    return lambda path: shutil.copy(FIXTURES / name, path)


ENDLESS = (
    "CREATE VIEW SHARD_NAME AS WITH RECURSIVE r(NAME) AS (SELECT 1 UNION ALL SELECT NAME + 1 FROM r) "
    "SELECT count(*) AS NAME FROM r"
)


def hostile(*statements):
    def run(path):
        path.unlink()
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return run


DAMAGE = {
    "empty": replace(b""),
    "no database": replace(b"not a database at all" * 100),
    "cut": cut(9000),
    "cut at a page": cut(8192),
    "of another file": other("arrays.mindrecord.db"),
    "a row less": change("DELETE FROM INDEXES WHERE ROW_ID = 25"),
    "a row more": change("INSERT INTO INDEXES SELECT 26,1,2,3,4,5,6,7,0,0,0,0,0,0,0,0,0,0"),
    "moved rows": change("UPDATE INDEXES SET PAGE_OFFSET_BLOB_END = PAGE_OFFSET_BLOB_END + 12"),
    "another name": change("UPDATE SHARD_NAME SET NAME = 'x'"),
    "no name": change("DELETE FROM SHARD_NAME"),
    "no table": change("DROP TABLE INDEXES"),
    "a column more": change("ALTER TABLE INDEXES ADD COLUMN more INT"),
    "endless view": hostile(ENDLESS, "CREATE TABLE INDEXES(ROW_ID INT)"),
    "a billion bytes": hostile(
        "CREATE TABLE SHARD_NAME(x, NAME AS (zeroblob(1000000000)))",
        "INSERT INTO SHARD_NAME VALUES(1)",
        "CREATE TABLE INDEXES(ROW_ID INT)",
    ),
    "views": hostile(
        "CREATE TABLE t(a)",
        "CREATE VIEW SHARD_NAME AS SELECT 'x' AS NAME",
        "CREATE VIEW INDEXES AS SELECT * FROM t",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_index_is_rebuilt_and_the_rows_are_right(damage, tmp_path):
    path = copied("scalars.mindrecord", tmp_path)
    index = tmp_path / "scalars.mindrecord.db"
    DAMAGE[damage](index)
    with pytest.warns(UserWarning, match="rebuilt"):
        rows = rows_of(path)
    assert [row["m64"] for row in rows] == [row["m64"] for row in expected("scalars.mindrecord")[1]]
    assert index_of(path) == index_of(FIXTURES / path.name)


@pytest.mark.filterwarnings("ignore:.*rebuilt from the data file")
def test_flipped_bits_of_the_index_never_change_a_row(tmp_path):  # 150
    path = copied("scalars.mindrecord", tmp_path)
    index = tmp_path / "scalars.mindrecord.db"
    data = index.read_bytes()
    wanted = rows_of(path)
    draw = random.Random(0)
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(draw.choice([1, 3, 30])):
            changed[draw.choice([draw.randrange(200), draw.randrange(len(data))])] ^= 1 << draw.randrange(8)
        index.write_bytes(changed)
        assert_same(rows_of(path), wanted)


def test_where_the_index_cannot_be_written_the_rows_are_read_all_the_same(tmp_path, monkeypatch):
    path = copied("tiny.mindrecord", tmp_path)
    os.unlink(f"{path}.db")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("millrace._src.data.formats.mindrecord.shard.write_index", refuse)
    with pytest.warns(UserWarning, match="cannot be rebuilt here"):
        assert len(rows_of(path)) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.mindrecord"]


def test_no_index_is_made_for_damaged_data(tmp_path):
    path = copied("tiny.mindrecord", tmp_path)
    os.unlink(f"{path}.db")
    data = bytearray(path.read_bytes())
    data[0xC018 + 8] = 0  # where the map of the second row begins
    path.write_bytes(data)
    with pytest.raises(FormatError, match="not with a map") as caught:
        MindRecordReader(path)
    assert caught.value.context["row"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.mindrecord"]


def test_an_index_of_a_million_rows_is_not_walked(tmp_path):
    """Opening looks at a few pages of the index, however long it is."""
    rows = [{"n": n} for n in range(20000)]
    path = write(tmp_path / "x", {"n": {"type": "int64"}}, [rows])
    with MindRecordReader(path) as reader:
        assert not reader._raw.known.any()
        assert not reader._blob.known.any()
        assert reader.read([19999, 0])["n"].tolist() == [19999, 0]
        assert not reader._blob.known.any()
        assert reader._raw.known.sum() == 2
