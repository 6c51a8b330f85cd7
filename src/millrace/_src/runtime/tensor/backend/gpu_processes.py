"""Processes that hold memory of a GPU, with their commands and bytes, from NVML or nvidia-smi."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from millrace._src.core.errors import MissingExtra
from millrace._src.core.optional import require

__all__ = ["GpuProcess", "gpu_processes", "format_processes"]

# Timeout of nvidia-smi in seconds; an out-of-memory error must not hang.
QUERY_TIMEOUT_SECONDS = 10.0
MAX_COMMAND_LENGTH = 80


class GpuProcess(NamedTuple):
    """A process on the GPU; ``bytes`` is None if the driver does not report it (in some containers)."""

    pid: int
    command: str
    bytes: int | None


def gpu_processes(uuid: str) -> list[GpuProcess]:
    """The processes that hold memory of the GPU with this UUID, the largest first; empty if it cannot be
    queried.
    """
    try:
        processes = _query_nvml(uuid)
    except MissingExtra:
        processes = _query_nvidia_smi(uuid)
    return sorted(processes, key=lambda process: -(process.bytes or 0))


def _query_nvml(uuid: str) -> list[GpuProcess]:
    nvml: Any = require("pynvml", extra="gpu", purpose="naming the processes that hold a GPU")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return _query_nvidia_smi(uuid)
    try:
        device = nvml.nvmlDeviceGetHandleByUUID(uuid)
        return [
            GpuProcess(process.pid, _command(process.pid), process.usedGpuMemory)
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(device)
        ]
    except nvml.NVMLError:
        return []
    finally:
        nvml.nvmlShutdown()


def _query_nvidia_smi(uuid: str) -> list[GpuProcess]:
    query = "--query-compute-apps=gpu_uuid,pid,used_memory,process_name"
    try:
        completed = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=QUERY_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    processes = []
    for line in completed.stdout.splitlines():
        gpu_uuid, pid, used, name = ([part.strip() for part in line.split(",", 3)] + [""] * 4)[:4]
        if gpu_uuid == uuid and pid.isdigit():
            size = int(used) * 2**20 if used.isdigit() else None
            processes.append(GpuProcess(int(pid), _command(int(pid)) or name, size))
    return processes


def _command(pid: int) -> str:
    """The command line of a process; "" for a process of another container."""
    try:
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    text = " ".join(part.decode(errors="replace") for part in parts if part)
    return text if len(text) <= MAX_COMMAND_LENGTH else text[: MAX_COMMAND_LENGTH - 4] + " ..."


def format_processes(processes: list[GpuProcess]) -> list[str]:
    """One line per process: bytes, process id, command, and its relation to this process.

    >>> format_processes(
    ...     [GpuProcess(os.getpid(), "python train.py", 3 << 30), GpuProcess(999_999_999, "", None)]
    ... )
    ['3.0 GiB  process ... python train.py (this process)', 'unknown  process 999999999 (in another process namespace)']
    """
    return [_format_process(process) for process in processes]


def _format_process(process: GpuProcess) -> str:
    size = "unknown" if process.bytes is None else f"{process.bytes / 2**30:.1f} GiB"
    command = f" {process.command}" if process.command else ""
    return f"{size}  process {process.pid}{command}{_describe_relation(process)}"


def _describe_relation(process: GpuProcess) -> str:
    if process.pid == os.getpid():
        return " (this process)"
    if process.pid == os.getppid():
        return " (the process that started this one)"
    if os.getpid() in _ancestors(process.pid):
        return " (a worker of this process)"
    if os.getppid() != 1 and os.getppid() in _ancestors(process.pid):
        return " (a sibling worker)"
    return "" if process.command else " (in another process namespace)"


def _ancestors(pid: int) -> list[int]:
    ancestors: list[int] = []
    while pid > 1 and len(ancestors) < 16:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        ancestors.append(pid)
    return ancestors
