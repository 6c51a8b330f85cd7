"""Folders of one user, which only that user may enter.

In one, processes find each other: sockets of cache servers, histories of runs, meeting files. It is
``$XDG_RUNTIME_DIR/millrace``, or ``millrace-<user number>`` beside the other temporary files. Another holds compiled
code.
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
    """The folder of this user; one that belongs to somebody else, or that others may enter, is refused."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    # one that is not there, or not ours, came with the environment of another login (su, docker exec)
    usable = base and os.access(base, os.W_OK | os.X_OK)
    folder = Path(base) / "millrace" if base and usable else _temporary_runtime_directory()
    if make:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as reason:
            raise error(
                f"{folder} cannot be made ({reason.strerror}): name a folder of your own in XDG_RUNTIME_DIR"
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
    """The folder of PyTorch's compiler, in which nobody else may write: what is compiled is loaded from there.

    It is the one in TORCHINDUCTOR_CACHE_DIR, or ``~/.cache/millrace/inductor``. PyTorch's own choice has a name in
    ``/tmp`` that anybody can guess and create first.
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
