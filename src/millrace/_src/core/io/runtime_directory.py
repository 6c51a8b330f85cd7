"""Private folders of the user: the runtime directory and the compile cache.

The runtime directory holds sockets of cache servers, run histories and rendezvous files. It is
``$XDG_RUNTIME_DIR/millrace``, or ``millrace-<user number>`` in the folder for temporary files. The compile cache holds
compiled code.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from millrace._src.core.errors import MillraceError, ResourceError

__all__ = ["INDUCTOR", "compile_cache", "runtime_directory"]

INDUCTOR = "TORCHINDUCTOR_CACHE_DIR"


def runtime_directory(*, make: bool = False, error: type[MillraceError] = ResourceError) -> Path:
    """The runtime directory of this user; an error where another user owns it or has access to it."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    # a missing or foreign one comes from the environment of another login (su, docker exec)
    usable = base and os.access(base, os.W_OK | os.X_OK)
    folder = Path(base) / "millrace" if base and usable else _temporary_runtime_directory()
    if make:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as reason:
            raise error(
                f"{folder} cannot be made ({reason.strerror}): set XDG_RUNTIME_DIR to a folder that you own"
            ) from reason
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return folder
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise error(
            f"{folder} is not a folder that only you may enter (owner {status.st_uid}, mode "
            f"{stat.S_IMODE(status.st_mode):o}): remove it, or name another one in XDG_RUNTIME_DIR"
        )
    return folder


def compile_cache() -> str:
    """The cache folder of PyTorch's compiler, which no other user may write to: compiled code is loaded from there.

    It is the one in TORCHINDUCTOR_CACHE_DIR, or ``~/.cache/millrace/inductor``. PyTorch's default is a predictable name
    in ``/tmp``, which another user can create first.
    """
    named = os.environ.get(INDUCTOR)
    folder = Path(named) if named else _user_cache() / "inductor"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        if named:
            return named  # PyTorch reports it
        folder = runtime_directory(make=True) / "inductor"
        folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise ResourceError(
            f"compile: expected a cache folder that only you may write to, got {folder} (owner {status.st_uid}, mode "
            f"{stat.S_IMODE(status.st_mode):o}). Remove it, or name another one in {INDUCTOR}."
        )
    return str(folder)


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "millrace"


def _temporary_runtime_directory() -> Path:
    return Path(tempfile.gettempdir()) / f"millrace-{os.getuid()}"
