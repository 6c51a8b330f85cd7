"""Scratch folders: in use while their owner lives, abandoned after."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from millrace._src.core.io.temporary_directory import LockedTemporaryDirectory, is_stale, owner_of

KEEPER = """
import sys
from millrace._src.core.io.temporary_directory import LockedTemporaryDirectory
kept = LockedTemporaryDirectory("example", sys.argv[1])
print(kept.path, flush=True)
sys.stdin.readline()
"""


def keeper(folder):
    return subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_killed_owner_leaves_an_abandoned_folder(tmp_path):
    with keeper(tmp_path) as process:
        path = Path(process.stdout.readline().strip())
        assert owner_of(path.name) == process.pid
        assert not is_stale(path)
        # to another container the number of the process says nothing, and the lock still does
        assert not is_stale(path, proc=tmp_path / "no proc")
        process.send_signal(signal.SIGKILL)
    assert path.is_dir()
    assert is_stale(path)


def test_an_owner_that_ends_leaves_nothing(tmp_path):
    with keeper(tmp_path) as process:
        path = Path(process.stdout.readline().strip())
    assert process.returncode == 0
    assert not path.exists()


def test_a_number_that_was_given_again_is_not_the_owner(tmp_path):
    old = tmp_path / f"millrace-example-{os.getpid()}-abcdefgh"
    old.mkdir()
    os.utime(old, (1, 1))  # long before this process began
    assert is_stale(old)
    os.utime(old)
    assert not is_stale(old)


def test_sockets_go_by_the_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket may have 107 bytes, and TMPDIR may have them all
    name = "millrace-socket-999999999-abcdefgh"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(name)
        assert is_stale(tmp_path / name)


def test_other_names_are_nobody_s(tmp_path):
    for name in (
        "millrace",
        "millrace-spill",
        "millrace-bench-0-2",
        "millrace-results-999999999-abcdefgh",
        "millrace-spill-999999999-abc",
        "millrace-spill-999999999-abcdefghi",
        "millrace-spill-0-abcdefgh",
        "other-spill-999999999-abcdefgh",
    ):
        (tmp_path / name).mkdir()
        assert owner_of(name) is None
        assert not is_stale(tmp_path / name)


def test_a_forked_child_does_not_remove_it(tmp_path):
    with LockedTemporaryDirectory("example", str(tmp_path)) as folder:
        pid = os.fork()
        if pid == 0:
            import gc

            gc.collect()
            os._exit(0)
        os.waitpid(pid, 0)
        assert folder.is_dir()
    assert not folder.exists()
