"""Who holds a GPU's memory: the processes that the driver knows of, with their commands and bytes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from millrace._src.core.errors import MissingExtra
from millrace._src.core.optional import require

__all__ = ["GpuProcess", "gpu_processes", "format_processes"]

# Seconds that nvidia-smi may take; an error about memory must not hang.
QUERY_TIMEOUT_SECONDS = 10.0
MAX_COMMAND_LENGTH = 80


class GpuProcess(NamedTuple):
    """A process on the card; ``bytes`` is None where the driver does not tell (in some containers)."""

    pid: int
    command: str
    bytes: int | None


def gpu_processes(uuid: str) -> list[GpuProcess]:
    """The processes that hold memory of the GPU with this identity, the largest first; none where nobody can tell."""
    try:
        found = _query_nvml(uuid)
    except MissingExtra:
        found = _query_nvidia_smi(uuid)
    return sorted(found, key=lambda holder: -(holder.bytes or 0))


def _query_nvml(uuid: str) -> list[GpuProcess]:
    nvml: Any = require("pynvml", extra="gpu", purpose="naming the processes that hold a GPU")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return _query_nvidia_smi(uuid)
    try:
        card = nvml.nvmlDeviceGetHandleByUUID(uuid)
        return [
            GpuProcess(each.pid, _command(each.pid), each.usedGpuMemory)
            for each in nvml.nvmlDeviceGetComputeRunningProcesses(card)
        ]
    except nvml.NVMLError:
        return []
    finally:
        nvml.nvmlShutdown()


def _query_nvidia_smi(uuid: str) -> list[GpuProcess]:
    asked = "--query-compute-apps=gpu_uuid,pid,used_memory,process_name"
    try:
        done = subprocess.run(
            ["nvidia-smi", asked, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=QUERY_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    found = []
    for line in done.stdout.splitlines():
        card, pid, used, name = ([part.strip() for part in line.split(",", 3)] + [""] * 4)[:4]
        if card == uuid and pid.isdigit():
            size = int(used) * 2**20 if used.isdigit() else None
            found.append(GpuProcess(int(pid), _command(int(pid)) or name, size))
    return found


def _command(pid: int) -> str:
    """What a process was started as; nothing for one of another container."""
    try:
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    text = " ".join(part.decode(errors="replace") for part in parts if part)
    return text if len(text) <= MAX_COMMAND_LENGTH else text[: MAX_COMMAND_LENGTH - 4] + " ..."


def format_processes(found: list[GpuProcess]) -> list[str]:
    """A line for each: bytes, number, command, and what it is to this process.

    >>> format_processes(
    ...     [GpuProcess(os.getpid(), "python train.py", 3 << 30), GpuProcess(999_999_999, "", None)]
    ... )
    ['3.0 GiB  process ... python train.py (this process)', 'unknown  process 999999999 (not seen from here)']
    """
    return [_line(holder) for holder in found]


def _line(holder: GpuProcess) -> str:
    size = "unknown" if holder.bytes is None else f"{holder.bytes / 2**30:.1f} GiB"
    command = f" {holder.command}" if holder.command else ""
    return f"{size}  process {holder.pid}{command}{_relation(holder)}"


def _relation(holder: GpuProcess) -> str:
    if holder.pid == os.getpid():
        return " (this process)"
    if holder.pid == os.getppid():
        return " (the process that started this one)"
    if os.getpid() in _ancestors(holder.pid):
        return " (a worker of this process)"
    if os.getppid() != 1 and os.getppid() in _ancestors(holder.pid):
        return " (another worker beside this one)"
    return "" if holder.command else " (not seen from here)"


def _ancestors(pid: int) -> list[int]:
    found: list[int] = []
    while pid > 1 and len(found) < 16:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        found.append(pid)
    return found
