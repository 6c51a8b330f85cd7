"""The doctor's line for Ray; nothing is started for it."""

import socket

import pytest

from millrace._src.cli.doctor import ray as checks
from millrace._src.cli.doctor.finding import Machine


def found(**environ):
    [finding] = checks.cluster(Machine(environ=environ))
    return finding


def test_installed_and_no_address():
    said = found()
    assert said.level == "ok"
    assert said.summary.startswith("Ray 2.")


def test_not_installed(monkeypatch):
    monkeypatch.setattr(checks, "version_of", lambda name: None)
    assert found().summary == "not installed; run_on('ray') needs pip install 'ray>=2.60'"


def test_too_old(monkeypatch):
    monkeypatch.setattr(checks, "version_of", lambda name: "2.9.3")
    assert found().level == "warning"
    assert "ray>=2.60" in found().remedy


def test_an_address_that_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = found(RAY_ADDRESS=f"127.0.0.1:{server.getsockname()[1]}")
    assert said.level == "ok"
    assert said.summary.endswith("is reachable")


@pytest.mark.parametrize(
    ("address", "why"),
    [("127.0.0.1:1", "no connection"), ("ray://head:10001", "client address"), ("head", "HOST:PORT")],
)
def test_an_address_that_does_not(address, why):
    said = found(RAY_ADDRESS=address)
    assert said.level == "warning"
    assert why in said.summary
    assert "RAY_ADDRESS" in said.remedy


def served():
    [finding] = checks.ray_serve(Machine())
    return finding


def test_ray_serve_is_there_with_its_libraries():
    assert (served().level, served().summary.startswith("of Ray 2.")) == ("ok", True)


def test_ray_without_ray_serve(monkeypatch):
    monkeypatch.setattr(checks, "version_of", lambda name: "2.60.0" if name in ("ray", "requests") else None)
    said = served()
    assert said.level == "ok"
    assert said.summary.startswith("not installed; `millrace serve --ray` needs pip install ")
    assert "'ray[serve]>=2.60'" in said.summary


def test_a_library_of_ray_serve_that_is_missing_is_named(monkeypatch):
    there = checks.version_of
    monkeypatch.setattr(checks, "version_of", lambda name: None if name == "fastapi" else there(name))
    said = served()
    assert (said.level, said.summary) == ("warning", "fastapi missing")
    assert "'ray[serve]>=2.60'" in said.remedy
