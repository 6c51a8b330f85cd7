"""Check resource limits: ``ulimit``, and similar limits of the container and the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

from millrace._src.core.machine.cgroup import group_folders, read_number

from .finding import Finding, Machine, size

__all__ = ["address_space", "locked_memory", "mappings", "open_files", "processes"]

FILES, FEW_FILES = 1024, 256
TASKS, FEW_TASKS = 4096, 512
MAPS = 65530


def _read_limit(machine: Machine, name: str) -> tuple[int | None, int | None]:
    """Soft and hard limit; None for unlimited or unknown."""
    match = re.search(rf"^{name} +(\S+) +(\S+)", machine.read("proc/self/limits"), re.MULTILINE)
    return (_parse_number(match[1]), _parse_number(match[2])) if match else (None, None)


def _parse_number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _raise_command(option: str, wanted: int, hard: int | None, item: str) -> str:
    if hard is None or hard >= wanted:
        return f"ulimit -{option} {wanted}"
    return f'echo "$USER hard {item} {wanted}" | sudo tee -a /etc/security/limits.conf  (then log in again)'


def open_files(machine: Machine) -> Iterator[Finding]:
    soft, hard = _read_limit(machine, "Max open files")
    if soft is None or soft >= FILES:
        yield Finding("ok", "unlimited" if soft is None else str(soft))
    else:
        yield Finding(
            "problem" if soft < FEW_FILES else "warning",
            f"{soft} (hard limit {'unlimited' if hard is None else hard})",
            "each worker process, record file and socket uses some; large datasets fail with 'Too many open files'",
            _raise_command("n", 4096, hard, "nofile"),
        )


def processes(machine: Machine) -> Iterator[Finding]:
    soft, hard = _read_limit(machine, "Max processes")
    yield from _check_tasks(soft, _count_threads(machine), "", _raise_command("u", TASKS, hard, "nproc"))
    for _, folder in group_folders("pids", *machine.groups):
        most = read_number(folder / "pids.max")
        if most is not None:
            where = "of the container (pids.max): "
            used = read_number(folder / "pids.current") or 0
            yield from _check_tasks(most, used, where, f"docker run --pids-limit={TASKS} ...")
            return


def _check_tasks(most: int | None, used: int, where: str, remedy: str) -> Iterator[Finding]:
    shown = f"{where}{'unlimited' if most is None else most}, {used} in use"
    if most is None or (most >= TASKS and used < 0.8 * most):
        yield Finding("ok", shown)
        return
    tight = most < FEW_TASKS or used >= 0.8 * most
    yield Finding(
        "warning" if tight else "note",
        shown,
        'every thread counts; beyond the limit, starting one fails with "can\'t start new thread"',
        remedy,
    )


def _count_threads(machine: Machine) -> int:
    """Number of threads of all processes of this user."""
    total = 0
    for status in machine.path("proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:  # the process has just ended
            continue
        owner = re.search(r"^Uid:\s+(\d+)", text, re.MULTILINE)
        threads = re.search(r"^Threads:\s+(\d+)", text, re.MULTILINE)
        if owner and threads and int(owner[1]) == machine.uid:
            total += int(threads[1])
    return total


def address_space(machine: Machine) -> Iterator[Finding]:
    soft, _ = _read_limit(machine, "Max address space")
    if soft is None:
        yield Finding("ok", "unlimited")
    else:
        yield Finding(
            "warning",
            size(soft),
            "mapped files and shared memory count although they use no memory: reading large records may fail",
            "ulimit -v unlimited, and ds.config.set_memory_budget() to limit the memory in use",
        )


def locked_memory(machine: Machine) -> Iterator[Finding]:
    soft, _ = _read_limit(machine, "Max locked memory")
    if soft is None:
        yield Finding("ok", "unlimited")
    else:
        yield Finding("ok", f"{size(soft)}; only InfiniBand transfers need more")


def mappings(machine: Machine) -> Iterator[Finding]:
    most = read_number(machine.path("proc/sys/vm/max_map_count"))
    if most is None or most >= MAPS:
        yield Finding("ok", "not told" if most is None else str(most))
    else:
        yield Finding(
            "warning",
            str(most),
            "a shuffle window of chunks from worker processes keeps one mapping per chunk",
            f"sudo sysctl vm.max_map_count={MAPS}",
        )
