"""The doctor's look at what a server of models needs."""

import socket

import pytest

pytest.importorskip("torch")
pytest.importorskip("uvicorn")

from millrace._src.cli.doctor import serving as checks
from millrace._src.cli.doctor.finding import Machine


def test_this_machine_can_serve():
    [found] = checks.serving(Machine())
    assert found.level == "ok"
    assert "uvicorn" in found.summary
    assert "port 8000 is" in found.summary


def test_what_is_missing_is_named_with_what_it_costs(monkeypatch):
    for missing, level, words in (
        ({"starlette", "uvicorn"}, "ok", "needed only for `millrace serve`: pip install"),
        ({"prometheus-client"}, "warning", "prometheus-client missing"),
        ({"grpcio"}, "note", "grpcio missing"),
        ({"httptools"}, "note", "httptools missing"),
        ({"onnxruntime"}, "note", "onnxruntime missing"),
    ):
        monkeypatch.setattr(
            checks, "_missing_libraries", lambda names, gone=missing: [n for n in names if n in gone]
        )
        found = list(checks.serving(Machine()))
        assert (found[-1].level, words in found[-1].summary) == (level, True), found


def test_a_port_that_is_taken_is_said(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert checks._check_port(taken.getsockname()[1]) == "is in use: choose another with --port"
