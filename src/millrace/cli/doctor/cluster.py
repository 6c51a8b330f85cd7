"""Ray, for pipelines that run on a cluster: installed, new enough, and reachable where an address is set."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from millrace.core.optional import install

from .finding import Finding, Machine
from .libraries import newer_than, version_of

__all__ = ["cluster"]

EXTRA = "ray"


def cluster(machine: Machine) -> Iterator[Finding]:
    version = version_of("ray")
    if version is None:
        yield Finding("ok", f"not installed; run_on('ray') wants {install(EXTRA, otherwise=EXTRA)}")
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
        yield Finding(
            "ok", f"Ray {version}; no RAY_ADDRESS: it is started on this machine when it is asked for"
        )
        return
    why = _unreachable(address)
    if why:
        yield Finding(
            "warning",
            f"Ray {version}; RAY_ADDRESS={address}: {why}",
            "a pipeline on Ray cannot start",
            "ray start --address=HOST:PORT on this machine, or unset RAY_ADDRESS",
        )
    else:
        yield Finding("ok", f"Ray {version}, RAY_ADDRESS={address} answers")


def _unreachable(address: str) -> str:
    """Why nobody answers there; "" when somebody does, or where only Ray can tell."""
    if address in ("auto", "local"):
        return ""
    if "://" in address:
        return "a client address; pipelines want HOST:PORT of a cluster that this machine is a node of"
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return "not of the form HOST:PORT"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=3).close()
    except (OSError, OverflowError) as error:
        return f"no answer ({error})"
    return ""
