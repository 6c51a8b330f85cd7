"""The doctor's line for Ray; nothing is started for it."""

import socket

import pytest

from millrace.cli.doctor import cluster as checks
from millrace.cli.doctor.finding import Machine


def found(**environ):
    [finding] = checks.cluster(Machine(environ=environ))
    return finding


def test_installed_and_no_address():
    said = found()
    assert said.level == "ok"
    assert said.found.startswith("Ray 2.")


def test_not_installed(monkeypatch):
    monkeypatch.setattr(checks, "version_of", lambda name: None)
    assert found().found == "not installed; run_on('ray') wants pip install 'ray>=2.60'"


def test_too_old(monkeypatch):
    monkeypatch.setattr(checks, "version_of", lambda name: "2.9.3")
    assert found().level == "warning"
    assert "ray>=2.60" in found().remedy


def test_an_address_that_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = found(RAY_ADDRESS=f"127.0.0.1:{server.getsockname()[1]}")
    assert said.level == "ok"
    assert said.found.endswith("answers")


@pytest.mark.parametrize(
    ("address", "why"),
    [("127.0.0.1:1", "no answer"), ("ray://head:10001", "client address"), ("head", "HOST:PORT")],
)
def test_an_address_that_does_not(address, why):
    said = found(RAY_ADDRESS=address)
    assert said.level == "warning"
    assert why in said.found
    assert "RAY_ADDRESS" in said.remedy
