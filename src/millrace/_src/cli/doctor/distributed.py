"""Check what distributed training needs: PyTorch, gloo; for GPUs a driver, CUDA and NCCL; MPI is optional."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from millrace._src.core.optional import install_command

from .finding import Finding, Machine

__all__ = ["collectives", "gpus", "interfaces"]

# CUDA version of the PyTorch build -> minimum driver version
DRIVERS = {11: (450, 80), 12: (525, 60), 13: (580, 65)}
NCCL = (2, 18)
EXTRA = "train"


def _query_torch() -> Any:
    """Properties of the installed PyTorch; None without it."""
    try:
        from millrace._src.runtime.distributed import backend_info as facts
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return None
    return facts


def collectives(machine: Machine) -> Iterator[Finding]:
    facts = _query_torch()
    if facts is None:
        yield Finding(
            "ok", f"no PyTorch: pipelines work without it; training needs {install_command(EXTRA, 'torch')}"
        )
        return
    here = facts.backend_versions()
    parts = [f"PyTorch {here.torch}", "gloo" if here.gloo else "no gloo"]
    if here.nccl is not None:
        parts.append(f"NCCL {'.'.join(map(str, here.nccl))}")
    launcher = _mpirun_version()
    parts.append(launcher or "no mpirun (`millrace run` does not need it)")
    why = facts.try_gloo() if here.gloo else "this PyTorch was built without it"
    if why:
        yield Finding(
            "problem" if here.gloo else "warning",
            f"{', '.join(parts)}; gloo does not work: {why}",
            "init() fails on the CPU: distributed training does not work",
            'echo "127.0.0.1 $(hostname)" | sudo tee -a /etc/hosts, or export GLOO_SOCKET_IFNAME=lo'
            if here.gloo
            else f"{install_command(EXTRA, 'torch')}  (PyTorch's wheels contain gloo)",
        )
    else:
        yield Finding("ok", ", ".join(parts))
    if here.nccl is not None and here.nccl < NCCL:
        yield Finding(
            "warning",
            f"NCCL {'.'.join(map(str, here.nccl))} is older than {'.'.join(map(str, NCCL))}",
            "collective operations between GPUs may hang instead of failing when a rank dies",
            "pip install --upgrade nvidia-nccl-cu12, or a newer PyTorch, which includes NCCL",
        )


def _mpirun_version() -> str:
    """The version of mpirun; "" where it is missing."""
    if shutil.which("mpirun") is None:
        return ""
    try:
        output = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return "mpirun (does not start)"
    match = re.search(r"\d+\.\d+(\.\d+)?", output)
    return f"mpirun {match[0] if match else '(unknown version)'}"


def gpus(machine: Machine) -> Iterator[Finding]:
    present = _list_gpus(machine)
    driver = re.search(r"Kernel Module[^\d]*(\d+)\.(\d+)", machine.read("proc/driver/nvidia/version"))
    if not present and not driver:
        yield Finding("ok", "none")
        return
    shown = (
        f"{len(present)} NVIDIA, driver {driver[1]}.{driver[2] if driver else ''}"
        if driver
        else f"{len(present)} NVIDIA"
    )
    facts = _query_torch()
    if facts is None:
        yield Finding("ok", f"{shown}; no PyTorch to use them")
        return
    here = facts.backend_versions()
    if here.gpus:
        yield Finding("ok", f"{shown}; PyTorch uses {here.gpus}, CUDA {here.cuda}")
    elif here.cuda is None:
        yield Finding(
            "warning",
            f"{shown}; this PyTorch ({here.torch}) is a CPU-only build",
            "set_device('GPU') fails, and NCCL is missing",
            "pip install --force-reinstall torch  (PyPI's Linux wheel is the CUDA build)",
        )
    else:
        yield from _report_unusable(shown, driver, here)
    if here.gpus and here.nccl is None:
        yield Finding(
            "warning",
            "this PyTorch has CUDA but no NCCL",
            "init() fails on GPUs: distributed training does not work",
            "pip install --force-reinstall torch (its Linux wheel includes NCCL)",
        )


def _report_unusable(shown: str, driver: re.Match[str] | None, here: Any) -> Iterator[Finding]:
    if driver is None:
        yield Finding(
            "warning",
            f"{shown}; the driver is not loaded",
            "PyTorch cannot use them",
            "sudo modprobe nvidia; in a container: docker run --gpus all ...",
        )
        return
    least = DRIVERS.get(int(here.cuda.split(".")[0]), (0, 0))
    if (int(driver[1]), int(driver[2])) < least:
        yield Finding(
            "warning",
            f"{shown} is older than {least[0]}.{least[1]}, which CUDA {here.cuda} of this PyTorch requires",
            "PyTorch cannot use them",
            f"install the NVIDIA driver {least[0]} or newer, or a PyTorch built for an older CUDA",
        )
    else:
        yield Finding(
            "warning",
            f"{shown}; PyTorch ({here.torch}, CUDA {here.cuda}) finds no usable GPU",
            "set_device('GPU') fails",
            "check CUDA_VISIBLE_DEVICES; in a container: docker run --gpus all ...",
        )


def _list_gpus(machine: Machine) -> list[str]:
    folder = machine.path("proc/driver/nvidia/gpus")
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def interfaces(machine: Machine) -> Iterator[Finding]:
    """Check the variables that name a network interface for gloo or NCCL; a missing interface makes init() fail."""
    try:
        there = sorted(entry.name for entry in machine.path("sys/class/net").iterdir())
    except OSError:
        there = []
    named = {
        name: machine.environ[name]
        for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
        if machine.environ.get(name)
    }
    wrong = {
        name: text
        for name, text in named.items()
        if not any(_matches_interface(part, there) for part in text.split(","))
    }
    for name, text in wrong.items():
        yield Finding(
            "warning",
            f"{name}={text}, but the interfaces are {', '.join(there) or 'unknown'}",
            "processes do not connect: init() times out",
            f"unset {name}",
        )
    if not wrong:
        yield Finding(
            "ok",
            ", ".join(f"{name}={text}" for name, text in named.items()) or ", ".join(there) or "unknown",
        )


def _matches_interface(pattern: str, there: list[str]) -> bool:
    """Whether interfaces match a pattern of NCCL: a prefix; with "=" the full name; with "^" none of these."""
    if pattern.startswith("^"):
        return True
    if pattern.startswith("="):
        return pattern[1:] in there
    return any(name.startswith(pattern) for name in there)
