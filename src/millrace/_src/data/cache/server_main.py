"""Entry point of the cache server process.

Run as ``python -m millrace._src.data.cache.server_main``, started by ``server_admin.start``.
"""

from __future__ import annotations

import importlib.metadata
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from millrace._src.core.errors import CacheError, MillraceError

from .authenticated_connection import read_key
from .gateway import Gateway
from .server import CacheServer
from .server_admin import EXIT_ALREADY_RUNNING
from .server_paths import ServerLock, ServerPaths
from .session_manager import SessionManager

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    folder, port, memory, spill, workers, log_level, host, key_file = arguments
    paths = ServerPaths(Path(folder), int(port))
    lock = ServerLock(paths)
    if not lock.take():
        return EXIT_ALREADY_RUNNING
    try:
        paths.clean()
        about = {
            "hostname": host,
            "workers": int(workers) or 1,
            "log_level": int(log_level),
            "release": importlib.metadata.version("millrace"),
        }
        _serve(paths, SessionManager(int(memory), spill), about, key_file)
        if not paths.log.stat().st_size:  # a clean exit with an empty log
            paths.log.unlink()
    except (MillraceError, OSError) as error:
        sys.stderr.write(f"{error}\n")  # the last line of the log, which the starting process shows
        return 1
    finally:
        paths.clean()
        lock.close(remove=True)
    return 0


def _serve(paths: ServerPaths, sessions: SessionManager, about: dict[str, Any], key_file: str) -> None:
    _raise_descriptor_limit()
    os.umask(0o077)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(str(paths.socket))
    except OSError as error:
        raise CacheError(
            f"{paths.socket} cannot be created: {error}; use a shorter XDG_RUNTIME_DIR"
        ) from error
    listener.listen(128)
    server = CacheServer(listener, sessions, about)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    paths.write_description()
    if key_file:
        _open_gateway(about["hostname"], paths, key_file)
    server.serve()


def _open_gateway(host: str, paths: ServerPaths, key_file: str) -> None:
    try:
        Gateway(host, paths.port, read_key(key_file), str(paths.socket))
    except OSError as error:
        raise CacheError(f"port {paths.port} of {host} cannot be opened: {error.strerror}") from error


def _raise_descriptor_limit() -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
