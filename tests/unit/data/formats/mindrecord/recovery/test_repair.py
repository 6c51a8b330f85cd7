"""verify names shard, page and row; repair saves every row that is whole; reindex rebuilds what is wrong."""

import sqlite3

import numpy as np
import pytest

from millrace._src.core.errors import DataError, FormatError
from millrace._src.data.formats.mindrecord import FileWriter, MindRecordReader, set_enc_key
from millrace._src.data.formats.mindrecord.recovery.repair import repair
from millrace._src.data.formats.mindrecord.recovery.verify import reindex, verify
from tests.unit.data.formats.mindrecord.helpers import (
    FIXTURES,
    NAMES,
    OLD,
    assert_same,
    copied,
    expected,
    rows_of,
    write,
)

SCHEMA = {
    "n": {"type": "int32"},
    "s": {"type": "string"},
    "v": {"type": "int32", "shape": [-1]},
    "b": {"type": "bytes"},
}
HEADER, PAGE = 1 << 14, 1 << 15


def row(k):
    return {"n": k, "s": f"row {k}", "v": np.full(k % 3 + 1, k, np.int32), "b": bytes([k % 256]) * 1500}


def make(path, rows=60, shards=1):
    return write(path, SCHEMA, [[row(k) for k in range(rows)]], shards=shards)


def change(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def frames(path):
    """Return, for each shard row, the place of the length of its blob."""
    with MindRecordReader([path], check_index=False) as reader:
        reader.read(np.arange(len(reader)), ["b"])
        return (reader._blob.starts - 8).tolist()


@pytest.mark.parametrize("name", [n for n in NAMES if n != "encrypted.mindrecord"])
def test_the_fixtures_are_whole(name, tmp_path):
    result = verify(copied(name, tmp_path))
    assert result.ok, result
    assert result.rows == len(expected(name)[1])


def test_old_and_encrypted_sets_are_whole(tmp_path):
    assert verify(OLD / "aclImdb.mindrecord0").ok
    set_enc_key(expected("encrypted.mindrecord")[2]["enc_key"])
    try:
        assert verify(FIXTURES / "encrypted.mindrecord").ok
    finally:
        set_enc_key(None)


def test_a_damaged_length_costs_its_row_and_the_one_that_ends_there(tmp_path):
    path = make(tmp_path / "x", shards=3)
    shard = f"{path}1"
    offset = frames(shard)[7]
    change(shard, offset, b"\xff" * 8)
    result = verify(f"{path}0")
    assert [(p.file, p.shard, p.page, p.row) for p in result.problems] == [
        (shard, 1, 0, 6),
        (shard, 1, 0, 7),
    ]
    assert (result.rows, result.rows_lost) == (60, 2)
    assert f"{shard}: shard 1, page 0, row 7: its length" in str(result.problems[1])
    with pytest.raises(FormatError):
        rows_of(f"{path}0")
    done = repair(f"{path}0", tmp_path / "y")
    assert (done.saved, done.lost, done.total_known) == (58, 2, True)
    assert_same(rows_of(tmp_path / "y0"), [row(k) for k in range(60) if k not in (26, 27)])
    assert verify(tmp_path / "y0").ok


def test_without_an_index_the_page_is_lost_and_named(tmp_path):
    path = make(tmp_path / "x")
    with MindRecordReader([path], check_index=False) as reader:
        page = reader.shards[0].groups[0].rows
    change(path, frames(path)[7], b"\xff" * 8)
    (tmp_path / "x.db").unlink()
    result = verify(path)
    assert [(p.page, p.row, p.last_row) for p in result.problems] == [(0, 0, page - 1)]
    assert f"page 0, rows 0 to {page - 1}: the lengths of the rows in its page go wrong at row 7" in str(
        result.problems[0]
    )
    done = repair(path, tmp_path / "y")
    assert (done.saved, done.lost) == (60 - page, page)
    assert_same(rows_of(tmp_path / "y"), [row(k) for k in range(page, 60)])


def test_a_damaged_value_is_named_by_field(tmp_path):
    path = make(tmp_path / "x")
    offset = frames(path)[11]
    change(path, offset + 8 + 8 + 1500 + 8, (10**6).to_bytes(4, "big"))  # a lie about the elements of v
    result = verify(path)
    assert [(p.page, p.row) for p in result.problems] == [(0, 11)]
    assert "field 'v'" in result.problems[0].text
    done = repair(path, tmp_path / "y")
    assert_same(rows_of(tmp_path / "y"), [row(k) for k in range(60) if k != 11])
    assert done.problems == result.problems


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_short(tmp_path, share):
    path = make(tmp_path / "x", 200)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    result = verify(path)
    assert not result.ok
    assert "cut short" in result.problems[0].text
    done = repair(path, tmp_path / "y")
    assert done.saved + done.lost == 200
    for saved_row in rows_of(tmp_path / "y"):
        assert_same([saved_row], [row(saved_row["n"])])


def test_a_lost_header_is_made_good_by_its_neighbours_and_the_index(tmp_path):
    path = make(tmp_path / "x", shards=2)
    change(f"{path}1", 0, bytes(4000))
    with pytest.raises(FormatError):
        rows_of(f"{path}0")
    result = verify(f"{path}0")
    assert [(p.file, p.shard) for p in result.problems] == [(f"{path}1", 1)]
    done = repair(f"{path}0", tmp_path / "y")
    assert (done.saved, done.lost, done.total_known) == (60, 0, True)
    assert_same(rows_of(tmp_path / "y0"), [row(k) for k in range(60)])


def test_a_missing_shard_costs_its_rows_only(tmp_path):
    path = make(tmp_path / "x", shards=3)
    (tmp_path / "x1").unlink()
    done = repair(f"{path}0", tmp_path / "y")
    assert (done.saved, done.total_known) == (40, False)
    assert [(p.file, p.shard) for p in done.problems] == [(f"{path}1", 1)]
    assert_same(rows_of(tmp_path / "y0"), [row(k) for k in range(60) if not 20 <= k < 40])


def test_repair_does_not_touch_or_overwrite(tmp_path):
    path = make(tmp_path / "x")
    before = path.read_bytes()
    with pytest.raises(DataError, match="not repaired in place"):
        repair(path, path, overwrite=True)
    make(tmp_path / "y")
    with pytest.raises(DataError, match="exists"):
        repair(path, tmp_path / "y")
    repair(path, tmp_path / "y", overwrite=True)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "x.db", "y", "y.db"]
    (tmp_path / "z").write_bytes(b"nothing of a header")
    with pytest.raises(FormatError, match="schema is lost"):
        repair(tmp_path / "z", tmp_path / "w")


# --- indexes ----------------------------------------------------------------------------------------------------


def test_an_index_that_differs_in_one_value_is_found_and_rebuilt(tmp_path):
    path = make(tmp_path / "x")
    connection = sqlite3.connect(f"{path}.db")
    connection.execute("UPDATE INDEXES SET n_0 = 99 WHERE ROW_ID = 30")
    connection.commit()
    connection.close()
    result = verify(path)
    assert [p.row for p in result.problems] == [30]
    assert "the index has 99 for 'n', the row 30: one of them is damaged" in result.problems[0].text
    assert repair(path, tmp_path / "y").lost == 1
    assert reindex(path) == [f"{path}.db"]
    assert verify(path).ok
    assert reindex(path) == []
    assert reindex(path, force=True) == [f"{path}.db"]


@pytest.mark.parametrize("damage", ["missing", "garbage", "of another file", "cut"])
def test_reindex(tmp_path, damage):
    path = make(tmp_path / "x", shards=2)
    index = tmp_path / "x1.db"
    good = index.read_bytes()
    if damage == "missing":
        index.unlink()
    elif damage == "garbage":
        index.write_bytes(b"garbage" * 999)
    elif damage == "cut":
        index.write_bytes(good[: len(good) // 2])
    else:
        index.write_bytes((tmp_path / "x0.db").read_bytes())
    assert reindex(f"{path}0") == [str(index)]
    assert index.read_bytes() == good


def test_appending_after_repair(tmp_path):
    path = make(tmp_path / "x")
    change(path, frames(path)[7], b"\xff" * 8)
    repair(path, tmp_path / "y")
    writer = FileWriter.open_for_append(str(tmp_path / "y"))
    writer.write_raw_data([row(100)])
    writer.commit()
    assert [r["n"] for r in rows_of(tmp_path / "y")][-2:] == [59, 100]
