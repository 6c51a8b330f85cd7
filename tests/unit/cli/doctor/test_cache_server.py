"""The doctor's look at the shared cache."""

from __future__ import annotations

import dataclasses

import pytest

from millrace import __version__
from millrace._src.cli.doctor.cache_server import shared_cache
from millrace._src.cli.doctor.finding import Machine, Space
from millrace._src.core.errors import CacheError
from millrace._src.data.cache import server_admin as admin
from tests.support.cache_server import CacheHome
from tests.support.processes import kill

GB = 10**9


def test_no_server_is_fine(home: CacheHome):
    [found] = shared_cache(Machine())
    assert (found.level, found.summary) == (
        "ok",
        "no server at port 50052; only DatasetCache(session_id) needs one",
    )


def test_a_server_and_what_a_dead_one_left(home: CacheHome):
    kill(home.start("-p", "50060"))
    process = home.start()
    server, left = shared_cache(Machine())
    assert server.level == "ok"
    assert server.summary.startswith(f"server at port 50052, process {process}: 0 bytes of ")
    assert left.level == "note"
    assert f"{home.folder}/millrace/cache-50060.sock" in left.summary
    assert "50052" not in left.summary
    assert left.remedy == "millrace cache stop --port 50060"
    assert home.run("millrace", "cache", "stop", "--port", "50060").returncode == 0
    assert len(list(shared_cache(Machine()))) == 1


def test_a_server_of_another_release(home: CacheHome, monkeypatch):
    home.start()
    old = dataclasses.replace(admin.info(), version="0.0.1")
    monkeypatch.setattr(admin, "info", lambda *_: old)
    [found] = shared_cache(Machine())
    assert found.level == "note"
    assert f"its version is 0.0.1, this is {__version__}" in found.summary
    assert found.remedy == "millrace cache stop --port 50052 && millrace cache start --port 50052"


def test_a_server_that_refuses(home: CacheHome, monkeypatch):
    def refuse(*_):
        raise CacheError("a server of version 9 does not understand version 1", "version")

    monkeypatch.setattr(admin, "info", refuse)
    [found] = shared_cache(Machine())
    assert (found.level, found.impact) == ("warning", "DatasetCache(session_id) fails")
    assert found.remedy.startswith("millrace cache stop --port 50052 && ")


@pytest.mark.parametrize("port", ["what", "80", "99999"])
def test_a_port_that_is_none(port, home: CacheHome):
    [found] = shared_cache(Machine(environ={"MS_CACHE_PORT": port}))
    assert found.level == "problem"
    assert found.summary == f"MS_CACHE_PORT is {port!r}"
    assert "unset MS_CACHE_PORT" in found.remedy


def test_another_machine(home: CacheHome):
    [found] = shared_cache(Machine(environ={"MS_CACHE_HOST": "10.1.2.3"}))
    assert (found.level, found.remedy) == ("warning", "unset MS_CACHE_HOST")


@pytest.mark.parametrize(("free", "levels"), [(64 << 20, ["ok", "warning"]), (50 * GB, ["ok"])])
def test_rows_in_dev_shm_where_memory_must_have_a_name(free, levels, home: CacheHome, tmp_path):
    (tmp_path / "dev/shm").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       16000000 kB\n")
    machine = Machine(root=tmp_path, environ={}, memfd=False, space=lambda path: Space(60 * GB, free, 10**6))
    found = list(shared_cache(machine))
    assert [one.level for one in found] == levels
    if len(found) == 2:
        assert found[1].summary == (
            "rows are kept in /dev/shm, which has 67.1 MB free; a server uses up to 13.1 GB"
        )
        assert "remount" in found[1].remedy
