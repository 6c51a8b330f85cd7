"""Cores: those of the machine, those this process may use, and whether it gets them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from millrace._src.core.machine.cgroup import group_folders
from millrace._src.core.machine.cores import cgroup_quota

from .finding import Finding, Machine

__all__ = ["allowed_cores"]

THROTTLED = 0.1  # of the quota's periods, above which it costs real time
CROWDED = 1.5  # runnable tasks per core


def allowed_cores(machine: Machine) -> int:
    """What affinity and quota leave of the machine's cores."""
    quota = cgroup_quota(*machine.groups)
    return max(1, machine.affinity if quota is None else min(machine.affinity, math.ceil(quota)))


def cores(machine: Machine) -> Iterator[Finding]:
    quota = cgroup_quota(*machine.groups)
    cores = allowed_cores(machine)
    shown = f"{_format_cores(cores)} for this process, {machine.cores} in the machine"
    if machine.affinity < machine.cores:
        shown += f", {machine.affinity} in its affinity mask"
    if quota is None:
        yield Finding("ok", f"{shown}; no CPU quota")
    elif quota >= machine.affinity:
        yield Finding("ok", f"{shown}; the CPU quota of {quota:g} cores does not bind")
    elif quota < 1:
        yield Finding(
            "warning",
            f"{shown}; the CPU quota is {quota:g} of a core",
            "every pipeline is held up for the rest of each period, however many workers it has",
            "docker run --cpus=2 ..., or resources.limits.cpu in Kubernetes",
        )
    else:
        yield Finding(
            "warning" if machine.cores >= 4 * quota else "note",
            f"{shown}; the CPU quota is {quota:g} cores",
            f"Millrace uses {cores}; libraries that count the machine start {machine.cores} threads each, which the "
            "quota then stops for most of each period",
            f"export OMP_NUM_THREADS={cores} OPENBLAS_NUM_THREADS={cores} MKL_NUM_THREADS={cores}",
        )


def throttling(machine: Machine) -> Iterator[Finding]:
    for _, folder in group_folders("cpu", *machine.groups):
        stat = folder / "cpu.stat"
        entries = [line.split() for line in (stat.read_text() if stat.is_file() else "").splitlines()]
        values = {entry[0]: int(entry[1]) for entry in entries if len(entry) == 2}
        periods, stopped = values.get("nr_periods", 0), values.get("nr_throttled", 0)
        if periods and stopped / periods > THROTTLED:
            yield Finding(
                "warning",
                f"the CPU quota stopped this container in {stopped / periods:.0%} of {periods} periods",
                "more threads want to run than the quota allows; batches arrive in bursts",
                f"ds.config.set_num_parallel_workers({allowed_cores(machine)}), or a larger CPU quota",
            )
            return
    yield Finding("ok", "none: no CPU quota held this process up")


def load(machine: Machine) -> Iterator[Finding]:
    fields = machine.read("proc/loadavg").split()
    if not fields:
        return
    # a container sees the load of the whole machine, so that is what it is held against
    busy = float(fields[0])
    text = f"{busy:g} tasks ran or waited in the last minute, on {_format_cores(machine.cores)}"
    if busy > CROWDED * machine.cores:
        yield Finding("note", text, "others use the cores too: rates measured now are too low", "top -o %CPU")
    else:
        yield Finding("ok", text)


def _format_cores(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"
