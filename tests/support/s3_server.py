"""An S3 that speaks HTTP: moto's server in a process of its own. Tests import both fixtures."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

__all__ = ["s3_server", "server", "store"]


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server with a bucket named ``bucket``, as long as the block runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            _make_bucket(address, process)
            yield address
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


def _make_bucket(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "moto's server ended"
        try:
            request = urllib.request.Request(f"{address}/bucket", method="PUT")
            with urllib.request.urlopen(request, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)  # it is not up yet
    raise AssertionError("moto's server did not answer")


@pytest.fixture
def store(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(os.environ, "AWS_ENDPOINT_URL", server)
    monkeypatch.setitem(os.environ, "AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "secret")
    return server
