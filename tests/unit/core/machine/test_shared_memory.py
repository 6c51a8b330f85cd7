"""Slabs: unnamed, of fixed size, without a descriptor per mapping, with a stand-in where memfd is refused."""

import errno
import gc
import os
from types import SimpleNamespace

import numpy as np
import pytest

from millrace._src.core.errors import ResourceError
from millrace._src.core.machine import shared_memory as slab


@pytest.fixture
def no_memfd(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "not here")

    monkeypatch.setattr(os, "memfd_create", refuse)


def test_two_mappings_show_the_same_bytes(no_leaks):
    fd = slab.create(1 << 16)
    one, two = slab.map_fd(fd, 1 << 16), slab.map_fd(fd, 1 << 16)
    os.close(fd)
    one[5] = 77
    assert two[5] == 77


def test_size_is_sealed():
    fd = slab.create(1 << 16)
    for size in (0, 1 << 20):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    os.close(fd)


def test_private_mapping_keeps_its_writes():
    fd = slab.create(4096)
    mine, other = slab.map_fd(fd, 4096, private=True), slab.map_fd(fd, 4096)
    mine[0] = 1
    assert other[0] == 0
    os.close(fd)


def test_more_than_the_file_holds_is_refused():
    fd = slab.create(4096)
    with pytest.raises(ResourceError, match="expected 8192 bytes, got 4096"):
        slab.map_fd(fd, 8192)
    os.close(fd)


def test_mappings_hold_no_descriptor():
    before = len(os.listdir("/proc/self/fd"))
    held = []
    for _ in range(50):
        fd = slab.create(4096)
        held.append(slab.map_fd(fd, 4096))
        os.close(fd)
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_goes_with_the_last_view():
    def mapped():
        with open("/proc/self/maps") as file:
            return sum("millrace-probe" in line for line in file)

    fd = slab.create(4096, "millrace-probe")
    whole = slab.map_fd(fd, 4096)
    os.close(fd)
    row = np.ndarray((4,), np.float32, buffer=whole, offset=64)[1:3]
    del whole
    gc.collect()
    assert mapped() == 1
    row[:] = 3
    del row
    gc.collect()
    assert mapped() == 0


@pytest.mark.usefixtures("no_memfd")
def test_unlinked_file_stands_in(tmp_path, monkeypatch, no_leaks):
    monkeypatch.setattr(slab, "fallback_folders", lambda: [str(tmp_path)])
    fd = slab.create(1 << 16)
    view = slab.map_fd(fd, 1 << 16)
    view[-1] = 9
    assert list(tmp_path.iterdir()) == []
    assert os.fstat(fd).st_nlink == 0
    assert os.pread(fd, 1, (1 << 16) - 1) == b"\t"
    os.close(fd)


@pytest.mark.usefixtures("no_memfd")
def test_full_shm_falls_through_to_the_next_folder(tmp_path, monkeypatch):
    full = tmp_path / "shm"
    full.mkdir()
    real = os.statvfs

    def statvfs(path):
        return SimpleNamespace(f_bavail=1, f_frsize=4096) if path == str(full) else real(path)

    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(slab, "fallback_folders", lambda: [str(full), str(tmp_path)])
    os.close(slab.create(1 << 20))

    monkeypatch.setattr(slab, "fallback_folders", lambda: [str(full)])
    with pytest.raises(ResourceError, match=r"cannot allocate 1048576 bytes.*has 4096"):
        slab.create(1 << 20)


@pytest.mark.usefixtures("no_memfd")
def test_space_that_vanishes_after_the_check_is_an_error_not_a_crash(tmp_path, monkeypatch, no_leaks):
    def no_room(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_room)
    monkeypatch.setattr(slab, "fallback_folders", lambda: [str(tmp_path)])
    with pytest.raises(ResourceError, match="cannot allocate 65536 bytes"):
        slab.create(1 << 16)


def test_no_descriptors_left_gives_the_limit(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", refuse)
    with pytest.raises(ResourceError, match=r"ulimit -n\) is \d+"):
        slab.create(4096)
