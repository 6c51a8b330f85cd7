"""Sets behind fsspec addresses: range reads, a block cache that stays small, retries within a budget."""

import threading

import fsspec
import numpy as np
import pytest

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.io import remote as core_remote
from millrace._src.data.formats.mindrecord import FileReader, FileWriter, MindRecordReader, set_enc_key
from millrace._src.data.formats.mindrecord import remote_files as remote
from millrace._src.data.formats.mindrecord.recovery.repair import repair
from millrace._src.data.formats.mindrecord.recovery.verify import verify

from .helpers import assert_same, rows_of, write

SCHEMA = {"n": {"type": "int32"}, "b": {"type": "bytes"}, "v": {"type": "int32", "shape": [-1]}}


def row(k):
    return {"n": k, "b": bytes([k % 256]) * 3000, "v": np.arange(k % 5, dtype=np.int32)}


@pytest.fixture
def bucket():
    fs = fsspec.filesystem("memory")
    if fs.exists("/bucket"):
        fs.rm("/bucket", recursive=True)
    yield fs
    if fs.exists("/bucket"):
        fs.rm("/bucket", recursive=True)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    quick = core_remote.Retries(pause=0.001)
    for module in (remote, core_remote):
        monkeypatch.setattr(module, "RETRIES", quick)


def test_written_read_appended_and_replaced(bucket, tmp_path):
    address = "memory://bucket/deep/x"
    write(address, SCHEMA, [[row(k) for k in range(30)]], shards=2)
    assert_same(
        rows_of(f"{address}0"),
        rows_of(write(tmp_path / "x", SCHEMA, [[row(k) for k in range(30)]], shards=2).with_name("x0")),
    )
    for name in ("x0", "x1"):  # byte for byte what a local writer makes
        assert bucket.cat(f"/bucket/deep/{name}") == (tmp_path / name).read_bytes()
        assert bucket.cat(f"/bucket/deep/{name}.db") == (tmp_path / f"{name}.db").read_bytes()
    writer = FileWriter.open_for_append(f"{address}0")
    writer.write_raw_data([row(77)])
    writer.commit()
    assert len(rows_of(f"{address}1")) == 31
    with pytest.raises(DataError, match="the file exists"):
        write(address, SCHEMA, [[row(1)]], shards=2)
    write(address, SCHEMA, [[row(1)] * 2], shards=2, overwrite=True)
    assert len(rows_of(f"{address}0")) == 2
    assert verify(f"{address}0").ok
    assert FileReader(f"{address}0").len() == 2


def test_a_broken_upload_leaves_no_set_that_looks_whole(bucket, monkeypatch):
    address = "memory://bucket/x"
    write(address, SCHEMA, [[row(0)] * 30], shards=3)
    for stop in range(1, 6):
        write(address, SCHEMA, [[row(0)] * 30], shards=3, overwrite=True)
        calls = []
        real = remote.RemoteSet._put

        def put(self, name, stop=stop, calls=calls, real=real):
            calls.append(name)
            if len(calls) > stop:
                raise PermissionError("the network is gone")
            real(self, name)

        monkeypatch.setattr(remote.RemoteSet, "_put", put)
        with pytest.raises(FormatError, match="the network is gone"):
            write(address, SCHEMA, [[row(1)] * 30], shards=3, overwrite=True)
        monkeypatch.setattr(remote.RemoteSet, "_put", real)
        for shard in ("x0", "x1", "x2"):
            with pytest.raises(FormatError):
                rows_of(f"memory://bucket/{shard}")


def test_only_what_is_needed_is_fetched(bucket, monkeypatch):
    writer = FileWriter("memory://bucket/x")
    writer.set_page_size(1 << 20)
    writer.add_schema({"n": {"type": "int32"}, "b": {"type": "bytes"}})
    writer.write_raw_data([{"n": k, "b": bytes([k]) * 100_000} for k in range(100)])
    writer.commit()
    fetched = []
    real = remote.RemoteFile._download_blocks
    monkeypatch.setattr(remote, "BLOCK", 1 << 16)

    def bring(self, first, last):
        fetched.append((last - first) * self.block)
        real(self, first, last)

    monkeypatch.setattr(remote.RemoteFile, "_download_blocks", bring)
    with MindRecordReader("memory://bucket/x") as reader:
        size = reader.shards[0].size
        assert sum(fetched) < 5 << 20
        assert reader.read([5, 95], ["n"])["n"].tolist() == [5, 95]
        few = sum(fetched)
        assert few < 5 << 20 < size
        assert reader.read([40], ["b"])["b"] == [bytes([40]) * 100_000]
        assert sum(fetched) < few + (3 << 20)
        second = sum(fetched)
        reader.read([40, 41], ["b"])
        assert sum(fetched) == second  # from the cache


def test_the_cache_gives_back_what_was_used_longest_ago(bucket):
    data = np.random.default_rng(0).bytes(1 << 20)
    bucket.pipe("/bucket/raw", data)
    file = remote.RemoteFile("memory://bucket/raw", block=4096, most=16 * 4096)
    for start in range(0, len(data), 4096):
        with file.hold_ranges([(start, start + 4096)]):
            assert file.map[start : start + 4096] == data[start : start + 4096]
        assert int((file._state == 2).sum()) <= 17
    with file.hold_ranges([(0, len(data))]):  # more than the cache holds, while it is needed
        assert file.map[:] == data
    assert int((file._state == 2).sum()) <= 17


def test_threads_share_the_cache(bucket):
    data = np.random.default_rng(0).bytes(1 << 20)
    bucket.pipe("/bucket/raw", data)
    file = remote.RemoteFile("memory://bucket/raw", block=4096, most=20 * 4096)
    wrong = []

    def read(seed):
        draw = np.random.default_rng(seed)
        for _ in range(150):
            start = int(draw.integers(0, len(data) - 20_000))
            with file.hold_ranges([(start, start + 20_000)]):
                if file.map[start : start + 20_000] != data[start : start + 20_000]:
                    wrong.append(start)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def failing(monkeypatch, times, kind=OSError):
    fs = fsspec.filesystem("memory")
    real, calls = type(fs).cat_file, []

    def cat_file(self, *args, **kwargs):
        calls.append(1)
        if len(calls) <= times:
            raise kind("the connection was reset")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(type(fs), "cat_file", cat_file)
    return calls


def test_a_request_that_fails_is_tried_again(bucket, monkeypatch):
    write("memory://bucket/x", SCHEMA, [[row(k) for k in range(9)]])
    calls = failing(monkeypatch, 3)
    assert len(rows_of("memory://bucket/x")) == 9
    assert len(calls) > 3


def test_a_store_that_is_down_is_given_up_on(bucket, monkeypatch):
    write("memory://bucket/x", SCHEMA, [[row(k) for k in range(9)]])
    calls = failing(monkeypatch, 10**9)
    with pytest.raises(DataError, match="failed 5 times: OSError: the connection was reset") as caught:
        rows_of("memory://bucket/x")
    assert caught.value.context["file"] == "memory://bucket/x"
    assert len(calls) == 5
    for _ in range(9):
        with pytest.raises(DataError):
            rows_of("memory://bucket/x")
    with pytest.raises(DataError, match=r"failed 1 times .the retry budget is spent."):
        rows_of("memory://bucket/x")


def test_what_cannot_pass_is_not_tried_again(bucket, monkeypatch):
    write("memory://bucket/x", SCHEMA, [[row(k) for k in range(9)]])
    calls = failing(monkeypatch, 10**9, PermissionError)
    with pytest.raises(FormatError, match="PermissionError"):
        rows_of("memory://bucket/x")
    assert len(calls) == 1
    with pytest.raises(FormatError, match=r"does not exist|FileNotFound"):
        rows_of("memory://bucket/nothing")
    with pytest.raises(FormatError, match="no way to reach"):
        rows_of("nosuchprotocol://bucket/x")


def test_a_short_answer_is_a_failure(bucket, monkeypatch):
    write("memory://bucket/x", SCHEMA, [[row(k) for k in range(9)]])
    fs = fsspec.filesystem("memory")
    real = type(fs).cat_file
    monkeypatch.setattr(type(fs), "cat_file", lambda self, *a, **k: real(self, *a, **k)[:-1])
    with pytest.raises(DataError, match=r"expected .* bytes at .*, got"):
        rows_of("memory://bucket/x")


def test_damage_behind_an_address_is_named(bucket):
    write("memory://bucket/x", SCHEMA, [[row(k) for k in range(30)]])
    data = bytearray(bucket.cat("/bucket/x"))
    data[(1 << 14) : (1 << 14) + 8] = b"\xff" * 8
    bucket.pipe("/bucket/x", bytes(data))
    with pytest.raises(FormatError) as caught:
        rows_of("memory://bucket/x")
    assert caught.value.context["file"] == "memory://bucket/x"
    result = verify("memory://bucket/x")
    assert result.problems[0].file == "memory://bucket/x"
    bucket.pipe("/bucket/x", bytes(data[:20_000]))
    assert "cut short" in verify("memory://bucket/x").problems[0].text


def test_encrypted_behind_an_address(bucket):
    set_enc_key("0123456789abcdef")
    try:
        write("memory://bucket/x", SCHEMA, [[row(k) for k in range(9)]])
        assert_same(rows_of("memory://bucket/x"), [row(k) for k in range(9)])
    finally:
        set_enc_key(None)
    with pytest.raises(FormatError, match="encrypted"):
        rows_of("memory://bucket/x")


def test_repair_of_a_remote_set_saves_here(bucket, tmp_path):
    write("memory://bucket/x", SCHEMA, [[row(k) for k in range(30)]])
    done = repair("memory://bucket/x", tmp_path / "y")
    assert (done.saved, done.lost) == (30, 0)


def test_nothing_is_left_of_reading_and_writing(bucket, no_leaks):
    write("memory://bucket/x", SCHEMA, [[row(k) for k in range(30)]], shards=2)
    rows_of("memory://bucket/x0")
