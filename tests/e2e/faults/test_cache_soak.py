"""Eight clients, one server that spills: reading, writing and dying, for ten minutes of the nightly target.

MILLRACE_SOAK_SECONDS shortens it. The figures are printed (``pytest -s``).
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from typing import Any

import pytest

from millrace._src.data.cache import server_admin as admin
from tests.unit.data.cache.server_fixture import Served, serving, until

from .cache_rows import SIZE

SECONDS = float(os.environ.get("MILLRACE_SOAK_SECONDS", "600"))
CLIENTS = 8


def client(server: Served, session: int, rows: int, epochs: int) -> Any:
    arguments = map(str, (server.port, session, rows, epochs, 1, "spill"))
    command = [sys.executable, "-m", "tests.e2e.faults.cache_rows", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.nightly
@pytest.mark.timeout(SECONDS + 300)
def test_soak(no_leaks: None) -> None:
    draws = random.Random(12)
    names = ("runs", "rows verified", "rows fetched", "kills", "sessions ended")
    figures = dict.fromkeys((*names, "bytes kept", "most memory", "most spilled"), 0)
    running: list[tuple[Any, int, float]] = []
    with serving() as server:
        sessions = [server.session() for _ in range(3)]
        info = admin.info(port=server.port)
        descriptors = len(os.listdir(f"/proc/{info.pid}/fd"))
        end = time.monotonic() + SECONDS
        try:
            while time.monotonic() < end or running:
                while len(running) < CLIENTS and time.monotonic() < end:
                    rows, epochs = draws.choice([200, 600, 900]), draws.choice([1, 2, 4])
                    # of each three clients one dies, at any moment of its life
                    dies = (
                        time.monotonic() + draws.uniform(0.5, 8) if draws.random() < 1 / 3 else float("inf")
                    )
                    running.append(
                        (client(server, draws.choice(sessions), rows, epochs), rows * epochs, dies)
                    )
                if draws.random() < 0.003 and time.monotonic() < end:
                    at = draws.randrange(3)
                    _end_session(server, sessions[at], figures)
                    sessions[at] = server.session()
                running = [entry for entry in running if not _ended(entry, figures)]
                now = admin.info(port=server.port)
                figures["most memory"] = max(figures["most memory"], now.memory_used)
                figures["most spilled"] = max(figures["most spilled"], now.spill_used)
                assert now.memory_used <= 3 * 3 * (8 << 20), "the limit of each cache holds"
                time.sleep(0.1)
        finally:
            for process, _, _ in running:
                process.kill()
                process.communicate()
        until(lambda: admin.info(port=server.port).clients == 0, "the end of all leases")
        for session in sessions:
            _end_session(server, session, figures)
        after = admin.info(port=server.port)
        assert (after.memory_used, after.spill_used, after.sessions) == (0, 0, 0)
        assert len(os.listdir(f"/proc/{after.pid}/fd")) <= descriptors
        figures["server's memory, kB"] = _resident(after.pid)
        server.stop()
        assert server.left() == []
    print(f"\n{SECONDS:.0f} s, {CLIENTS} clients, rows of {4 * SIZE} bytes:")
    for name, value in figures.items():
        print(f"  {name}: {value}")
    assert figures["runs"] > 0
    assert figures["most spilled"] > 0
    assert figures["rows fetched"] > 0


def _end_session(server: Served, session: int, figures: dict[str, int]) -> None:
    for found in admin.sessions(port=server.port):
        if found.session == session:
            figures["rows fetched"] += sum(cache.hits for cache in found.caches)
            figures["bytes kept"] += sum(cache.memory_bytes + cache.disk_bytes for cache in found.caches)
    admin.destroy(port=server.port, session=session)
    figures["sessions ended"] += 1


def _ended(entry: tuple[Any, int, float], figures: dict[str, int]) -> bool:
    process, rows, dies = entry
    if process.poll() is None:
        if time.monotonic() < dies:
            return False
        process.kill()
        process.communicate()
        figures["kills"] += 1
        return True
    words = process.communicate()[1]
    # who is just starting when its session ends is told so
    refused = "there is no session" in words
    assert process.returncode == 0 or refused, words
    figures["runs"] += not refused
    figures["rows verified"] += 0 if refused else rows
    return True


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    return 0
