"""FileWriter: shards, pages, append, overwrite, the parallel writer, and what it refuses."""

import errno
import os

import numpy as np
import pytest

from millrace._src.core.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DataError,
    FormatError,
    MillraceError,
)
from millrace._src.data.formats.mindrecord import FileReader, FileWriter, MindRecordReader
from millrace.mindrecord import SUCCESS

from .helpers import OLD, assert_same, copied, rows_of, write

SCHEMA = {"id": {"type": "int32"}, "b": {"type": "bytes"}}


def rows(start, stop, size=5):
    return [{"id": n, "b": bytes([n % 256]) * size} for n in range(start, stop)]


def ids(files):
    return [row["id"] for row in rows_of(files)]


@pytest.mark.parametrize(("shards", "last"), [(1, "x"), (2, "x1"), (10, "x9"), (11, "x10"), (101, "x100")])
def test_names_of_shards(tmp_path, shards, last):
    write(tmp_path / "x", SCHEMA, [rows(0, 3)], shards=shards)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2 * shards
    assert last in names
    assert f"{last}.db" in names
    assert sorted(ids(tmp_path / last)) == [0, 1, 2]
    assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {"0o600"}


def test_rows_are_dealt_in_equal_runs_and_the_odd_ones_in_turn(tmp_path):
    write(tmp_path / "x", SCHEMA, [rows(0, 7), *[rows(n, n + 1) for n in range(7, 12)]], shards=3)
    with MindRecordReader(tmp_path / "x0") as reader:
        assert reader.shard_sizes == [4, 4, 4]
    assert sorted(ids(tmp_path / "x0")) == list(range(12))


def test_rows_over_many_pages_come_back_in_order(tmp_path):
    wanted = [{"id": n, "b": bytes([n]) * (n * 97 % 9000)} for n in range(200)]
    path = write(tmp_path / "x", SCHEMA, [wanted[:3], wanted[3:120], wanted[120:]])
    assert_same(rows_of(path), wanted)
    with MindRecordReader(path) as reader:
        assert len(reader.shards[0].header.pages) > 20
        order = np.random.default_rng(0).permutation(200)
        block = reader.read(order)
        assert block["id"].tolist() == order.tolist()
        assert block["b"] == [wanted[n]["b"] for n in order]


def test_appending_gives_the_bytes_of_one_writer(tmp_path):
    parts = [rows(0, 30, 900), rows(30, 31, 900), rows(31, 90, 900)]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = write(tmp_path / "one" / "x", SCHEMA, parts)
    two = write(tmp_path / "two" / "x", SCHEMA, parts[:1])
    for part in parts[1:]:
        writer = FileWriter.open_for_append(str(two))
        writer.write_raw_data(part)
        writer.commit()
    assert two.read_bytes() == one.read_bytes()
    assert ids(two) == list(range(90))


def test_appending_to_shards_by_any_of_them(tmp_path):
    path = write(tmp_path / "x", SCHEMA, [rows(0, 30, 900)], shards=3)
    for number in range(3):
        writer = FileWriter.open_for_append(f"{path}{number}")
        writer.write_raw_data(rows(30 + number * 40, 70 + number * 40, 900))
        writer.commit()
    assert sorted(ids(f"{path}1")) == list(range(150))


def test_an_append_writer_goes_on_after_commit(tmp_path):
    path = write(tmp_path / "x", SCHEMA, [rows(0, 2)])
    writer = FileWriter.open_for_append(str(path))
    for start in (2, 5):
        writer.write_raw_data(rows(start, start + 3))
        assert writer.commit() == SUCCESS
    assert writer.commit() == SUCCESS  # nothing new
    assert ids(path) == list(range(8))


def test_append_to_version_2_is_refused(tmp_path):
    path = copied("aclImdb.mindrecord", tmp_path, OLD)
    before = path.read_bytes()
    with pytest.raises(FormatError, match=r"version 2\.0"):
        FileWriter.open_for_append(str(path))
    assert path.read_bytes() == before


def test_nothing_is_visible_before_commit(tmp_path):
    writer = FileWriter(str(tmp_path / "x"), 2)
    writer.add_schema(SCHEMA)
    assert writer.open_and_set_header() == SUCCESS
    writer.write_raw_data(rows(0, 9))
    assert all(path.name.startswith(".") for path in tmp_path.iterdir())
    writer.commit()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x0", "x0.db", "x1", "x1.db"]


def test_a_writer_that_is_dropped_leaves_nothing(tmp_path):
    writer = FileWriter(str(tmp_path / "x"), 2)
    writer.add_schema(SCHEMA)
    writer.write_raw_data(rows(0, 9))
    assert list(tmp_path.iterdir())
    del writer
    assert not list(tmp_path.iterdir())


def test_an_existing_set_is_overwritten_only_when_asked(tmp_path):
    path = write(tmp_path / "x", SCHEMA, [rows(0, 3)])
    with pytest.raises(DataError, match="overwrite=True"):
        write(path, SCHEMA, [rows(3, 5)])
    assert ids(path) == [0, 1, 2]
    write(path, SCHEMA, [rows(3, 5)], overwrite=True)
    assert ids(path) == [3, 4]


def test_shards_left_over_from_a_wider_set_are_not_mixed_in(tmp_path):
    write(tmp_path / "x", SCHEMA, [rows(0, 8)], shards=4)
    write(tmp_path / "x", SCHEMA, [rows(100, 104)], shards=2, overwrite=True)
    assert ids(tmp_path / "x0") == [100, 101, 102, 103]
    with pytest.raises(FormatError, match="another set"):
        MindRecordReader(tmp_path / "x3")


@pytest.mark.parametrize("shards", [1, 3])
def test_parallel_writer(tmp_path, no_leaks, shards):
    batches = [rows(n, n + 7) for n in range(0, 210, 7)]
    write(tmp_path / "x", SCHEMA, batches, shards=shards, parallel=True)
    first = tmp_path / ("x0" if shards > 1 else "x")
    assert sorted(ids(first)) == list(range(210))
    with MindRecordReader(first) as reader:  # one set, with the sizes asked for
        assert len(reader.files) == shards
        assert reader.shards[0].header.page_size == 1 << 15


def test_parallel_writer_reports_a_bad_row(tmp_path, no_leaks):
    writer = FileWriter(str(tmp_path / "x"), 2)
    writer.add_schema(SCHEMA)
    writer.write_raw_data(rows(0, 3), True)
    with pytest.raises(ArgumentTypeError, match="field 'id'"):
        writer.write_raw_data([{"id": "no", "b": b""}], True)
    writer.check_all_worker_status()
    writer.commit()
    assert ids(tmp_path / "x0") == [0, 1, 2]


def test_parallel_writer_is_not_disturbed_by_a_caller_that_reuses_its_rows(tmp_path):
    writer = FileWriter(tmp_path / "x", 2)
    writer.add_schema({"v": {"type": "int64", "shape": [100]}})
    batch = [{"v": np.zeros(100, np.int64)} for _ in range(50)]
    for number in range(20):
        for row in batch:
            row["v"][:] = number
        writer.write_raw_data(batch, True)
    writer.commit()
    with MindRecordReader(tmp_path / "x0") as reader:
        values = reader.read(np.arange(1000))["v"]
    assert sorted(values[:, 0].tolist()) == [n // 50 for n in range(1000)]
    assert (values == values[:, :1]).all()


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("parallel", [False, True])
def test_a_full_disk_at_commit(tmp_path, monkeypatch, no_leaks, parallel):
    path = write(tmp_path / "x", SCHEMA, [rows(0, 3)])
    writer = FileWriter(path, 1, True)
    writer.add_schema(SCHEMA)
    writer.write_raw_data(rows(5, 9), parallel)
    writer.check_worker_status(0)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(DataError, match="No space left"):
            writer.commit()
    assert ids(path) == [0, 1, 2]  # the old set
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "x.db"]


@pytest.mark.parametrize("parallel", [False, True])
def test_a_full_disk_while_appending_gives_up_the_rows_before_it_too(
    tmp_path, monkeypatch, no_leaks, parallel
):
    path = write(tmp_path / "x", SCHEMA, [rows(0, 3)])
    writer = FileWriter.open_for_append(path)
    writer.write_raw_data(rows(3, 6), parallel)
    writer._await_writes()
    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", full)
        with pytest.raises(DataError, match="No space left"):  # noqa: PT012
            writer.write_raw_data(rows(6, 9), parallel)
            writer.commit()
    for call in (lambda: writer.write_raw_data(rows(9, 12)), writer.commit):
        with pytest.raises(DataError, match="given up"):
            call()
    assert ids(path) == [0, 1, 2]


def test_a_row_larger_than_a_page_names_the_call_that_helps(tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    writer.set_page_size(1 << 15)
    writer.add_schema(SCHEMA)
    with pytest.raises(ArgumentValueError, match="set_page_size"):
        writer.write_raw_data([{"id": 0, "b": bytes(1 << 15)}])
    writer.write_raw_data(rows(0, 1, (1 << 15) - 8))
    writer.commit()
    assert ids(tmp_path / "x") == [0]


def test_a_header_that_overflows_is_noticed_while_writing(tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(SCHEMA)
    with pytest.raises(ArgumentValueError, match="set_header_size"):
        writer.write_raw_data(rows(0, 200, 30000))
    assert not list(tmp_path.iterdir())


def test_nan_in_an_indexed_field_is_refused_and_kept_elsewhere(tmp_path):
    schema = {"f": {"type": "float32"}, "id": {"type": "int32"}}
    bad = [{"f": float("nan"), "id": 0}, {"f": float("inf"), "id": 1}]
    with pytest.raises(ArgumentValueError, match="add_index"):
        write(tmp_path / "x", schema, [bad])
    assert_same(rows_of(write(tmp_path / "y", schema, [bad], index=["id"])), bad)


def test_extra_keys_are_ignored(tmp_path):
    path = write(tmp_path / "x", SCHEMA, [[{"id": 1, "b": b"", "more": object()}]])
    assert rows_of(path) == [{"id": 1, "b": b""}]


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(DataError, match="folder does not exist"):
        write(tmp_path / "no" / "x", SCHEMA, [rows(0, 1)])


@pytest.mark.parametrize("name", ["", "a/", "a?b", " a", "a ", "a:b", "a;b", ".."])
def test_names_that_are_refused(name):
    with pytest.raises(ArgumentValueError):
        FileWriter(name)


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ({}, ArgumentValueError),
        ([], ArgumentTypeError),
        ({"a b": {"type": "int32"}}, ArgumentValueError),
        ({"a": "int32"}, ArgumentTypeError),
        ({"a": {}}, ArgumentValueError),
        ({"a": {"type": "uint8"}}, ArgumentValueError),
        ({"a": {"type": ["int32"]}}, ArgumentValueError),
        ({"a": {"type": "int32", "shape": (2,)}}, ArgumentValueError),
        ({"a": {"type": "int32", "shape": [-1, -1]}}, ArgumentValueError),
        ({"a": {"type": "int32", "shape": [0]}}, ArgumentValueError),
        ({"a": {"type": "int32", "shape": [True]}}, ArgumentValueError),
        ({"a": {"type": "int32", "other": 1}}, ArgumentValueError),
        ({"a": {"type": "string", "shape": [2]}}, ArgumentValueError),
    ],
)
def test_schemas_that_are_refused(schema, error):
    with pytest.raises(error):
        FileWriter("x").add_schema(schema)


@pytest.mark.parametrize("index", [[], "id", ["no"], ["b"], ["id", "id"]])
def test_indexes_that_are_refused(index):
    writer = FileWriter("x")
    with pytest.raises(MillraceError):
        writer.add_index(["id"])  # before the schema
    writer.add_schema(SCHEMA)
    with pytest.raises(MillraceError):
        writer.add_index(index)


def test_index_fields_that_sqlite_cannot_hold(tmp_path):
    for names in (["a", "A"], ["inc"], ["1st"]):
        schema = {name: {"type": "int32"} for name in names}
        with pytest.raises(ArgumentValueError, match="index"):
            write(tmp_path / "x", schema, [[dict.fromkeys(names, 1)]])
    path = write(
        tmp_path / "y", {"a": {"type": "int32"}, "A": {"type": "int32"}}, [[{"a": 1, "A": 2}]], index=["a"]
    )
    assert rows_of(path) == [{"A": 2, "a": 1}]


@pytest.mark.parametrize("size", [0, 1 << 13, (1 << 15) + 1, 1 << 40, True, 1e5, "1"])
def test_sizes_that_are_refused(size):
    for change in (FileWriter("x").set_header_size, FileWriter("x").set_page_size):
        with pytest.raises((ArgumentTypeError, ArgumentValueError)):
            change(size)


def test_calls_in_the_wrong_order(tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    with pytest.raises(DataError, match="add_schema"):
        writer.write_raw_data(rows(0, 1))
    writer.add_schema(SCHEMA)
    with pytest.raises(ArgumentValueError, match="only one"):
        writer.add_schema(SCHEMA)
    for bad in (None, {}, "x"):
        with pytest.raises(ArgumentTypeError):
            writer.write_raw_data(bad)
    with pytest.raises(ArgumentTypeError):
        writer.write_raw_data([3])
    writer.write_raw_data(rows(0, 1))
    with pytest.raises(DataError):
        writer.set_page_size(1 << 16)
    writer.commit()
    with pytest.raises(DataError, match="open_for_append"):
        writer.write_raw_data(rows(0, 1))
    with pytest.raises(DataError, match="committed"):
        writer.commit()


def test_what_is_read_back_is_compared_with_what_was_written(tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    writer.add_schema(SCHEMA)
    writer.write_raw_data(rows(0, 3))
    shard = writer._draft.shards[0]
    os.pwrite(shard.fd, b"!", shard.header.page_start(0) + 9)  # the disk lies
    with pytest.raises(FormatError, match="not what was written"):
        writer.commit()
    assert not list(tmp_path.iterdir())


def test_a_renamed_file_is_read_itself(tmp_path):
    path = write(tmp_path / "x", SCHEMA, [rows(0, 3)])
    write(tmp_path / "z", SCHEMA, [rows(7, 9)])
    path.rename(tmp_path / "y")
    write(path, SCHEMA, [rows(50, 51)], overwrite=True)
    with pytest.warns(UserWarning, match="rebuilt"):
        assert ids(tmp_path / "y") == [0, 1, 2]  # MindSpore reads x
    write(tmp_path / "s", SCHEMA, [rows(0, 4)], shards=2)
    (tmp_path / "s0").rename(tmp_path / "t0")
    with pytest.raises(FormatError, match="renamed"):
        MindRecordReader(tmp_path / "t0")


def test_a_missing_shard_is_named(tmp_path):
    write(tmp_path / "s", SCHEMA, [rows(0, 4)], shards=2)
    (tmp_path / "s1").unlink()
    with pytest.raises(FormatError, match="s1"):
        FileReader(str(tmp_path / "s0"))


def test_files_that_do_not_belong_together(tmp_path):
    one = write(tmp_path / "a", SCHEMA, [rows(0, 4)])
    two = write(tmp_path / "b", {"id": {"type": "int64"}}, [[{"id": 1}]])
    with pytest.raises(FormatError, match="not one set"):
        MindRecordReader([one, two])
    assert ids([one, one]) == [0, 1, 2, 3, 0, 1, 2, 3]
    with pytest.raises(ArgumentValueError, match="empty"):
        MindRecordReader([])
