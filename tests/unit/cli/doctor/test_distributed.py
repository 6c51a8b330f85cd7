"""The doctor's look at what processes need to train together."""

import dataclasses
import types

import pytest

pytest.importorskip("torch")

from millrace._src.cli.doctor import distributed as checks
from millrace._src.cli.doctor.finding import Machine
from millrace._src.runtime.distributed import backend_info as facts


def machine(tmp_path, driver="", gpus=0, interfaces=("eth0", "lo"), **environ):
    (tmp_path / "proc/driver/nvidia/gpus").mkdir(parents=True)
    if driver:
        (tmp_path / "proc/driver/nvidia/version").write_text(
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue\n"
        )
    for number in range(gpus):
        (tmp_path / f"proc/driver/nvidia/gpus/{number}").mkdir()
    for name in interfaces:
        (tmp_path / "sys/class/net" / name).mkdir(parents=True)
    return Machine(root=tmp_path, environ=environ)


@pytest.fixture
def said(monkeypatch):
    """Put other facts in the place of PyTorch's."""

    def put(why="", **changes):
        made = dataclasses.replace(facts.backend_versions(), **changes)
        fake = types.SimpleNamespace(backend_versions=lambda: made, try_gloo=lambda: why)
        monkeypatch.setattr(checks, "_query_torch", lambda: fake)

    return put


def test_this_machine_can(tmp_path):
    [found, *_] = checks.collectives(Machine())
    assert found.level == "ok"
    assert "gloo" in found.summary


def test_without_pytorch_nothing_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "_query_torch", lambda: None)
    [found] = checks.collectives(Machine())
    assert found.level == "ok"
    assert "'torch" in found.summary


def test_gloo_that_does_not_work(said):
    said(why="unable to resolve hostname to a (local) address")
    [found, *_] = checks.collectives(Machine())
    assert found.level == "problem"
    assert "unable to resolve hostname" in found.summary
    assert "GLOO_SOCKET_IFNAME" in found.remedy


def test_an_old_nccl(said):
    said(nccl=(2, 10, 3))
    found = [each for each in checks.collectives(Machine()) if each.level == "warning"]
    assert [each.summary for each in found] == ["NCCL 2.10.3 is older than 2.18"]
    assert "pip install --upgrade" in found[0].remedy


CASES = {
    "no GPU": ({}, {}, "ok", "none"),
    "fine": (
        {"driver": "550.54.15", "gpus": 2},
        {"cuda": "12.4", "gpus": 2, "nccl": (2, 21, 5)},
        "ok",
        "PyTorch uses 2",
    ),
    "CPU build": (
        {"driver": "550.54.15", "gpus": 1},
        {"cuda": None, "gpus": 0},
        "warning",
        "is a CPU-only build",
    ),
    "no driver": ({"gpus": 1}, {"cuda": "12.4", "gpus": 0}, "warning", "the driver is not loaded"),
    "old driver": (
        {"driver": "470.57.02", "gpus": 1},
        {"cuda": "12.4", "gpus": 0},
        "warning",
        "older than 525.60",
    ),
    "hidden": (
        {"driver": "550.54.15", "gpus": 1},
        {"cuda": "12.4", "gpus": 0},
        "warning",
        "finds no usable GPU",
    ),
    "no NCCL": (
        {"driver": "550.54.15", "gpus": 1},
        {"cuda": "12.4", "gpus": 1, "nccl": None},
        "warning",
        "no NCCL",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gpus(name, tmp_path, said):
    has, says, level, words = CASES[name]
    said(**says)
    found = list(checks.gpus(machine(tmp_path, **has)))
    assert found[-1].level == level
    assert words in found[-1].summary
    assert bool(found[-1].remedy) == (level != "ok")


@pytest.mark.parametrize(
    ("environ", "level"),
    [
        ({}, "ok"),
        ({"GLOO_SOCKET_IFNAME": "lo"}, "ok"),
        ({"NCCL_SOCKET_IFNAME": "eth"}, "ok"),
        ({"NCCL_SOCKET_IFNAME": "^docker0"}, "ok"),
        ({"NCCL_SOCKET_IFNAME": "=eth"}, "warning"),
        ({"GLOO_SOCKET_IFNAME": "ib0"}, "warning"),
    ],
)
def test_interfaces(environ, level, tmp_path):
    [found] = checks.interfaces(machine(tmp_path, **environ))
    assert found.level == level
