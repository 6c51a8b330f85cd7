"""Servers, and caches that keep whatever comes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millrace._src.data.cache.in_process_server import stop_in_process_server
from millrace._src.data.engine.segment import cached_read_step as kept

from .server_fixture import Served, serving


@pytest.fixture
def server(no_leaks: None) -> Iterator[Served]:
    """A server of this test's own."""
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Served]:
    """A server for the tests of a file: each takes a session of its own."""
    with serving() as found:
        yield found


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are kept in this process even where making them costs less."""
    monkeypatch.setattr(kept, "TRIAL_CHUNKS", 1 << 30)


@pytest.fixture(autouse=True)
def own_cache_ends() -> Iterator[None]:
    """What a test keeps in the process's own cache is gone after it."""
    yield
    stop_in_process_server()
