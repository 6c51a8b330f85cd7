"""Check memory: the machine, the container, shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from millrace._src.core.machine.cgroup import cgroup_memory, group_folders, memory_info, read_number

from .finding import Finding, Machine, size

__all__ = ["memory", "shared_memory"]

LITTLE, TOO_LITTLE = 1 << 30, 256 << 20
SMALL_SHM = 1 << 30


def memory(machine: Machine) -> Iterator[Finding]:
    info = memory_info(machine.read("proc/meminfo"))
    total, free = info.get("MemTotal", 0), info.get("MemAvailable", 0)
    limit = cgroup_memory(*machine.groups)
    shown = f"{size(free)} free of {size(total)}"
    if limit is not None and limit < total:
        free = min(free, limit - _used_bytes(machine))
        total = limit
        shown = f"{size(max(0, free))} free of the container's {size(limit)}"
    shown += f"; a pipeline may use {size(total // 2)}"
    if free >= LITTLE:
        yield Finding("ok", shown)
    else:
        yield Finding(
            "problem" if free < TOO_LITTLE else "warning",
            shown,
            "the system may kill the process when a pipeline fills its queues",
            f'ds.config.set_memory_budget("{max(16, int(free / 2e6))}MB"), or stop other programs: top -o %MEM',
        )


def _used_bytes(machine: Machine) -> int:
    """Memory of the control group in use, without the file cache that the kernel can reclaim."""
    names = {1: "memory.usage_in_bytes", 2: "memory.current"}
    for version, folder in group_folders("memory", *machine.groups):
        used = read_number(folder / names[version])
        if used is not None:
            stat = folder / "memory.stat"
            lines = (line.split() for line in (stat.read_text() if stat.is_file() else "").splitlines())
            values = {fields[0]: int(fields[1]) for fields in lines if len(fields) == 2}
            files = values.get("total_inactive_file", values.get("inactive_file", 0))
            return max(0, used - files)
    return 0


def shared_memory(machine: Machine) -> Iterator[Finding]:
    shm = machine.path("dev/shm")
    space = machine.space(shm) if shm.is_dir() else None
    shown = "no /dev/shm" if space is None else f"/dev/shm has {size(space.free)} free of {size(space.total)}"
    larger = "docker run --shm-size=2g ..., or: sudo mount -o remount,size=2G /dev/shm"
    if not machine.memfd and (space is None or space.free < SMALL_SHM):
        yield Finding(
            "warning",
            f"{shown}, and this system has no memfd_create",
            "worker processes send chunks through /dev/shm, and wait when it is full",
            larger,
        )
    elif space is None or space.free < SMALL_SHM:
        yield Finding(
            "note",
            shown,
            "Millrace does not need it (it uses memfd); PyTorch's workers and Ray do",
            larger,
        )
    else:
        yield Finding("ok", shown)
