"""``millrace cache``: start, stop and inspect the server of the shared cache."""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import CacheError
from millrace._src.core.io.terminal_escape import escape_controls
from millrace._src.data.cache import server_admin as admin
from millrace._src.observe.views.formatting import format_count

from .doctor.finding import size
from .parser import fail, number
from .table import print_table
from .terminal_output import say, say_json

__all__ = ["add_arguments", "run"]

HOST, PORT = "127.0.0.1", 50052

EPILOG = """\
examples:
  millrace cache start            start a server in the background
  session=$(millrace cache new)   create a session for DatasetCache(session_id)
  millrace cache sessions         list the sessions and their cached rows
  millrace cache stop             stop the server and discard all rows

A server serves one user on one machine. With --key it also serves other
machines, whose scripts name the same key file in MILLRACE_CACHE_KEY. Each
server needs its own port. `dataset-cache` and `cache_admin` take MindSpore's
options instead.

exit status: 0 success; 1 no server is running (status, sessions); 2 failure.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one sub-command for each action."""
    parser.epilog = EPILOG
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, text: str, machines: bool = True) -> argparse.ArgumentParser:
        subparser = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        subparser.add_argument(
            "--port",
            type=_parse_port,
            metavar="PORT",
            help=f"port of the server (default: MS_CACHE_PORT, or {PORT})",
        )
        if machines:
            subparser.add_argument("--json", action="store_true", help="print JSON")
        return subparser

    start = action("start", "start a server in the background")
    start.add_argument(
        "--spill",
        metavar="FOLDER",
        help="folder for rows that do not fit into memory (default: the temporary folder)",
    )
    start.add_argument(
        "--memory",
        type=_parse_fraction,
        default=0.8,
        metavar="PART",
        help="share of the memory for rows (default: 0.8)",
    )
    start.add_argument("--key", metavar="FILE", help="also serve other machines that have this key")
    start.add_argument("--host", help="with --key: the address to listen on (default: all addresses)")
    action("stop", "stop the server, and remove leftover files")
    action("status", "show the state of the server")
    action("sessions", "list the sessions and their contents")
    action("new", "create a session and print its number", machines=False)
    drop = action("drop", "remove a session and its rows", machines=False)
    drop.add_argument("sessions", nargs="+", type=int, metavar="SESSION", help="number of a session")


def _parse_port(text: str) -> int:
    return number(text, int, lambda port: 1025 <= port <= 65535, "a number from 1025 to 65535")


def _parse_fraction(text: str) -> float:
    return number(text, float, lambda part: 0 < part <= 1, "a number above 0 and up to 1")


def run(arguments: argparse.Namespace) -> int:
    """Run one action. Exit status: 0 success, 1 no server, 2 failure."""
    host = os.environ.get("MS_CACHE_HOST") or HOST
    try:
        port = arguments.port or _parse_port(os.environ.get("MS_CACHE_PORT") or str(PORT))
    except argparse.ArgumentTypeError as error:
        return _print_failure(arguments, f"MS_CACHE_PORT: {error}")
    try:
        return _ACTIONS[arguments.action](arguments, host, port)
    except CacheError as error:
        if error.kind not in admin.NO_SERVER:
            return _print_failure(arguments, str(error))
        is_query = arguments.action in ("status", "sessions")
        at = "" if port == PORT else f" --port {port}"
        text = f"no server is running at port {port}. Start one with: millrace cache start{at}"
        if error.kind == "gone":
            text = f"{error}. Remove its files with: millrace cache stop{at}"
        return _print_failure(arguments, text, 1 if is_query else 2)


def _print_failure(arguments: argparse.Namespace, text: str, status: int = 2) -> int:
    if getattr(arguments, "json", False):
        say_json({"ok": False, "error": text})
    else:
        fail(f"cache {arguments.action}", text)
    return status


def _print_result(arguments: argparse.Namespace, fields: dict[str, Any], *lines: str) -> int:
    if arguments.json:
        say_json({"ok": True, **fields})
    else:
        say("\n".join(map(escape_controls, lines)))
    return 0


def _start(arguments: argparse.Namespace, host: str, port: int) -> int:
    host = arguments.host or ("0.0.0.0" if arguments.key else host)
    server = admin.start(
        host, port, spill=arguments.spill, memory_ratio=arguments.memory, key_file=arguments.key
    )
    return _print_result(
        arguments,
        dataclasses.asdict(server),
        f"the cache server runs as process {server.pid}, port {port}",
        f"rows use at most {size(server.memory_limit)} of memory, the rest goes to {server.spill}",
        f"log: {server.log}",
    )


def _stop(arguments: argparse.Namespace, host: str, port: int) -> int:
    before = admin.stale()
    running = admin.stop(host, port)
    removed = [path for path in before if not os.path.lexists(path)]
    lines = [
        f"the cache server at port {port} has stopped" if running else f"no server was running at port {port}"
    ]
    if removed:
        lines.append(f"removed leftover files: {', '.join(removed)}")
    return _print_result(arguments, {"running": running, "removed": removed}, *lines)


def _status(arguments: argparse.Namespace, host: str, port: int) -> int:
    server = admin.info(host, port)
    lines = {
        "process": f"{server.pid}, version {server.version}, up for {_format_age(server.started)}",
        "port": f"{server.port} on {server.hostname}",
        "memory": f"{size(server.memory_used)} of {size(server.memory_limit)}",
        "disk": f"{size(server.spill_used)} in {server.spill}",
        "sessions": str(server.sessions),
        "clients": str(server.clients),
        "log": server.log,
    }
    width = max(map(len, lines))
    return _print_result(
        arguments,
        dataclasses.asdict(server),
        *(f"{name:<{width}}  {value}" for name, value in lines.items()),
    )


def _format_age(started: float) -> str:
    """Elapsed time in the largest unit that fits.

    >>> import time
    >>> _format_age(time.time() - 7300)
    '2 hours'
    """
    seconds = max(0.0, time.time() - started)
    for name, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return format_count(int(seconds // length), name)
    return format_count(int(seconds), "second")


def _sessions(arguments: argparse.Namespace, host: str, port: int) -> int:
    sessions = admin.sessions(host, port)
    if arguments.json:
        listed = [
            {
                "session": one.session,
                "caches": [
                    {**dataclasses.asdict(cache), "average_bytes": cache.average_bytes}
                    for cache in one.caches
                ],
            }
            for one in sessions
        ]
        return _print_result(arguments, {"sessions": listed})
    if not sessions:
        say("no sessions. Create one with: millrace cache new")
        return 0
    rows = []
    for one in sessions:
        rows += [
            [
                str(one.session), cache.key[:8], f"{cache.rows_in_memory:,}", size(cache.memory_bytes),
                f"{cache.rows_on_disk:,}", size(cache.disk_bytes), f"{cache.hits:,}", str(cache.clients),
            ]
            for cache in one.caches
        ] or [[str(one.session), "empty", "", "", "", "", "", ""]]  # fmt: skip
    print_table(["session", "key", "rows", "memory", "spilled", "disk", "reads", "clients"], rows)
    return 0


def _create_session(arguments: argparse.Namespace, host: str, port: int) -> int:
    say(str(admin.generate(host, port)))
    return 0


def _destroy_sessions(arguments: argparse.Namespace, host: str, port: int) -> int:
    for session in arguments.sessions:
        admin.destroy(host, port, session)
        say(f"removed session {session}")
    return 0


_ACTIONS: dict[str, Callable[[argparse.Namespace, str, int], int]] = {
    "start": _start,
    "stop": _stop,
    "status": _status,
    "sessions": _sessions,
    "new": _create_session,
    "drop": _destroy_sessions,
}
