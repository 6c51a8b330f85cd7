"""A server that is there and does not answer: whoever asks at a terminal is told, and `stop` ends it."""

import os
import signal
import socket
import tempfile

import pytest

from millrace._src.core.errors import CacheError
from millrace._src.data.cache import server_admin as admin


@pytest.fixture
def server(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="mr-") as runtime, socket.socket() as free:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        free.bind(("127.0.0.1", 0))
        found = admin.start(port=free.getsockname()[1])
        yield found
        admin.stop(port=found.port)


def test_a_stopped_process_is_named_and_ended(server, monkeypatch):
    monkeypatch.setattr(admin, "PATIENCE", 0.2)
    monkeypatch.setattr(admin, "STOP_SECONDS", 3.0)
    os.kill(server.pid, signal.SIGSTOP)
    with pytest.raises(CacheError, match="did not respond"):
        admin.info(port=server.port)
    assert admin.stop(port=server.port)
    with pytest.raises(CacheError) as error:
        admin.info(port=server.port)
    assert error.value.kind == "unreachable"


def test_a_server_that_was_told_to_end_leaves_nothing(server):
    folder = os.environ["XDG_RUNTIME_DIR"] + "/millrace"
    os.kill(server.pid, signal.SIGTERM)
    os.waitpid(server.pid, 0)
    assert os.listdir(folder) == []
