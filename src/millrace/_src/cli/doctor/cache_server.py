"""Check the shared cache: the running server, its memory, leftover sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from millrace import __version__
from millrace._src.core.errors import CacheError
from millrace._src.core.machine.cgroup import cgroup_memory
from millrace._src.data.cache import server_admin as admin

from .finding import Finding, Machine, size

__all__ = ["shared_cache"]

HOST, PORT = "127.0.0.1", "50052"
SHARE = 0.8  # default share of the memory
_PART = re.compile(r"cache-(?P<port>\d+)\.")


def shared_cache(machine: Machine) -> Iterator[Finding]:
    port = machine.environ.get("MS_CACHE_PORT") or PORT
    host = machine.environ.get("MS_CACHE_HOST") or HOST
    if port.isdigit() and 1025 <= int(port) <= 65535:
        yield _check_server(host, int(port))
    else:
        yield Finding(
            "problem",
            f"MS_CACHE_PORT is {port!r}",
            "no server can be found, and DatasetCache(session_id) fails",
            f"unset MS_CACHE_PORT, or export MS_CACHE_PORT={PORT}",
        )
    yield from _check_memory(machine)
    yield from _check_leftovers()


def _check_server(host: str, port: int) -> Finding:
    restart = f"millrace cache stop --port {port} && millrace cache start --port {port}"
    try:
        server = admin.info(host, port)
    except CacheError as error:
        if error.kind in admin.NO_SERVER:
            return Finding("ok", f"no server at port {port}; only DatasetCache(session_id) needs one")
        remedy = {"host": "unset MS_CACHE_HOST", "version": restart}.get(error.kind, "millrace cache stop")
        return Finding("warning", str(error), "DatasetCache(session_id) fails", remedy)
    shown = f"server at port {port}, process {server.pid}: {size(server.memory_used)} of {size(server.memory_limit)}"
    if server.version != __version__:
        return Finding(
            "note",
            f"{shown}; its version is {server.version}, this is {__version__}",
            "the versions are compatible, but the server lacks later fixes",
            restart,
        )
    return Finding("ok", shown)


def _check_memory(machine: Machine) -> Iterator[Finding]:
    """Check the memory for rows: anonymous memory, or /dev/shm where memfd is missing."""
    if machine.memfd:
        return
    shm = machine.path("dev/shm")
    free = machine.space(shm).free if shm.is_dir() else 0
    fields = machine.read("proc/meminfo").split()
    total = int(fields[1]) * 1024 if len(fields) > 1 and fields[0] == "MemTotal:" else 0
    wanted = int(min(total, cgroup_memory(*machine.groups) or total) * SHARE)
    if free < wanted:
        yield Finding(
            "warning",
            f"rows are kept in /dev/shm, which has {size(free)} free; a server uses up to {size(wanted)}",
            "rows that do not fit go to disk, or are recomputed each time",
            "docker run --shm-size=..., or: sudo mount -o remount,size=90% /dev/shm",
        )


def _check_leftovers() -> Iterator[Finding]:
    parts = [Path(part) for part in admin.stale()]
    if parts:
        ports = sorted({match["port"] for part in parts if (match := _PART.match(part.name))})
        yield Finding(
            "note",
            f"a server that died left {', '.join(map(str, parts))}",
            "they use no memory; the next start at that port removes them",
            "; ".join(f"millrace cache stop --port {port}" for port in ports),
        )
