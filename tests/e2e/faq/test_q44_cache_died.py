"""Q44: the cache server died. The next start, or --stop, cleans what it left; a live one is never touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millrace._src.data.cache import server_admin as admin
from tests.support.cache_server import CacheHome
from tests.support.leaks import mapped
from tests.support.processes import has_ended, kill, wait_for_end

# Keeps rows of 1 MB in memory (or on disk), says so, and goes on reading until it is told to end.
CLIENT = """
import sys
import time
import numpy as np
import millrace.dataset as ds

session, size = int(sys.argv[1]), int(sys.argv[2])

def work(x):
    a = np.full((1 << 17,), x, np.float64)
    for _ in range(30):
        a = np.sqrt(a * a)
    return a

cache = ds.DatasetCache(session, size=size, spilling=size > 0)
data = ds.GeneratorDataset(list(range(12)), "x", shuffle=False).map(work, cache=cache)

iterator = data.create_dict_iterator(num_epochs=100, output_numpy=True)

def epoch():
    rows = [row["x"] for row in iterator]
    assert [row[0] for row in rows] == list(range(12)) and all((row == row[0]).all() for row in rows)

epoch()
stat = cache.get_stat()
print(stat.num_mem_cached, stat.num_disk_cached, flush=True)
for line in sys.stdin:
    epoch()
    print("the same", flush=True)
"""


class Client:
    """A training process beside the test."""

    def __init__(self, home: CacheHome, session: int, size: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", CLIENT, str(session), str(size)],
            env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.kept = [int(word) for word in self.process.stdout.readline().split()]

    def again(self) -> str:
        """One more epoch."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def held(home: CacheHome, process: int) -> list[str]:
    """Names on disk and in shared memory that a process made: its files have none."""
    shared = {name for name in mapped([process]) if "millrace" in name}
    links = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            links.append(os.readlink(link))
        except OSError:
            continue
    return [name for name in links if "millrace-cache" in name and "deleted" not in name] + sorted(shared)


def test_a_client_and_its_server(home: CacheHome) -> None:
    """Nothing that rows lie in has a name that could stay."""
    server = home.start()
    with Client(home, home.session()) as client:
        assert client.kept == [12, 0]
        assert held(home, server) == []
    assert home.files() == ["cache-50052.json", "cache-50052.lock", "cache-50052.log", "cache-50052.sock"]
    assert home.run("dataset-cache", "--stop").returncode == 0
    wait_for_end(server)
    assert home.files() == []


@pytest.mark.parametrize("size", [0, 4])
def test_the_next_start_cleans_up(size: int, home: CacheHome, tmp_path: Path) -> None:
    """Killed while it held rows in memory, and on disk; the client goes on without it."""
    spill = tmp_path / "spill"
    spill.mkdir()
    server = home.start("-s", str(spill))
    with Client(home, home.session(), size) as client:
        assert sum(client.kept) == 12
        assert bool(client.kept[1]) == bool(size)
        kill(server)
        assert client.again() == "the same\n"
    assert list(spill.iterdir()) == []  # files there had no name
    assert "cache-50052.sock" in home.files()
    assert home.run("dataset-cache", "-g").returncode == 1
    again = home.start("-s", str(spill))
    assert again != server
    assert home.run("dataset-cache", "--list_sessions").stdout.endswith("\nNo active sessions.\n")
    with Client(home, home.session(), size) as client:
        assert client.again() == "the same\n"
    assert home.run("dataset-cache", "--stop").returncode == 0
    assert home.files() == []


def test_stop_cleans_up_too(home: CacheHome) -> None:
    kill(home.start())
    assert home.files() != []
    doctor = home.run("millrace", "doctor").stdout
    assert "shared cache: a server that died left " in doctor
    assert "remedy: millrace cache stop --port 50052" in doctor
    stopped = home.run("dataset-cache", "--stop")
    assert (stopped.returncode, home.files()) == (1, [])
    assert stopped.stderr == "Server on port 50052 is not reachable or has been shutdown already.\n"


def test_millrace_says_what_it_removed(home: CacheHome) -> None:
    kill(home.start())
    said = home.run("millrace", "cache", "stop")
    assert said.returncode == 0
    assert said.stdout.startswith("no server was running at port 50052\nremoved leftover files: ")
    assert home.files() == []


def test_a_stop_while_clients_read(home: CacheHome) -> None:
    """They go on, and make their rows themselves."""
    server = home.start()
    with Client(home, home.session()) as client:
        assert home.run("dataset-cache", "--stop").returncode == 0
        wait_for_end(server)
        assert client.again() == "the same\n"
    assert home.files() == []


def test_a_client_that_dies_gives_back_what_it_held(home: CacheHome) -> None:
    home.start()
    session = home.session()
    with Client(home, session) as client:
        assert client.kept == [12, 0]
        kill(client.process.pid)
    while admin.info().clients:  # the server notices by itself
        time.sleep(0.01)
    with Client(home, session) as client:  # its rows are there for the next
        assert client.kept == [12, 0]
        assert client.again() == "the same\n"


def test_two_servers_do_not_touch_each_other(home: CacheHome) -> None:
    one, two = home.start("-p", "50061"), home.start("-p", "50062")
    sessions = home.session(50061), home.session(50062)
    kill(one)
    refused = home.run("dataset-cache", "--start", "-p", "50062")  # it lives, and is left alone
    assert refused.returncode == 1
    assert home.run("dataset-cache", "--stop", "-p", "50061").returncode == 1
    again = home.start("-p", "50061")
    assert home.run("dataset-cache", "--stop", "-p", "50061").returncode == 0
    wait_for_end(again)
    assert not has_ended(two)
    listed = home.run("dataset-cache", "--list_sessions", "-p", "50062").stdout
    assert str(sessions[1]) in listed
    assert home.run("dataset-cache", "--stop", "-p", "50062").returncode == 0
    assert home.files() == []


def test_what_is_not_a_servers_is_left_alone(home: CacheHome) -> None:
    """A plain file where the socket should be, of which MindSpore makes a server that nobody can reach."""
    folder = home.folder / "millrace"
    folder.mkdir(mode=0o700)
    (folder / "notes.txt").write_text("mine")
    (folder / "cache-50052.sock").write_text("left by something")
    home.start()
    home.session()
    assert home.run("dataset-cache", "--stop").returncode == 0
    assert home.files() == ["notes.txt"]


def test_many_starts_and_stops_leave_nothing(home: CacheHome) -> None:
    servers = []
    for _ in range(3):
        servers.append(home.start())
        assert home.run("dataset-cache", "--stop").returncode == 0
        assert home.files() == []
    for server in servers:
        wait_for_end(server)
