"""Check Ray: installation, version, and the cluster at RAY_ADDRESS."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator

from millrace._src.core.machine.ray_cluster import connection_error
from millrace._src.core.optional import install_command

from .dependencies import newer_than, version_of
from .finding import Finding, Machine

__all__ = ["cluster", "ray_serve"]

EXTRA, SERVE_EXTRA = "ray", "rayserve"


def cluster(machine: Machine) -> Iterator[Finding]:
    version = version_of("ray")
    if version is None:
        yield Finding("ok", f"not installed; run_on('ray') needs {install_command(EXTRA, otherwise=EXTRA)}")
        return
    wanted = newer_than("ray", version)
    if wanted:
        yield Finding(
            "warning",
            f"Ray {version} is older than {wanted}",
            "run_on('ray') is not tested with it",
            f"pip install --upgrade 'ray>={wanted}', the same version on all nodes",
        )
        return
    address = machine.environ.get("RAY_ADDRESS", "")
    if not address:
        yield Finding("ok", f"Ray {version}; no RAY_ADDRESS: it is started on this machine when needed")
        return
    why = _connection_error(address)
    if why:
        yield Finding(
            "warning",
            f"Ray {version}; RAY_ADDRESS={address}: {why}",
            "a pipeline on Ray cannot start",
            "ray start --address=HOST:PORT on this machine, or unset RAY_ADDRESS",
        )
    else:
        yield Finding("ok", f"Ray {version}, RAY_ADDRESS={address} is reachable")


def ray_serve(machine: Machine) -> Iterator[Finding]:
    """Check whether ``millrace serve --ray`` can start: Ray Serve needs more libraries than Ray."""
    wants = install_command(SERVE_EXTRA, otherwise="ray[serve]")
    version = version_of("ray")
    lacking = _missing_libraries() if version is not None else []
    # Other libraries install some of them: where only a few are missing, the installation is broken.
    if version is None or len(lacking) > 2:
        yield Finding("ok", f"not installed; `millrace serve --ray` needs {wants}")
    elif lacking:
        yield Finding(
            "warning", f"{', '.join(lacking)} missing", "`millrace serve --ray` does not start", wants
        )
    elif newer_than("ray", version):
        yield Finding("ok", f"of Ray {version}; see the check of Ray")
    else:
        yield Finding("ok", f"of Ray {version}, with its libraries")


def _missing_libraries() -> list[str]:
    """Libraries of Ray's extra `serve` that are not installed."""
    missing = set()
    for line in importlib.metadata.requires("ray") or []:
        name = re.match(r"[\w.-]+", line)
        # requirements with a python_version marker occur once per Python version
        if name and re.search(r"extra == ['\"]serve['\"]", line) and "python_version" not in line:
            missing.add(name[0])
    return sorted(name for name in missing if version_of(name) is None)


def _connection_error(address: str) -> str:
    """Why the address is unreachable; "" if it is reachable, or if only Ray can find out."""
    if address in ("auto", "local"):
        return ""
    if "://" in address:
        return "a client address; pipelines need HOST:PORT of a cluster that includes this machine"
    return connection_error(address)
