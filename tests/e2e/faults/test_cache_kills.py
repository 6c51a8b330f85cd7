"""Whoever dies, and whatever is full: the rows are right, the others go on, and the next start finds a clean place."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import WorkerDiedError
from millrace._src.data.cache import server_admin as admin
from millrace._src.data.cache.in_process_server import stop_in_process_server
from millrace._src.data.cache.server_paths import find_stale_files
from tests.support.leaks import _family
from tests.unit.data.cache.server_fixture import PATIENCE, Served, runtime_folder, serving, until

from .cache_rows import SIZE, pipeline, wrong_rows

ROWS = 120


@pytest.fixture
def server(no_leaks: None) -> Iterator[Served]:
    with serving() as found:
        yield found


def client(
    server: Served, session: int, rows: int = ROWS, epochs: int = 2, workers: int = 1, *more: str
) -> Any:
    arguments = map(str, (server.port, session, rows, epochs, workers, *more))
    command = [sys.executable, "-m", "tests.e2e.faults.cache_rows", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(process: Any, words: str) -> None:
    """Wait until a client has come so far."""
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(process.communicate()[1])


def finished(process: Any) -> str:
    """A client that comes to its end, with every row right; what it warned of."""
    out, err = process.communicate(timeout=4 * PATIENCE)
    assert process.returncode == 0, out + err
    return str(err)


def starts_clean(server: Served) -> None:
    """What a dead server left is gone with the next start, and after its stop nothing is there at all."""
    server.start()
    assert wrong_rows(pipeline(server.cache(), 20), 20) == 0
    server.stop()
    assert server.left() == []
    assert find_stale_files() == []


# a server that dies ------------------------------------------------------------------------------------


def test_killed_while_idle(server: Served) -> None:
    session = server.session()
    assert wrong_rows(pipeline(server.cache(session), ROWS), ROWS) == 0
    server.kill()
    assert [part.suffix for part in find_stale_files()] == [".sock", ".json", ".lock"]
    with pytest.raises(RuntimeError, match="dataset-cache --start"):
        wrong_rows(pipeline(server.cache(session), ROWS), ROWS)
    starts_clean(server)


@pytest.mark.parametrize(("workers", "more"), [(1, ()), (2, ("spill",))], ids=["storing", "spilling"])
def test_killed_while_rows_are_stored(server: Served, workers: int, more: tuple[str, ...]) -> None:
    rows = 700 if more else ROWS
    with client(server, server.session(), rows, 2, workers, *more) as process:
        said(process, "in epoch 0")
        if more:
            until(lambda: admin.info(port=server.port).spill_used > 0, "spilling")
        server.kill()
        words = finished(process)
    assert words.count("UserWarning") <= 1, words
    starts_clean(server)


def test_the_run_goes_on_without_it_and_says_so_once(server: Served) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = pipeline(server.cache(), 2000, shuffle=False)
        iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        first = [int(next(iterator)["x"][0]) for _ in range(3)]
        server.kill()
        rest = [int(row["x"][0]) for row in iterator]
    assert first + rest == list(range(1, 2001))
    assert len([w for w in caught if "cache" in str(w.message)]) <= 1
    starts_clean(server)


# clients that die --------------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [0, 1], ids=["writing", "reading"])
def test_a_client_is_killed(server: Served, epoch: int) -> None:
    session = server.session()
    with client(server, session, ROWS, 2000) as process:
        said(process, f"in epoch {epoch}")
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: admin.info(port=server.port).clients == 0, "the end of its lease")
    used = admin.info(port=server.port).memory_used
    # the next one goes on in the same slabs, with what was whole
    with client(server, session) as process:
        finished(process)
    assert admin.info(port=server.port).memory_used == used
    server.stop()
    assert server.left() == []


def test_a_worker_process_is_killed_while_it_writes(server: Served) -> None:
    settings.update(executor="processes", num_parallel_workers=2)
    cache = server.cache()
    data = pipeline(cache, 1000)
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    seen = [next(iterator)]
    until(lambda: any(_is_worker(pid, server) for pid in _family()), "a worker that writes")
    for victim in [pid for pid in _family() if _is_worker(pid, server)]:
        os.kill(victim, signal.SIGKILL)
    try:
        seen += list(iterator)  # the engine may start others in their place
        assert len(seen) == 1000
    except WorkerDiedError:
        iterator.stop()
    assert all((row["x"] == row["x"][0]).all() and str(row["t"]) == f"row {row['x'][0] - 1}" for row in seen)
    settings.update(executor="threads")
    assert wrong_rows(pipeline(cache, 200), 200) == 0
    until(lambda: admin.info(port=server.port).clients <= 1, "the end of their leases")


def _is_worker(pid: int, server: Served) -> bool:
    """Whether a process has rows of the cache mapped, and is not the server itself."""
    if pid == admin.info(port=server.port).pid:
        return False
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False
    return "millrace-cache" in maps


def test_clients_share_what_each_has_kept(server: Served) -> None:
    session = server.session()
    both = [client(server, session, ROWS, 2), client(server, session, ROWS, 2)]
    for process in both:
        with process:
            finished(process)
    kept = admin.sessions(port=server.port)[0].caches[0]
    assert ROWS <= kept.rows_in_memory <= 2 * ROWS
    with client(server, session, ROWS, 1) as process:
        finished(process)
    assert admin.sessions(port=server.port)[0].caches[0].hits >= ROWS


# full --------------------------------------------------------------------------------------------------


def test_memory_is_full(server: Served) -> None:
    cache = server.cache(size=1)
    rows = 2 * (1 << 20) // (4 * SIZE)
    data = pipeline(cache, rows)
    for _ in range(2):
        assert wrong_rows(data, rows) == 0
    assert 0 < cache.get_stat().num_mem_cached < rows
    assert cache.get_stat().num_disk_cached == 0
    assert admin.info(port=server.port).memory_used <= 1 << 20


def test_memory_is_full_and_the_disk_takes_over(server: Served) -> None:
    cache = server.cache(size=1, spilling=True)
    rows = 2 * (1 << 20) // (4 * SIZE)
    data = pipeline(cache, rows)
    for _ in range(2):
        assert wrong_rows(data, rows) == 0
    stat = cache.get_stat()
    assert stat.num_disk_cached > 0
    assert stat.num_mem_cached + stat.num_disk_cached == rows
    server.stop()
    assert server.left() == []


def test_a_full_disk(tmp_path: Path) -> None:
    """No file may grow beyond a few rows: they are kept up to there, and the rest is made."""
    cache = ds.DatasetCache(path=str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20 * 4 * SIZE, before[1]))
    try:
        data = pipeline(cache, ROWS)
        for _ in range(2):
            assert wrong_rows(data, ROWS) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert 0 < cache.get_stat().num_disk_cached < ROWS
    assert wrong_rows(pipeline(ds.DatasetCache(path=str(tmp_path)), ROWS), ROWS) == 0


# life cycle --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "times", [7, pytest.param(200, marks=[pytest.mark.nightly, pytest.mark.timeout(900)])]
)
def test_starts_and_stops(times: int, no_leaks: None) -> None:
    """Every third one is killed."""
    with runtime_folder() as folder:
        server = Served(folder)
        for number in range(times):
            server.start()
            assert server.session()
            if number % 3 == 0:
                server.kill()
            else:
                server.stop()
                assert server.left() == []
        server.stop()
        assert server.left() == []


def test_own_caches_come_and_go(no_leaks: None) -> None:
    for _ in range(50):
        assert wrong_rows(pipeline(None, 6), 6) == 0
        stop_in_process_server()


def test_two_servers_never_touch_each_other(no_leaks: None) -> None:
    with runtime_folder() as folder:
        one, two = Served(folder), Served(folder)
        try:
            one.start()
            two.start()
            sessions = one.session(), two.session()
            one.kill()
            one.start()
            assert wrong_rows(pipeline(two.cache(sessions[1]), 20), 20) == 0
            one.stop()
            assert [s.session for s in admin.sessions(port=two.port)] == [sessions[1]]
            with pytest.raises(RuntimeError, match="running at port"):
                two.start()
        finally:
            one.stop()
            two.stop()
        assert one.left() == []
