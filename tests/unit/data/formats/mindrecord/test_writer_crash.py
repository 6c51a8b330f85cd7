"""A writer that dies leaves the old set or the new one, whole."""

import gc
import os
import random
import signal
import subprocess
import sys
import textwrap

import pytest

from millrace._src.core.errors import FormatError, MillraceError
from millrace._src.data.formats.mindrecord import FileWriter, MindRecordReader
from millrace._src.data.formats.mindrecord import atomic_commit as commit

from .helpers import rows_of, write

SCHEMA = {"version": {"type": "int32"}, "n": {"type": "int32"}, "b": {"type": "bytes"}}
PRELUDE = """
import os, sys
from millrace._src.data.formats.mindrecord import FileWriter
SCHEMA = {"version": {"type": "int32"}, "n": {"type": "int32"}, "b": {"type": "bytes"}}
def rows(version, start=0):
    return [{"version": version, "n": start + n, "b": bytes([n]) * 700} for n in range(60)]
def write(path, version, shards):
    writer = FileWriter(path, shards, True)
    writer.set_header_size(1 << 14); writer.set_page_size(1 << 15)
    writer.add_schema(SCHEMA)
    writer.write_raw_data(rows(version)[:30]); writer.write_raw_data(rows(version)[30:])
    writer.commit()
def append(path, version):
    writer = FileWriter.open_for_append(path)
    writer.write_raw_data(rows(0, 60 * version)); writer.commit()
"""


def start(body, *arguments):
    code = PRELUDE + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )


def check_whole(first):
    """Assert that the set at this path is one version and complete; return the version."""
    rows = rows_of(first)
    versions = {row["version"] for row in rows}
    assert len(versions) == 1
    assert sorted(row["n"] for row in rows) == list(range(60))
    return versions.pop()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.filterwarnings("ignore:.*rebuilt from the data file")
def test_kill_9_while_overwriting(tmp_path, shards):  # 2 x 20
    path = tmp_path / "x"
    first = path if shards == 1 else tmp_path / "x0"
    body = """
        path, shards, version = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
        while True:
            version += 1
            write(path, version, shards)
            print(version, flush=True)
    """
    draw = random.Random(shards)
    version = 0
    for _ in range(20):
        process = start(body, path, shards, version)
        done = int(process.stdout.readline())
        try:
            process.wait(draw.random() * 0.05)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(signal.SIGKILL)
        reported = [int(line) for line in process.stdout.read().split()]
        process.wait()
        process.stdout.close()
        version = check_whole(first)
        assert version >= max([done, *reported])  # what was reported is not lost
    write(path, SCHEMA, [[{"version": 0, "n": 0, "b": b""}]], shards=shards, overwrite=True)
    left = [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]
    assert not left  # the next writer has cleared up


@pytest.mark.filterwarnings("ignore:.*rebuilt from the data file")
def test_kill_9_while_appending(tmp_path):  # 10
    body = """
        path, version = sys.argv[1], int(sys.argv[2])
        if version == 0:
            write(path, 0, 2)
        path += "0"
        while True:
            version += 1
            append(path, version)
            print(version, flush=True)
    """
    draw = random.Random(0)
    version = 0
    for _ in range(10):
        process = start(body, tmp_path / "x", version)
        process.stdout.readline()
        try:
            process.wait(draw.random() * 0.05)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(signal.SIGKILL)
        process.stdout.read()
        process.wait()
        process.stdout.close()
        numbers = sorted(row["n"] for row in rows_of(tmp_path / "x0"))
        assert numbers == list(range(len(numbers)))
        assert len(numbers) % 60 == 0
        version = len(numbers) // 60 - 1


# Every rename and removal of a commit is a place to die: once before each of them.
STEPS = """
    path, shards, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    write(path, 1, shards)
    calls = 0
    def dying(call):
        def run(*args, **kwargs):
            global calls
            calls += 1
            if calls == last:
                os._exit(9)
            return call(*args, **kwargs)
        return run
    os.replace, os.unlink = dying(os.replace), dying(os.unlink)
    write(path, 2, shards)
    os._exit(0)
"""


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.filterwarnings("ignore:.*rebuilt from the data file")
def test_death_at_every_step_of_a_commit(tmp_path, shards):
    first = "x" if shards == 1 else "x0"
    seen = []
    for last in range(1, 30):
        folder = tmp_path / str(last)
        folder.mkdir()
        process = start(STEPS, folder / "x", shards, last)
        process.stdout.close()
        finished = process.wait() == 0
        seen.append(check_whole(folder / first))
        if shards == 2:
            check_whole([folder / "x0", folder / "x1"])
        if finished:
            break
    assert seen == sorted(seen)
    assert set(seen) == {1, 2}
    assert len(seen) > 3


def test_a_journal_that_is_not_ours_is_refused(tmp_path):
    write(tmp_path / "x", SCHEMA, [[{"version": 0, "n": 0, "b": b""}]], shards=2)
    secret = tmp_path / "secret"
    secret.write_text("keep")
    for text in (
        "",
        "{",
        "[]",
        '{"token": "0000000000000000", "files": ["../x"]}',
        '{"token": "..", "files": []}',
    ):
        (tmp_path / ".x0.commit").write_text(text)
        with pytest.raises(FormatError, match="journal"):
            MindRecordReader(tmp_path / "x1")
    (tmp_path / ".x0.commit").unlink()
    assert len(rows_of(tmp_path / "x1")) == 1
    assert secret.read_text() == "keep"


def test_two_writers_of_one_name_do_not_meet(tmp_path):
    writers = []
    for version in (1, 2):
        writer = FileWriter(str(tmp_path / "x"), 2, True)
        writer.add_schema(SCHEMA)
        writer.write_raw_data([{"version": version, "n": n, "b": b""} for n in range(4)])
        writers.append(writer)
    for version, writer in zip((1, 2), writers):
        writer.commit()
        assert {row["version"] for row in rows_of(tmp_path / "x0")} == {version}
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("call", ["write_text", "fsync", "replace"])
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.filterwarnings("ignore:.*rebuilt from the data file")
def test_a_failing_disk_leaves_no_file_of_the_attempt(tmp_path, monkeypatch, call, shards):
    """EIO at each call of the commit in turn: no temporary file stays, nor the journal's, and the old set is whole."""
    rows = [{"version": 1, "n": n, "b": b"x"} for n in range(6)]
    write(tmp_path / "x", SCHEMA, [rows], shards=shards)
    first = tmp_path / ("x" if shards == 1 else "x0")
    names = sorted(os.listdir(tmp_path))
    owner = commit.Path if call == "write_text" else commit.os
    real = getattr(owner, call)
    failed = 0
    for nth in range(100):
        calls = iter(range(1000))

        def failing(*args, nth=nth, calls=calls, **options):
            if next(calls) == nth:
                raise OSError(5, "Input/output error")
            return real(*args, **options)

        writer = FileWriter(str(tmp_path / "x"), shards, True)
        writer.add_schema(SCHEMA)
        writer.write_raw_data([{**row, "version": 2} for row in rows])
        with monkeypatch.context() as patch:
            patch.setattr(owner, call, failing)
            try:
                writer.commit()
            except (OSError, MillraceError):
                failed += 1
            else:
                break
        del writer
        gc.collect()
        version = {row["version"] for row in rows_of(first)}
        if version == {2}:  # past the commit: whoever opens the set has finished it
            second_writer = FileWriter(str(tmp_path / "x"), shards, True)
            second_writer.add_schema(SCHEMA)
            second_writer.write_raw_data(rows)
            second_writer.commit()
        assert len(version) == 1
        assert sorted(os.listdir(tmp_path)) == names
    assert failed or (call == "write_text" and shards == 1)
