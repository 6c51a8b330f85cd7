"""What a run listens on, and what it makes of bytes from a socket or a file that others wrote."""

import base64
import contextlib
import datetime
import errno
import os
import pickle
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch.distributed as dist
from torch.distributed.elastic.rendezvous import RendezvousStateError
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import (
    RendezvousSettings,
    RendezvousTimeout,
    _NodeDesc,
    _RendezvousState,
)

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.parallel import launch
from millrace._src.parallel.rendezvous import StateStore, _JsonStateHolder, decode_state, encode_state
from millrace._src.runtime.distributed import addresses
from millrace._src.runtime.distributed.cluster_environment import detect_environment
from millrace._src.runtime.distributed.rendezvous_file import open_rendezvous_file
from tests.e2e.distributed.process_group_runs import rank_env
from tests.support.listening_sockets import beyond_loopback, listening, processes_with

from .test_launch import LIMIT, SCRIPT, clean_env, command

MARK = "MILLRACE_TEST_RUN"
SHORT = datetime.timedelta(seconds=5)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def started(*commands, cwd, envs):
    running = [
        subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=clean_env() | env
        )
        for line, env in zip(commands, envs, strict=True)
    ]
    try:
        yield running
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
            process.communicate()


def hold_fifos(folder):
    """The ranks of ``scripts.py "hold FOLDER"`` wait for these two."""
    for rank in range(2):
        os.mkfifo(folder / f"hold-{rank}")
    return f"hold {folder}"


def wait_until_ready(streams, count):
    for stream in streams:
        left = count // len(streams)
        for line in stream:
            left -= "is ready" in line
            if not left:
                break
        else:
            pytest.fail("a process ended before it was ready")


def let_go(folder):
    for rank in range(2):
        (folder / f"hold-{rank}").write_text("")


def test_a_run_on_one_machine_listens_on_loopback_only(tmp_path, no_leaks):
    what, mark = hold_fifos(tmp_path), uuid.uuid4().hex
    line = command("-n", "2", what=what)
    with started(line, cwd=tmp_path, envs=[{"TMPDIR": str(tmp_path), MARK: mark}]) as (launcher,):
        wait_until_ready([launcher.stdout], 2)
        pids = processes_with(MARK, mark)
        assert len(pids) >= 3
        assert sum(map(len, listening(pids).values())) >= 3  # the launcher's store, and gloo in both ranks
        outside = beyond_loopback(pids)
        let_go(tmp_path)
        assert launcher.wait(LIMIT) == 0
    assert outside == {}


RANKS = {
    "torch": lambda rank, port: {
        "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_PORT": str(port),
    },
    "a loopback address": lambda rank, port: {
        "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.2", "MASTER_PORT": str(port),
    },
    "mpirun": lambda rank, port: rank_env(rank, 2, f"job{port}"),
}  # fmt: skip


@pytest.mark.parametrize("launcher", RANKS)
def test_ranks_without_the_launcher_listen_on_loopback_only(launcher, tmp_path, no_leaks):
    what, mark, port = hold_fifos(tmp_path), uuid.uuid4().hex, free_port()
    line = [sys.executable, "-u", str(SCRIPT), what]
    envs = [
        RANKS[launcher](rank, port) | {"TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": "", MARK: mark}
        for rank in range(2)
    ]
    with started(line, line, cwd=tmp_path, envs=envs) as running:
        wait_until_ready([process.stdout for process in running], 2)
        pids = processes_with(MARK, mark)
        assert sum(map(len, listening(pids).values())) >= 2
        outside = beyond_loopback(pids)
        let_go(tmp_path)
        assert [process.wait(LIMIT) for process in running] == [0, 0]
    assert outside == {}


# Where a store listens ----------------------------------------------------------------------------------


def test_a_store_listens_on_one_address():
    store = addresses.open_store("127.0.0.2", 0, SHORT)
    assert listening([os.getpid()])[os.getpid()].count("127.0.0.2") == 1
    store.set("key", "value")
    assert addresses.connect_store("127.0.0.2", store.port, SHORT).get("key") == b"value"


@pytest.fixture
def bound(monkeypatch):
    """Which addresses were bound; nothing listens."""
    asked = []

    def bind(address, port):
        asked.append(address)
        if address:
            raise OSError(errno.EADDRNOTAVAIL, "not here")
        return "a socket"

    monkeypatch.setattr(addresses, "_create_server", bind)
    return asked


def test_an_address_of_another_machine_is_all_addresses_only_where_that_is_allowed(bound):
    assert addresses._listen("203.0.113.7", 29500, any_address=True) == "a socket"
    assert bound == ["203.0.113.7", ""]
    with pytest.raises(OperationError, match=r"203\.0\.113\.7:29500"):
        addresses._listen("203.0.113.7", 29500, any_address=False)


def test_a_name_that_is_loopback_only_here_is_not_bound_to_loopback(bound, monkeypatch):
    monkeypatch.setattr(addresses, "resolve", lambda host: ["127.0.1.1"])
    assert addresses._listen("node1", 29500, any_address=True) == "a socket"
    assert bound == [""]
    with pytest.raises(OperationError, match="no address but loopback"):
        addresses._listen("node1", 29500, any_address=False)


PUBLIC = {
    "--hosts": {"hosts": ("8.8.8.8", "10.0.0.2"), "node": 1},
    "--hosts, IPv6": {"hosts": ("fd00::1", "2a00::1"), "node": 1, "master": "10.0.0.1:29400"},
    "--master": {"hosts": ("10.0.0.1", "10.0.0.2"), "node": 0, "master": "8.8.8.8:29400"},
    "--rdzv": {"rdzv": "8.8.8.8:29400"},
}


@pytest.mark.parametrize("options", PUBLIC.values(), ids=PUBLIC)
def test_public_addresses_are_refused(options, tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "route_to", lambda host, port: "10.0.0.2")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    wanted = launch.LaunchRequest(["x.py"], 1, **options)
    with pytest.raises(
        ArgumentValueError, match=r"expected addresses of a private network, got .*--insecure"
    ):
        launch._build_config(wanted, 1, tmp_path)
    wanted.insecure = True
    assert launch._build_config(wanted, 1, tmp_path).max_nodes >= 1


def test_the_command_refuses_public_addresses(tmp_path):
    line = command("-n", "1", "--hosts", "8.8.8.8,9.9.9.9", "--node", "0", what="go on")
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=clean_env(), timeout=LIMIT)
    assert done.returncode == 2
    assert "expected addresses of a private network, got 8.8.8.8" in done.stderr


def test_a_name_that_is_loopback_only_here_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(addresses, "resolve", lambda host: ["127.0.1.1"])
    monkeypatch.setattr(launch, "resolve", lambda host: ["127.0.1.1"])
    wanted = launch.LaunchRequest(["x.py"], 1, rdzv="node1:29400")
    with pytest.raises(ArgumentValueError, match=r"got node1, which is 127\.0\.1\.1 here"):
        launch._build_config(wanted, 1, tmp_path)
    wanted.insecure = True
    assert launch._build_config(wanted, 1, tmp_path).rdzv_configs["any_address"] is True


# What comes over a socket -------------------------------------------------------------------------------


class Payload:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_launcher_unpickles_nothing_that_comes_over_a_socket(tmp_path, no_leaks):
    """It waits for a second machine; instead somebody writes a pickle into every key of its store."""
    port, proof = free_port(), tmp_path / "proof"
    code = pickle.dumps(Payload(proof))
    line = command("-n", "1", "--rdzv", f"127.0.0.1:{port}", "--nodes", "2:2", "--job", "job", what="go on")
    with started(line, cwd=tmp_path, envs=[{"TMPDIR": str(tmp_path)}]) as (launcher,):
        store = addresses.connect_store("127.0.0.1", port, datetime.timedelta(seconds=LIMIT))
        keys = ["torch.rendezvous.job", "millrace/rendezvous/job"]
        until = time.monotonic() + LIMIT
        while launcher.poll() is None and time.monotonic() < until:
            try:
                for key in keys:
                    store.set(key, base64.b64encode(code))
                store.wait(["never"], datetime.timedelta(milliseconds=200))
            except RuntimeError:
                continue  # it has ended, or the 200 ms are over
        said = launcher.communicate(timeout=LIMIT)[0]
    assert not proof.exists()
    assert launcher.returncode == 1
    assert (
        "the rendezvous of the machines failed: the store of the rendezvous: expected the state of this run"
        in said
    )


def test_a_state_is_the_same_after_a_round_trip():
    state, now = _RendezvousState(), datetime.datetime.now(datetime.UTC)
    first, second = _NodeDesc("node1", 7, 0), _NodeDesc("node2", 8, 1)
    state.round, state.complete, state.deadline = 3, True, now
    state.participants, state.wait_list = {first: 0}, {second}
    state.redundancy_list, state.last_heartbeats = {second}, {first: now, second: now}
    assert vars(decode_state(encode_state(state))) == vars(state)


GOOD = encode_state(_RendezvousState())
BAD_STATES = {
    "empty": "",
    "no JSON": "gASV",
    "a list": "[]",
    "no field": "{}",
    "one more field": GOOD.replace("{", '{"code":1,', 1),
    "a number as text": GOOD.replace('"round":0', '"round":"0"'),
    "a negative number": GOOD.replace('"round":0', '"round":-1'),
    "a huge number": GOOD.replace('"round":0', '"round":1' + "0" * 5000),
    "no machine": GOOD.replace('"wait_list":[]', '"wait_list":[["a",1]]'),
    "a machine without a name": GOOD.replace('"wait_list":[]', '"wait_list":[[[],1,1]]'),
    "too many machines": GOOD.replace('"wait_list":[]', '"wait_list":[' + '["a",1,1],' * 4096 + '["a",1,1]]'),
    "no time": GOOD.replace('"deadline":null', '"deadline":"soon"'),
    "a time without a zone": GOOD.replace('"deadline":null', '"deadline":"2026-01-01T00:00:00"'),
    "nested": "[" * 100_000,
    "long": GOOD + " " * (1 << 20),
}


@pytest.mark.parametrize("text", BAD_STATES.values(), ids=BAD_STATES)
def test_a_state_that_is_none_is_refused(text):
    with pytest.raises(RendezvousStateError, match="expected the state of this run"):
        decode_state(text)


def test_two_launchers_write_one_state():
    store, settings = dist.HashStore(), RendezvousSettings("job", 1, 2, RendezvousTimeout(), SHORT, 3)
    first, second = (_JsonStateHolder(StateStore(store, "job"), settings) for _ in range(2))
    first.state.round = 1
    first.mark_dirty()
    assert first.sync() is True
    second.state.round = 2
    second.mark_dirty()
    assert second.sync() is False  # it had not seen the first, which it has now
    assert second.state.round == 1
    second.state.round = 2
    second.mark_dirty()
    assert second.sync() is True
    assert first.sync() is None  # it has just looked
    first._last_sync_time = -1
    first.sync()
    assert first.state.round == 2


# The rendezvous file -----------------------------------------------------------------------------------


@pytest.fixture
def private(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


def test_ranks_meet_at_a_file(private):
    path = str(private / "meet")
    first, second = open_rendezvous_file(path, 0, 2, SHORT), open_rendezvous_file(path, 1, 2, SHORT)
    first.set("key", "value")
    assert second.get("key") == b"value"
    assert os.stat(path).st_mode & 0o777 == 0o600


def plant_link(path):
    path.with_name("other").write_text("")
    path.symlink_to(path.with_name("other"))


def plant_readable(path):
    path.write_bytes(b"")
    path.chmod(0o644)


def plant(data):
    def write(path):
        path.write_bytes(data)
        path.chmod(0o600)

    return write


def plant_killed_run(path):
    store = dist.FileStore(str(path), 4)  # of four, so that the file stays
    store.add("millrace/joined/0", 1)
    path.chmod(0o600)


PLANTED = {
    "garbage": (plant(b"\xff" * 100), "something else from byte 0 on"),
    "text": (plant(b"hello, world\n" * 10), "something else from byte 0 on"),
    "a cut length": (plant(b"\1\0\0\0a\1\0"), "something else from byte 5 on"),
    "a key alone": (plant(b"\1\0\0\0a"), "a key without a value"),
    "a symbolic link": (plant_link, "a symbolic link"),
    "a dangling link": (lambda path: path.symlink_to(path.with_name("none")), "a symbolic link"),
    "a FIFO": (os.mkfifo, "something else"),
    "a folder": (os.mkdir, "Is a directory"),
    "readable by others": (plant_readable, "mode 644"),
    "a killed run": (plant_killed_run, "one where it has joined"),
}


@pytest.mark.parametrize(("write", "words"), PLANTED.values(), ids=PLANTED)
def test_what_is_no_meeting_file_is_refused(write, words, private):
    path = private / "meet"
    write(path)
    with pytest.raises(OperationError, match=words):
        open_rendezvous_file(str(path), 0, 4, SHORT)
    assert not (private / "none").exists()


def test_a_folder_that_others_may_enter_is_refused(private):
    private.chmod(0o755)
    with pytest.raises(OperationError, match="got mode 755"):
        open_rendezvous_file(str(private / "meet"), 0, 2, SHORT)
    (private.parent / "link").symlink_to(private)
    private.chmod(0o700)
    with pytest.raises(OperationError, match="a folder that only you may enter"):
        open_rendezvous_file(str(private.parent / "link" / "meet"), 0, 2, SHORT)


def test_garbage_at_the_meeting_place_ends_init(tmp_path):
    """Where this version looks, and where earlier ones did: init() ends, with an error of ours."""
    folder = tmp_path / f"millrace-{os.getuid()}"
    folder.mkdir(mode=0o700)
    for path in (folder / "meet-job.1", tmp_path / f"millrace-meet-{os.getuid()}-job"):
        plant(b"\xff" * 100)(path)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "go on"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=tmp_path,
        env=rank_env(0, 2, "job") | {"TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": ""},
    )
    assert done.returncode == 1
    assert "OperationError: For 'init', the rendezvous file" in done.stderr


def test_the_meeting_file_is_in_a_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    job = "../../" + "x" * 500
    env = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": job}
    place = detect_environment(env | {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"})
    assert Path(place.file).parent == tmp_path / "millrace"
    assert (tmp_path / "millrace").stat().st_mode & 0o777 == 0o700


def test_ranks_of_another_launcher_do_not_meet_at_the_file_of_the_outer_run():
    env = {
        "RANK": "0",
        "WORLD_SIZE": "2",
        "MILLRACE_MEETING": "outer:/folder",
        "TORCHELASTIC_RESTART_COUNT": "1",
    }
    assert detect_environment(env | {"TORCHELASTIC_RUN_ID": "outer"}).file == "/folder/meet-1"
    assert detect_environment(env | {"TORCHELASTIC_RUN_ID": "inner"}).file == ""
    assert detect_environment(env).file == ""
