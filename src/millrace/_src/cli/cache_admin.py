"""``dataset-cache``, also ``cache_admin``: the cache command with MindSpore's options, messages and columns.

Scripts parse these lines with awk and grep, so the texts are MindSpore's; ``millrace cache`` shows more.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from millrace._src.core.errors import CacheError
from millrace._src.data.cache import server_admin as admin

from .exit_status import exit_status
from .terminal_output import say

__all__ = ["main"]

COMMANDS = {
    "--start": "start",
    "--stop": "stop",
    "--generate_session": "generate",
    "-g": "generate",
    "--destroy_session": "destroy",
    "-d": "destroy",
    "--list_sessions": "list",
    "--server_info": "info",
    "--help": "help",
}
OPTIONS = {
    "--hostname": "host",
    "-h": "host",
    "--port": "port",
    "-p": "port",
    "--workers": "workers",
    "-w": "workers",
    "--spilldir": "spill",
    "-s": "spill",
    "--loglevel": "log_level",
    "-l": "log_level",
    "--memory_cap_ratio": "memory_ratio",
    "-r": "memory_ratio",
    "--shared_memory_size": "shared_memory",
    "-m": "shared_memory",
}

HELP = """\
usage: {prog} COMMAND [OPTIONS]

Manage the dataset cache server, which shares rows between processes.

commands:
  --start                        start a server in the background
  --stop                         stop it, and remove leftover files
  -g, --generate_session         create a session and print its number
  -d, --destroy_session ID       remove a session and its rows
  --list_sessions                list the sessions and their contents
  --server_info                  show the server's configuration and sessions
  --help                         show this

options:
  -p, --port PORT                port of the server (MS_CACHE_PORT, or 50052)
  -h, --hostname HOST            this machine (MS_CACHE_HOST); `millrace cache
                                 start --key` opens a server to others
options of --start:
  -s, --spilldir FOLDER          folder for rows that do not fit into memory
                                 (default: the temporary folder)
  -r, --memory_cap_ratio RATIO   share of the memory for rows (default: 0.8)
  -l, --loglevel N               0 to 4; higher levels log less (default: 1)
  -w, --workers N                1 to 100; checked and ignored: clients read
                                 and write rows by themselves
  -m, --shared_memory_size GB    the same

examples:
  {prog} --start
  session=$({prog} -g | awk 'END {{print $NF}}')
  {prog} --list_sessions
  {prog} --stop

`millrace cache --help` offers the same with fewer options.
"""

LOW, HIGH = 1025, 65535
_RULE = "-" * 70
_HEADER = {
    "Session": 12,
    "Cache Id": 12,
    "Mem cached": 12,
    "Disk cached": 12,
    "Avg cache size": 16,
    "Numa hit": 10,
}


class _UsageError(Exception):
    """Invalid arguments, or a command that failed; the text is the message to print."""


@dataclass
class _ParsedCommand:
    """The parsed command and its options."""

    command: str = ""
    session: int = 0
    values: dict[str, str] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 success, 1 failure."""
    prog = os.path.basename(sys.argv[0]) if argv is None else "dataset-cache"
    arguments = list(sys.argv[1:] if argv is None else argv)
    return exit_status(lambda: _main(arguments, prog))


def _main(arguments: list[str], prog: str) -> int:
    if not arguments:
        sys.stderr.write(HELP.format(prog=prog))
        return 1
    try:
        wish = _parse_arguments(arguments, prog)
        host, port = _resolve_address(wish.values)
        options = _start_options(wish.values)
        if wish.command == "help":
            sys.stdout.write(HELP.format(prog=prog))
            return 0
        try:
            _DOERS[wish.command](host, port, wish.session, options)
        except CacheError as error:
            _explain(error, host, port, wish.session, prog)
    except _UsageError as refused:
        sys.stdout.flush()
        say(str(refused), file=sys.stderr)
        return 1
    return 0


# --- arguments --------------------------------------------------------------------------------------------


def _parse_arguments(arguments: list[str], prog: str) -> _ParsedCommand:
    wish, unknown, seen = _ParsedCommand(), [], set()
    rest = iter(arguments)
    for argument in rest:
        meaning = COMMANDS.get(argument) or OPTIONS.get(argument)
        if meaning is None:
            unknown.append(argument)
            continue
        if meaning in seen:
            raise _UsageError(f"The {argument} argument was given more than once.")
        seen.add(meaning)
        if argument in COMMANDS:
            if wish.command and meaning != "help":
                raise _UsageError(f"Only one command at a time is allowed.  Invalid command: {argument}")
            wish.command = meaning
        if argument in OPTIONS or meaning == "destroy":
            value = next(rest, "")
            if not value or (meaning == "destroy" and not _is_session(value)):
                raise _UsageError(
                    f"{argument} option requires an argument field.  Syntax: {argument} <field>"
                )
            if meaning == "destroy":
                wish.session = int(value)
            else:
                wish.values[meaning] = _parse_value(meaning, value)
    help_hint = f"Please try `{prog} --help` for more information"
    if unknown:
        raise _UsageError(f"Invalid arguments provided:  {' '.join(unknown)}\n{help_hint}")
    if not wish.command:
        raise _UsageError(f"No command provided\n{help_hint}")
    return wish


def _is_session(text: str) -> bool:
    try:
        return abs(int(text)) < 1 << 32
    except ValueError:
        return False


def _parse_value(meaning: str, text: str) -> str:
    if meaning in ("host", "spill"):
        return text
    try:
        float(text) if meaning == "memory_ratio" else int(text)
    except ValueError:
        raise _UsageError(f"Invalid numeric value: {text}") from None
    return text


def _resolve_address(values: dict[str, str]) -> tuple[str, int]:
    host = values.get("host") or os.environ.get("MS_CACHE_HOST") or "127.0.0.1"
    text = values.get("port") or os.environ.get("MS_CACHE_PORT") or "50052"
    try:
        port = int(text)
    except ValueError:
        raise _UsageError(f"Cache port from env variable MS_CACHE_PORT is invalid: {text}") from None
    if not LOW <= port <= HIGH:
        raise _UsageError(f"Port must be in range ({LOW}..{HIGH}).")
    return host, port


@dataclass(frozen=True)
class _Start:
    workers: int | None
    spill: str | None
    memory_ratio: float
    log_level: int


def _start_options(values: dict[str, str]) -> _Start:
    """Options of `--start`; they are checked for every command."""
    workers = int(values["workers"]) if "workers" in values else None
    if workers is not None and not 1 <= workers <= 100:
        raise _UsageError("Number of workers must be in range of 1 and 100.")
    level = int(values.get("log_level", 1))
    if not 0 <= level <= 4:
        raise _UsageError("Log level must be in range (0..4).")
    ratio = float(values.get("memory_ratio", 0.8))
    if not 0 < ratio <= 1:
        raise _UsageError("Memory cap ratio should be positive and no greater than 1")
    if int(values.get("shared_memory", 1)) < 1:
        raise _UsageError("Shared memory size (in GB unit) must be positive")
    return _Start(workers, values.get("spill"), ratio, level)


# --- commands -----------------------------------------------------------------------------------------


def _start(host: str, port: int, session: int, options: _Start) -> None:
    server = admin.start(
        host, port, options.workers, options.spill, options.memory_ratio, log_level=options.log_level
    )
    say("Cache server startup completed successfully!")
    say(
        f"The cache server daemon has been created as process id {server.pid} "
        f"and listening on port {server.port}."
    )
    say("\nRecommendation:")
    say(
        "Since the server is detached into its own daemon process, monitor the server logs "
        f"(under {os.path.dirname(server.log)}) for any issues that may happen after startup"
    )


def _stop(host: str, port: int, session: int, options: _Start) -> None:
    if not admin.stop(host, port):
        raise _UsageError(f"Server on port {port} is not reachable or has been shutdown already.")
    say(f"Cache server on port {port} has been stopped successfully.")


def _generate(host: str, port: int, session: int, options: _Start) -> None:
    say(f"Session created for server on port {port}: {admin.generate(host, port)}")


def _destroy(host: str, port: int, session: int, options: _Start) -> None:
    if not 0 < session < 1 << 32:  # no server has such a session, but a server must be running
        admin.info(host, port)
        raise CacheError(f"there is no session {session}", "session")
    admin.destroy(host, port, session)
    say(f"Drop session {session} successfully for server on port {port}")


def _list(host: str, port: int, session: int, options: _Start) -> None:
    say(f"Listing sessions for server on port {port}\n")
    sessions = admin.sessions(host, port)
    if not sessions:
        say("No active sessions.")
        return
    say("".join(name.rjust(width) for name, width in _HEADER.items()))
    for one in sorted(sessions, key=lambda one: one.session):
        rows = sorted(
            (
                zlib.crc32(cache.key.encode()),
                cache.rows_in_memory,
                cache.rows_on_disk,
                cache.average_bytes,
                cache.hits,
            )
            for cache in one.caches
        )
        for numbers in rows or [(0, 0, 0, 0, 0)]:
            cells = [str(one.session), *(str(number or "n/a") for number in numbers)]
            say("".join(cell.rjust(width) for cell, width in zip(cells, _HEADER.values(), strict=True)))


def _info(host: str, port: int, session: int, options: _Start) -> None:
    server, sessions = admin.info(host, port), admin.sessions(host, port)
    shown = {
        "config name": "value",
        "hostname": server.hostname,
        "port": server.port,
        "number of workers": server.workers,
        "log level": server.log_level,
        "spill dir": server.spill,
    }
    say("Cache Server Configuration: ")
    say(_RULE)
    for name, value in shown.items():
        say(f"{name:<20}{value!s:<50}")
        if name == "config name":
            say(_RULE)
    say(_RULE)
    say("Active sessions: ")
    if not sessions:
        say("No active sessions.")
        return
    say("".join(f"{number}  " for number in sorted(one.session for one in sessions)))
    say("(Please use 'dataset-cache --list_sessions' to get detailed info of sessions.)")


_DOERS: dict[str, Callable[[str, int, int, _Start], None]] = {
    "start": _start,
    "stop": _stop,
    "generate": _generate,
    "destroy": _destroy,
    "list": _list,
    "info": _info,
}


def _explain(error: CacheError, host: str, port: int, session: int, prog: str) -> NoReturn:
    """Raise MindSpore's message, followed by Millrace's details."""
    lost = (
        f"Network error. Cache server with port {port} is unreachable. Make sure the server is running or started "
        "under the same user as the client.\n"
    )
    lines = {
        "unreachable": f"{lost}Start one with: {prog} --start -p {port}",
        "gone": f"{lost}{error}",
        "running": "Duplicate key. Cache server is already up and running\n"
        f"It listens on port {port}; stop it with: {prog} --stop -p {port}",
        "session": f"Unexpected error. Session id {session} not found in server on port {port}.",
        "host": f"Invalid host interface: {host}. Current limitation, only 127.0.0.1 can be used.\n"
        f"To open a server to other machines: millrace cache start --host {host} --key FILE",
        "spill": f"Spilling directory is not writable\n{error}",
    }
    raise _UsageError(lines.get(error.kind, str(error))) from error
