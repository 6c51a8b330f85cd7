"""Leftovers: only those of dead processes of this user, never a living one's."""

import fcntl
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millrace._src.cli.doctor import stale_files as leftovers
from millrace._src.cli.doctor.finding import Machine
from millrace._src.cli.main import main

DEAD, ME = 999_999_999, os.getuid()


@pytest.fixture
def machine(tmp_path):
    for name in ("temp", "dev/shm", "data", "cache/millrace/offsets"):
        (tmp_path / name).mkdir(parents=True)
    return Machine(
        root=tmp_path,
        environ={"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_RUNTIME_DIR": str(tmp_path / "run")},
        temp=tmp_path / "temp",
        folders=(tmp_path / "data",),
    )


def old(path, age=1000.0):
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def draft(folder, name, token=None):
    path = folder / f".{name}.{token or secrets.token_hex(8)}.tmp"
    path.write_bytes(b"x" * 100)
    return old(path)


def found(machine):
    return {one.path.name for one in leftovers.find(machine)}


def test_scratch_of_the_dead_is_found_everywhere(machine, tmp_path):
    names = set()
    for number, place in enumerate(("temp", "dev/shm", "cache/millrace/offsets")):
        folder = tmp_path / place / f"millrace-spill-{DEAD}-abcdefg{number}"
        folder.mkdir()
        (folder / "part").write_bytes(b"x" * 1000)
        names.add(folder.name)
    mine = tmp_path / "temp" / f"millrace-spill-{os.getpid()}-abcdefgh"
    mine.mkdir()
    for name in ("stat", f"{os.getpid()}/stat"):
        (tmp_path / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc" / name).write_text(Path("/proc", name).read_text())
    (tmp_path / "temp" / "millrace-notes").mkdir()
    assert found(machine) == names
    assert sum(one.bytes for one in leftovers.find(machine)) == 3000
    finding = next(iter(leftovers.leftovers(machine)))
    assert finding.level == "note"
    assert finding.summary.startswith("3 with 3 kB: ")
    assert finding.remedy == f"millrace doctor --clean {tmp_path / 'data'}"


def test_links_and_strangers_are_left_alone(machine, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "temp" / f"millrace-spill-{DEAD}-linklink").symlink_to(precious)
    (tmp_path / "temp" / f"millrace-spill-{DEAD}-hishishi").mkdir()
    stranger = Machine(root=tmp_path, environ={}, temp=tmp_path / "temp", folders=(), uid=ME + 1)
    assert found(machine) == {f"millrace-spill-{DEAD}-hishishi"}
    assert found(stranger) == set()
    link = leftovers.StaleFile(tmp_path / "temp" / f"millrace-spill-{DEAD}-linklink", 0)
    assert not leftovers.remove(link, machine)
    assert precious.is_dir()


def test_drafts_of_the_dead(machine, tmp_path):
    path = draft(tmp_path / "data", "x.mindrecord")
    assert found(machine) == {path.name}
    (one,) = leftovers.find(machine)
    assert leftovers.remove(one, machine)
    assert not path.exists()


def test_a_fresh_draft_is_left(machine, tmp_path):
    os.utime(draft(tmp_path / "data", "x.mindrecord"))
    assert found(machine) == set()


def test_a_locked_draft_is_left_and_so_is_its_index(machine, tmp_path):
    token = secrets.token_hex(8)
    data = draft(tmp_path / "data", "x.mindrecord", token)
    draft(tmp_path / "data", "x.mindrecord.db", token)
    with data.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert found(machine) == set()
    assert len(found(machine)) == 2


def test_an_open_draft_is_left(tmp_path):
    """As the TFRecord writer has it: open, not locked. Seen through the real /proc."""
    machine = Machine(environ={}, temp=tmp_path / "none", folders=(tmp_path,))
    path = draft(tmp_path, "x.tfrecord")
    with path.open("ab"):
        assert path.name not in found(machine)
    assert path.name in found(machine)


def test_what_comes_alive_is_not_removed(machine, tmp_path):
    path = draft(tmp_path / "data", "x.mindrecord")
    (one,) = leftovers.find(machine)
    os.utime(path)
    assert not leftovers.remove(one, machine)
    assert path.exists()


def test_an_unfinished_commit_is_told_not_removed(machine, tmp_path):
    path = tmp_path / "data" / ".x.mindrecord0.commit"
    path.write_text("{}")
    old(path)
    told = list(leftovers.leftovers(machine))[-1]
    assert told.remedy == f"millrace record verify {tmp_path / 'data' / 'x.mindrecord0'}"
    assert found(machine) == set()


def test_lost_workers(machine, tmp_path):
    def process(pid, name, parent, uid=ME, state="S (sleeping)"):
        status = tmp_path / "proc" / str(pid) / "status"
        status.parent.mkdir(parents=True)
        status.write_text(f"Name:\t{name}\nState:\t{state}\nPPid:\t{parent}\nUid:\t{uid}\t{uid}\n")

    process(11, "millrace-map-0", 1)
    process(12, "millrace-map-1", 10)
    process(13, "python", 1)
    process(14, "millrace-map-2", 1, uid=ME + 1)
    process(15, "millrace-map-3", 1, state="Z (zombie)")
    assert list(leftovers.leftovers(machine))[-1].remedy == "kill -9 11"


WRITER = """
import sys, numpy as np
from millrace.mindrecord import FileWriter
writer = FileWriter(sys.argv[1])
writer.add_schema({"n": {"type": "int32"}})
writer.write_raw_data([{"n": 1}])
print("written", flush=True)
sys.stdin.readline()
"""


def test_a_killed_writer_of_records(tmp_path_factory, tmp_path, capsys, monkeypatch):
    """The real thing: the files of a writer stay while it lives, and go once it was killed."""
    monkeypatch.chdir(tmp_path)
    # nothing of this machine is cleaned by a test
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    real = Machine
    monkeypatch.setattr(
        "millrace._src.cli.doctor.Machine",
        lambda folders: real(
            root=elsewhere, environ={"HOME": str(elsewhere)}, temp=elsewhere, folders=folders
        ),
    )
    (elsewhere / "proc").symlink_to("/proc")
    # its data is on disk for a minute or so, as far as the check can tell
    monkeypatch.setattr(leftovers, "QUIET_SECONDS", 0)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "x.mindrecord")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout.readline()
        (left,) = Path(tmp_path).iterdir()
        main(["doctor", "--clean"])
        assert left.exists()
        writer.send_signal(signal.SIGKILL)
    main(["doctor", "--clean"])
    assert f"removed {left.name}" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
