"""Files that are torn, changed or hostile, and disks that are full."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import millrace as ms
from millrace import Tensor
from millrace._src.core.errors import CheckpointError, SaveError
from millrace._src.train.checkpoint import atomic_file as files
from millrace._src.train.checkpoint import ckpt_format as ckpt
from millrace._src.train.checkpoint import ckpt_protobuf as wire
from millrace._src.train.checkpoint import safetensors_format as safe
from millrace._src.train.checkpoint.latest_checkpoint import restore_latest
from millrace._src.train.checkpoint.state_entries import entries_of
from millrace.train import load_checkpoint, load_training, save_checkpoint

from .recorded_files import FOLDER


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def some() -> dict:
    return {"a": np.arange(6, dtype=np.float32), "b": np.arange(4, dtype=np.int64), "note": "text"}


def put(name: str, data: bytes) -> str:
    path = Path(name)
    if path.exists():
        path.chmod(0o600)
    path.write_bytes(data)
    return name


# --- torn -------------------------------------------------------------------------------------------------------


def test_torn_between_any_two_bytes():
    """A cut at the end of a value is a shorter file, which only a checksum can tell; every other cut is refused."""
    save_checkpoint(some(), "x.ckpt")
    whole = Path("x.ckpt").read_bytes()
    ends = [0]
    for record in wire.scan(whole):
        ends.append(record.spans[-1][1])
    for size in range(len(whole)):
        put("torn.ckpt", whole[:size])
        if size in ends[1:]:
            assert len(load_checkpoint("torn.ckpt")) == ends.index(size)
            continue
        with pytest.raises(CheckpointError, match=r"torn\.ckpt") as caught:
            load_checkpoint("torn.ckpt")
        if size:
            assert "byte" in str(caught.value)


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_training_file_that_is_torn_anywhere_is_refused(format):
    """At the border of two values too, and where nothing but the checksum is missing."""
    ms.set_seed(1)
    net = ms.nn.Dense(2, 1)
    ms.train.save_training("run", net, step=3, format=format)
    whole = Path(f"run.{format}").read_bytes()
    ends = [0, 1, 7, 8, 9]
    if format == "ckpt":
        ends += [record.spans[-1][1] for record in wire.scan(whole[: -wire.CRC_BYTES])]
        assert ends[-1] == len(whole) - wire.CRC_BYTES
    else:
        with open("run.safetensors", "rb") as file:
            ends += [slot.end for slot in safe.read_header(file)[0]]
    cuts = {end + shift for end in ends for shift in (-1, 0, 1)} | set(range(0, len(whole), 97))
    cuts |= set(range(len(whole) - wire.CRC_BYTES, len(whole)))
    before = net.weight.asnumpy().copy()
    for size in sorted(cut for cut in cuts if 0 <= cut < len(whole)):
        put(f"torn.{format}", whole[:size])
        net.weight.set_data(Tensor(before + 1))
        with pytest.raises(CheckpointError, match=r"torn\.\w+"):
            load_training(f"torn.{format}", net)
        assert (net.weight.asnumpy() == before + 1).all()  # all or nothing
    assert load_training(f"run.{format}", net).step == 3
    assert (net.weight.asnumpy() == before).all()


def test_every_cut_between_two_values_is_refused_where_a_checksum_is_required():
    save_checkpoint(some(), "x.ckpt", crc_check=True)
    whole = Path("x.ckpt").read_bytes()
    for record in wire.scan(whole[: -wire.CRC_BYTES]):
        put("torn.ckpt", whole[: record.spans[-1][1]])
        with pytest.raises(CheckpointError, match=r"torn\.ckpt.*expected a checksum"):
            load_checkpoint("torn.ckpt", crc_check=True)
    assert len(load_checkpoint("x.ckpt", crc_check=True)) == 3


def test_resume_passes_over_a_file_that_lacks_only_its_checksum(caplog):
    net = ms.nn.Dense(2, 1)
    for step in (1, 2):
        ms.train.save_training(f"run-{step}.ckpt", net, step=step)
        os.utime(f"run-{step}.ckpt", (step, step))
    put("run-2.ckpt", Path("run-2.ckpt").read_bytes()[: -wire.CRC_BYTES])
    found = restore_latest(".", net)
    assert found is not None
    assert found[1].step == 1
    assert "run-2.ckpt" in caplog.text
    assert "expected the checksum" in caplog.text
    # the way back that the error names, for a file that is known to be whole
    save_checkpoint(load_checkpoint("run-2.ckpt"), "run-2.ckpt", crc_check=True)
    assert load_training("run-2.ckpt", net).step == 2


def test_training_files_of_release_0_2(caplog):
    """Their state has version 1. Those in .ckpt have a checksum, those in .safetensors need none to notice a cut."""
    net = ms.nn.Dense(2, 1)
    ms.train.save_training("new.ckpt", net, step=4)
    values = load_checkpoint("new.ckpt")
    about = json.loads(values["millrace.training"].asnumpy().tobytes())
    about.pop("run", None)
    text = json.dumps({**about, "version": 1}).encode()
    values["millrace.training"] = ms.Parameter(Tensor(np.frombuffer(text, np.uint8).copy()))
    save_checkpoint(values, "old.ckpt", crc_check=True)
    save_checkpoint(values, "old.safetensors", format="safetensors")
    assert load_training("old.ckpt", net).step == 4
    assert "without a checksum" not in caplog.text
    assert load_training("old.safetensors", net).step == 4
    assert "without a checksum" in caplog.text
    save_checkpoint(values, "exit.ckpt")  # as OnRequestExit wrote it
    with pytest.raises(
        CheckpointError, match=r"exit\.ckpt.*OnRequestExit or BackupAndRestore of release 0\.2"
    ):
        load_training("exit.ckpt", net)


def test_the_last_good_file_is_named():
    for n in range(3):
        save_checkpoint({"w": np.full(3, n)}, f"run-{n}.ckpt")
        os.utime(f"run-{n}.ckpt", (n, n))
    put("run-3.ckpt", Path("run-2.ckpt").read_bytes()[:-3])
    put("run-2.ckpt", Path("run-2.ckpt").read_bytes()[:-5])
    os.utime("run-2.ckpt", (2, 2))
    with pytest.raises(
        CheckpointError, match=r"run-3\.ckpt.*newest good checkpoint in that folder is .*run-1\.ckpt"
    ):
        load_checkpoint("run-3.ckpt")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_changed_bytes_never_crash(data):
    """A change gives an error of ours or other values, never another error and never memory beyond the file's size."""
    whole = bytearray((FOLDER / "append.ckpt").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    put("x.ckpt", bytes(whole))
    try:
        found = load_checkpoint("x.ckpt")
    except CheckpointError:
        return
    size = sum(
        4 * len(v) if isinstance(v, str) else v.nbytes for v in found.values() if not isinstance(v, list)
    )
    assert size <= len(whole)


def test_lengths_that_lie_are_refused_before_memory_is_taken():
    def message(dims, kind="Float32", content=b"\0" * 4):
        return wire.head("w", kind, dims, len(content)) + content

    for bad, text in [
        (message((1 << 40, 1 << 20)), "4 are there"),
        (message((2,)), r"Float32\[2\] is 8 bytes, and 4 are there"),
        (message((), "Int4"), "packing for Ascend"),
        (message((), "float32"), "element type 'float32'"),
        (message((0,), "str", b"\0" * 3), "not four for each character"),
        (wire.head("w", "Float32", (1,), 1 << 50), "ends inside of a message"),
        (b"\x0a\x02\x0a\x00", "holds no value"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than ten bytes"),
        (b"not a checkpoint at all", "checkpoint"),
        (message((1,)) + message((1,), "Int32"), "the one before it has"),
    ]:
        put("x.ckpt", bad)
        with pytest.raises(CheckpointError, match=text):
            load_checkpoint("x.ckpt")


def test_unknown_parts_and_packed_shapes_are_read_over():
    tensor = (
        b"\x0a\x02\x02\x03"
        + b"\x12\x05Int8\x00"[:0]
        + b"\x12\x04Int8"
        + b"\x1a\x06"
        + bytes(range(6))
        + b"\x28\x07"
    )
    value = b"\x0a\x01w" + b"\x12" + bytes([len(tensor)]) + tensor
    put("x.ckpt", b"\x0a" + bytes([len(value)]) + value + b"\x10\x05")
    assert load_checkpoint("x.ckpt")["w"].asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_table_of_keys_is_three_arrays():
    def tensor(kind, array):
        data = array.tobytes()
        dims = b"".join(b"\x08" + bytes([n]) for n in array.shape)
        return dims + b"\x12" + bytes([len(kind)]) + kind.encode() + b"\x1a" + bytes([len(data)]) + data

    def message(first):
        arrays = [np.array([first], np.int32), np.full((1, 2), first, np.float32), np.array([1], np.int32)]
        kinds = ["int32", "float32", "int32"]
        parts = [tensor(kind, array) for kind, array in zip(kinds, arrays)]
        table = b"".join(b"\x0a" + bytes([len(part)]) + part for part in parts)
        value = b"\x0a\x01m" + b"\x1a" + bytes([len(table)]) + table
        return b"\x0a" + bytes([len(value)]) + value

    put("x.ckpt", message(1) + message(2))
    keys, values, status = load_checkpoint("x.ckpt")["m"]
    assert (keys.tolist(), values.tolist(), status.tolist()) == ([1, 2], [[1, 1], [2, 2]], [1, 1])


def test_hostile_safetensors():
    head = json.dumps({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 4]}}).encode()
    for data in (
        b"",
        b"\xff" * 8,
        struct.pack("<Q", 1 << 60),
        struct.pack("<Q", len(head)) + head + b"\0" * 4,
    ):
        put("x.safetensors", data)
        with pytest.raises(CheckpointError, match=r"x\.safetensors"):
            load_checkpoint("x.safetensors", format="safetensors")


# --- full -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_disk_without_room_is_refused_before_a_byte_is_written(format, monkeypatch):
    save_checkpoint({"w": np.arange(3)}, "x", format=format)
    before = Path(f"x.{format}").read_bytes()
    monkeypatch.setattr(files, "free_bytes", lambda folder: 1000)
    with pytest.raises(
        SaveError, match=r"x\.\w+: it needs .* \(\d{4,} bytes\), .*\(1000 bytes\) are free"
    ) as caught:
        save_checkpoint({"w": np.zeros(1000)}, "x", format=format)
    assert isinstance(caught.value, OSError)
    assert "untouched" in str(caught.value)
    assert os.listdir() == [f"x.{format}"]
    assert Path(f"x.{format}").read_bytes() == before


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_disk_that_fills_while_it_is_written(format):
    """The kernel's limit of a file's size stands in for a full disk: the write itself fails."""
    save_checkpoint({"w": np.arange(3)}, "x", format=format)
    before = Path(f"x.{format}").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(SaveError, match=r"while writing the checkpoint .*x\.\w+: it needs .* are free"):
            save_checkpoint({"w": np.zeros(5000)}, "x", format=format)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir() == [f"x.{format}"]
    assert Path(f"x.{format}").read_bytes() == before


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
@pytest.mark.parametrize("call", ["write", "fsync", "chmod", "replace"])
def test_any_call_that_fails_leaves_the_old_file(call, format, monkeypatch):
    save_checkpoint({"w": np.arange(3)}, "x", format=format)
    before = Path(f"x.{format}").read_bytes()

    def failing(*args):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, failing)
        with pytest.raises(OSError, match=rf"x\.{format}"):
            save_checkpoint({"w": np.zeros(5)}, "x", format=format)
    assert os.listdir() == [f"x.{format}"]
    assert Path(f"x.{format}").read_bytes() == before


def test_what_a_dead_writer_left_is_removed_and_that_of_a_living_one_is_not():
    dead, young = Path(".a.ckpt.0123456789abcdef.tmp"), Path(".b.ckpt.0123456789abcdef.tmp")
    other = Path(".b.ckpt.tmp")
    for path in (dead, young, other):
        path.write_bytes(b"half")
    os.utime(dead, (1, 1))
    os.utime(other, (1, 1))
    with files.atomic_write(Path("c.ckpt")) as draft:
        os.utime(draft.path, (1, 1))
        save_checkpoint({"w": np.zeros(5)}, "x")
        assert draft.path.exists()
    assert sorted(os.listdir()) == sorted([young.name, other.name, "c.ckpt", "x.ckpt"])


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_writer_that_is_killed_leaves_nothing_that_the_next_save_does_not_remove(format):
    """Killed by the kernel when the file has n bytes, or before a call; what it leaves is swept once it is old."""
    save_checkpoint({"w": np.zeros(2000)}, "x", format=format)
    before = Path(f"x.{format}").read_bytes()
    moments: list[int | str] = [0, 1, 7, 8, 100, 4096, 8192, 16_000, "fsync", "chmod", "replace"]
    left = 0
    for moment in moments:
        pid = os.fork()
        if not pid:  # nothing but the save: neither pytest nor its output goes on here
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if isinstance(moment, int):
                resource.setrlimit(resource.RLIMIT_FSIZE, (moment, moment))
            else:
                setattr(os, moment, lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL))
            try:
                save_checkpoint({"w": np.ones(2000)}, "x", format=format)
            finally:
                os._exit(0)
        assert os.WIFSIGNALED(os.waitpid(pid, 0)[1]), moment
        assert Path(f"x.{format}").read_bytes() == before
        for name in set(os.listdir()) - {f"x.{format}"}:
            left += 1
            os.utime(name, (1, 1))
    assert left == len(moments)
    save_checkpoint({"w": np.zeros(3)}, "y", format=format)
    assert sorted(os.listdir()) == [f"x.{format}", f"y.{format}"]


# --- large ------------------------------------------------------------------------------------------------------


def test_values_beyond_a_chunk_are_cut_and_joined():
    entries = entries_of({"w": np.arange(15, dtype=np.float32).reshape(3, 5)})
    for by_rows in (False, True):
        with files.atomic_write(Path("x.ckpt")) as draft:
            ckpt.write(draft, entries, by_rows, chunk=8)
        assert len(list(wire.scan(Path("x.ckpt").read_bytes()))) == 8
        assert load_checkpoint("x.ckpt")["w"].asnumpy().tolist() == np.arange(15).reshape(3, 5).tolist()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_more_than_two_gigabytes_with_no_setting():
    import torch

    room = torch.zeros(560 << 20, dtype=torch.int32)  # 2.2 GB, most of it never touched
    room[0], room[-1] = 1, 2
    save_checkpoint([{"name": "big", "data": ms.tensor.storage.wrap(room)}], "big.ckpt")
    assert os.path.getsize("big.ckpt") > 2 << 30
    del room
    found = load_checkpoint("big.ckpt")["big"]._torch
    assert (int(found[0]), int(found[-1]), found.numel()) == (1, 2, 560 << 20)
