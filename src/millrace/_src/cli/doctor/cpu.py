"""Check CPU cores: affinity, quota, throttling, load."""

from __future__ import annotations

import math
from collections.abc import Iterator

from millrace._src.core.machine.cgroup import group_folders
from millrace._src.core.machine.cores import cgroup_quota

from .finding import Finding, Machine

__all__ = ["allowed_cores"]

THROTTLED = 0.1  # share of throttled quota periods above which throughput suffers
CROWDED = 1.5  # runnable tasks per core


def allowed_cores(machine: Machine) -> int:
    """Number of cores that affinity and quota allow."""
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
            "every pipeline is throttled for the rest of each period, with any number of workers",
            "docker run --cpus=2 ..., or resources.limits.cpu in Kubernetes",
        )
    else:
        yield Finding(
            "warning" if machine.cores >= 4 * quota else "note",
            f"{shown}; the CPU quota is {quota:g} cores",
            f"Millrace uses {cores}; libraries that count all cores start {machine.cores} threads each, which the "
            "quota throttles for most of each period",
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
                "more threads are runnable than the quota allows; batches arrive in bursts",
                f"ds.config.set_num_parallel_workers({allowed_cores(machine)}), or a larger CPU quota",
            )
            return
    yield Finding("ok", "no CPU quota throttled this process")


def load(machine: Machine) -> Iterator[Finding]:
    fields = machine.read("proc/loadavg").split()
    if not fields:
        return
    # a container sees the load of the whole machine, so it is compared with all cores
    busy = float(fields[0])
    text = f"{busy:g} tasks ran or waited in the last minute, on {_format_cores(machine.cores)}"
    if busy > CROWDED * machine.cores:
        yield Finding(
            "note", text, "other programs use the cores: rates measured now are too low", "top -o %CPU"
        )
    else:
        yield Finding("ok", text)


def _format_cores(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"
