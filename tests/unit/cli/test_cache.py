"""``millrace cache`` and its two older names: every answer, on standard output, standard error and in JSON."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess

import numpy as np
import pytest

import millrace.dataset as ds
from millrace import __version__
from millrace._src.cli import cache_admin
from millrace._src.cli.doctor.finding import size
from millrace._src.cli.main import main
from millrace._src.core.errors import CacheError
from millrace._src.data.cache import server_admin as admin
from tests.support.cache_server import BIN, CacheHome
from tests.support.processes import has_ended, kill, wait_for_end


@pytest.fixture
def said(capsys):
    """Run a command in this process: (exit status, standard output, standard error)."""

    def run(*words):
        try:
            status = main(["cache", *words])
        except SystemExit as ended:
            status = int(ended.code or 0)
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def asked(said):
    """The same in JSON."""
    return lambda *words: (lambda found: (found[0], json.loads(found[1])))(said(*words, "--json"))


def keep_rows(session: int, **options) -> None:
    """Two epochs of eight rows that take long enough to be worth keeping."""

    def work(x):
        return np.full((100,), sum(range(200_000)) * 0 + x)

    data = ds.NumpySlicesDataset({"x": np.arange(8)}, shuffle=False)
    data = data.map(work, "x", cache=ds.DatasetCache(session, **options))
    for _ in range(2):
        assert len(list(data)) == 8


# --- a life -----------------------------------------------------------------------------------------------


def test_start_and_stop(said, home: CacheHome):
    status, out, err = said("start")
    assert (status, err) == (0, "")
    process, limit, log = out.splitlines()
    assert re.fullmatch(r"the cache server runs as process \d+, port 50052", process)
    assert re.fullmatch(r"rows use at most [\d.]+ GB of memory, the rest goes to \S+", limit)
    assert log == f"log: {home.folder}/millrace/cache-50052.log"
    assert said("start") == (2, "", "millrace cache start: a cache server is running at port 50052 already\n")
    assert said("stop") == (0, "the cache server at port 50052 has stopped\n", "")
    wait_for_end(int(process.split()[6].rstrip(",")))
    assert said("stop") == (0, "no server was running at port 50052\n", "")
    assert home.files() == []


def test_in_json(asked, home: CacheHome):
    status, started = asked("start", "--spill", str(home.folder), "--memory", "0.25")
    assert status == 0
    assert started["ok"] is True
    assert started["spill"] == str(home.folder)
    assert asked("start") == (
        2, {"ok": False, "error": "a cache server is running at port 50052 already"}
    )  # fmt: skip
    status, found = asked("status")
    assert (status, found["pid"], found["version"]) == (0, started["pid"], __version__)
    session = admin.generate()
    keep_rows(session)
    _, listed = asked("sessions")
    [one] = listed["sessions"]
    [cache] = one["caches"]
    assert one["session"] == session
    assert (cache["rows_in_memory"], cache["rows_on_disk"], cache["hits"]) == (8, 0, 8)
    assert cache["average_bytes"] == cache["memory_bytes"] // 8 >= 800
    assert asked("stop") == (0, {"ok": True, "running": True, "removed": []})
    assert asked("status")[1]["ok"] is False


def test_status(said, home: CacheHome):
    process = home.start()
    status, out, err = said("status")
    assert (status, err) == (0, "")
    first, *lines = out.splitlines()
    assert re.fullmatch(rf"process   {process}, version {re.escape(__version__)}, up for \d+ seconds?", first)
    assert lines == [
        "port      50052 on 127.0.0.1",
        f"memory    0 bytes of {size(admin.info().memory_limit)}",
        f"disk      0 bytes in {admin.info().spill}",
        "sessions  0",
        "clients   0",
        f"log       {home.folder}/millrace/cache-50052.log",
    ]


def test_sessions(said, home: CacheHome):
    home.start()
    assert said("sessions") == (0, "no sessions. Create one with: millrace cache new\n", "")
    status, made, _ = said("new")
    assert status == 0
    full, empty = int(made), int(said("new")[1])
    keep_rows(full)
    status, out, _ = said("sessions")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert lines[0] == ["session", "key", "rows", "memory", "spilled", "disk", "reads", "clients"]
    row = next(line for line in lines if line[0] == str(full))
    assert row[2] == "8"
    assert row[-2] == "8"
    assert [str(empty), "empty"] in lines
    assert max(map(len, out.splitlines())) <= 80
    assert said("drop", str(full), str(empty)) == (
        0, f"removed session {full}\nremoved session {empty}\n", ""
    )  # fmt: skip
    status, out, err = said("drop", str(full))
    assert (status, out) == (2, "")
    assert err.startswith(f"millrace cache drop: there is no session {full}")


@pytest.mark.parametrize(("action", "status"), [("status", 1), ("sessions", 1), ("new", 2), ("drop 5", 2)])
def test_without_a_server(said, home: CacheHome, action, status):
    name = action.split()[0]
    way = "Start one with: millrace cache start"
    assert said(*action.split()) == (
        status, "", f"millrace cache {name}: no server is running at port 50052. {way}\n"
    )  # fmt: skip
    assert said(*action.split(), "--port", "50060")[2].endswith(f"{way} --port 50060\n")


def test_the_port_of_the_environment(said, home: CacheHome, monkeypatch):
    home.start("-p", "50060")
    monkeypatch.setenv("MS_CACHE_PORT", "50060")
    assert said("status")[1].splitlines()[1] == "port      50060 on 127.0.0.1"
    assert said("status", "--port", "50061")[0] == 1
    monkeypatch.setenv("MS_CACHE_PORT", "what")
    assert said("status") == (
        2, "", "millrace cache status: MS_CACHE_PORT: what is not a number from 1025 to 65535\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("start --port 80", "argument --port: 80 is not a number from 1025 to 65535"),
        ("start --memory 2", "argument --memory: 2 is not a number above 0 and up to 1"),
        ("strt", "there is no action 'strt'; did you mean 'start'?"),
        ("drop", "the following arguments are required: SESSION"),
        ("start --spil x", "unknown option --spil; did you mean '--spill'?"),
    ],
)
def test_wrong_words(said, words, told):
    status, out, err = said(*words.split())
    assert (status, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_what_a_start_cannot_do(said, home: CacheHome, tmp_path):
    missing = tmp_path / "missing"
    assert said("start", "--spill", str(missing)) == (
        2, "", f"millrace cache start: the folder {missing} for rows that do not fit into memory cannot be written to\n"
    )  # fmt: skip
    status, _, err = said("start", "--host", "10.1.2.3")
    assert status == 2
    assert "10.1.2.3 would open it to others" in err
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    key.chmod(0o644)
    assert said("start", "--key", str(key)) == (
        2, "", f"millrace cache start: others may read the key in {key}: chmod 600 {key}\n"
    )  # fmt: skip
    assert home.files() in ([], ["cache-50052.lock"])
    admin.stop()
    assert home.files() == []


def test_a_server_for_other_machines(said, home: CacheHome, tmp_path, monkeypatch):
    """Another address of the loopback stands for one."""
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", 0))
        port = str(probe.getsockname()[1])
    status, _, err = said("start", "--key", str(key), "--host", "127.0.0.2", "--port", port)
    assert status == 0, err
    session = int(said("new", "--port", port)[1])
    monkeypatch.setenv("MILLRACE_CACHE_KEY", str(key))
    keep_rows(session, hostname="127.0.0.2", port=int(port))
    assert said("stop", "--port", port)[0] == 0


# --- the other names --------------------------------------------------------------------------------------


def test_the_older_names_are_installed(home: CacheHome):
    for name in ("dataset-cache", "cache_admin"):
        done = home.run(name, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"usage: {name} COMMAND [OPTIONS]\n")
        assert max(map(len, done.stdout.splitlines())) <= 82
        refused = home.run(name, "--bogus")
        assert refused.stderr.endswith(f"Please try `{name} --help` for more information\n")


def test_columns_of_sessions_with_rows(home: CacheHome, capsys):
    home.start()
    session, spilled = home.session(), home.session()
    keep_rows(session)
    assert cache_admin.main(["--list_sessions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "Listing sessions for server on port 50052",
        "",
        "     Session    Cache Id  Mem cached Disk cached  Avg cache size  Numa hit",
    ]
    rows = {line.split()[0]: line for line in lines[3:]}
    assert re.fullmatch(rf"{session:>12} +\d+           8         n/a +\d+         8", rows[str(session)])
    assert (
        rows[str(spilled)] == f"{spilled:>12}         n/a         n/a         n/a             n/a       n/a"
    )
    assert {len(line) for line in lines[2:]} == {74}


def test_listing_follows_the_kinds_of_errors(home: CacheHome, monkeypatch, capsys):
    """What a server refuses for a reason that MindSpore does not know is said as it is."""

    def refuse(*_):
        raise CacheError("the server speaks version 9, this client version 1", "version")

    monkeypatch.setattr(admin, "generate", refuse)
    assert cache_admin.main(["-g"]) == 1
    assert capsys.readouterr().err == "the server speaks version 9, this client version 1\n"


def test_a_reader_that_leaves_is_not_an_error(home: CacheHome):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [BIN / "dataset-cache", "--help"], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_a_relative_spill_folder_is_that_of_the_caller(home: CacheHome, tmp_path, monkeypatch, capsys):
    (tmp_path / "spill").mkdir()
    monkeypatch.chdir(tmp_path)
    assert cache_admin.main(["--start", "-s", "spill"]) == 0
    assert admin.info().spill == str(tmp_path / "spill")


def test_another_users_folder_is_refused(home: CacheHome, capsys):
    folder = home.folder / "millrace"
    folder.mkdir()
    folder.chmod(0o755)  # others may enter it
    assert cache_admin.main(["--start"]) == 1
    assert f"{folder} is not a folder that only you may enter" in capsys.readouterr().err
    assert main(["cache", "status"]) == 2
    folder.chmod(0o700)


def test_a_dead_server_is_replaced(home: CacheHome, said):
    process = home.start()
    kill(process)
    assert said("status")[0] == 1
    assert said("start")[0] == 0
    assert has_ended(process)
    assert admin.stale() == []


def test_a_folder_with_too_long_a_name(home: CacheHome, said, monkeypatch):
    """The system allows 107 letters for a socket; what to do is said, and nothing stays."""
    long = home.folder / ("x" * 90)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    status, out, err = said("start")
    assert (status, out) == (2, "")
    assert err.startswith("millrace cache start: the cache server exited immediately: ")
    assert err.endswith("AF_UNIX path too long; use a shorter XDG_RUNTIME_DIR\n")
    assert [name for name in home.files() if not name.endswith(".log")] == [long.name]


def test_a_folder_that_cannot_be_made(home: CacheHome, said):
    (home.folder / "millrace").write_text("a file")
    status, _, err = said("start")
    assert status == 2
    assert f"{home.folder}/millrace cannot be made" in err
    (home.folder / "millrace").unlink()


def test_a_port_that_another_program_has(home: CacheHome, said, tmp_path):
    """Only a server that is open to other machines needs one of the network's."""
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    with socket.create_server(("127.0.0.2", 0)) as other:
        port = str(other.getsockname()[1])
        status, _, err = said("start", "--key", str(key), "--host", "127.0.0.2", "--port", port)
        assert status == 2
        assert f"port {port} of 127.0.0.2 cannot be opened: Address already in use" in err
        assert said("start", "--port", port)[0] == 0


def test_two_starts_at_once(home: CacheHome):
    """One of them serves, the other one says so."""
    command = [str(BIN / "dataset-cache"), "--start"]
    starts = [
        subprocess.Popen(command, env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [(start.communicate(timeout=60), start.returncode) for start in starts]
    assert sorted(status for _, status in said) == [0, 1]
    [refused] = [err for (_, err), status in said if status]
    assert refused.startswith("Duplicate key. Cache server is already up and running\n")


def test_a_server_that_hangs_up(said, home: CacheHome, monkeypatch, capsys):
    """It was there when it was called, and is not any more."""

    def gone(*_):
        raise CacheError("the cache server is gone: it was stopped, or it died", "gone")

    monkeypatch.setattr(admin, "info", gone)
    status, _, err = said("status")
    assert status == 1
    assert err.startswith("millrace cache status: the cache server is gone: it was stopped, or it died. ")
    assert err.endswith("Remove its files with: millrace cache stop\n")
    assert cache_admin.main(["--server_info"]) == 1
    assert capsys.readouterr().err.splitlines()[1] == "the cache server is gone: it was stopped, or it died"
