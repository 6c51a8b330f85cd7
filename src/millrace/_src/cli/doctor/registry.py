"""Registry of all checks, in display order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping

from . import cache_server as cache
from . import cpu, memory, serving
from . import dependencies as libraries
from . import directories as folders
from . import distributed as collectives
from . import environment_variables as threads
from . import interpreter as python
from . import ray as cluster
from . import resource_limits as limits
from . import stale_files as leftovers
from . import worker_processes as workers
from .finding import Finding, Machine

__all__ = ["CHECKS", "diagnose"]

Check = Callable[[Machine], Iterable[Finding]]

# A new check is a function in a file of this package and a line here.
CHECKS: dict[str, Check] = {
    "python": python.interpreter,
    "global interpreter lock": python.lock,
    "clock": python.clock,
    "cores": cpu.cores,
    "throttling": cpu.throttling,
    "load": cpu.load,
    "memory": memory.memory,
    "shared memory": memory.shared_memory,
    "open files, ulimit -n": limits.open_files,
    "processes, ulimit -u": limits.processes,
    "address space, ulimit -v": limits.address_space,
    "locked memory, ulimit -l": limits.locked_memory,
    "vm.max_map_count": limits.mappings,
    "temporary folder": folders.temporary,
    "cache folder": folders.cache,
    "libraries": libraries.needed,
    "JPEG decoder": libraries.jpeg,
    "optional libraries": libraries.extras,
    "PyTorch": libraries.pytorch,
    "library threads": threads.libraries,
    "environment variables": threads.variables,
    "start of workers": workers.start_method,
    "worker processes": workers.trial,
    "processes that train together": collectives.collectives,
    "GPUs": collectives.gpus,
    "network interfaces": collectives.interfaces,
    "Ray": cluster.cluster,
    "Ray Serve": cluster.ray_serve,
    "serving": serving.serving,
    "shared cache": cache.shared_cache,
    "leftovers of dead runs": leftovers.leftovers,
}


def diagnose(machine: Machine, checks: Mapping[str, Check] = CHECKS) -> Iterator[Finding]:
    """Run the checks and yield their findings. A check that fails yields a finding; the others still run."""
    for name, function in checks.items():
        try:
            for finding in function(machine):
                yield dataclasses.replace(finding, check=name)
        except Exception as error:
            yield Finding(
                "warning",
                f"this check failed: {type(error).__name__}: {error}",
                "its result is unknown",
                "report it with the output of: millrace version",
                name,
            )
