"""The folder in which processes of one user find each other: sockets of cache servers, histories of runs.

It is ``$XDG_RUNTIME_DIR/millrace``, or ``millrace-<user number>`` beside the other temporary files; only its owner may
enter it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from .errors import MillraceError, ResourceError

__all__ = ["runtime_folder"]


def runtime_folder(*, make: bool = False, error: type[MillraceError] = ResourceError) -> Path:
    """The folder of this user; one that belongs to somebody else, or that others may enter, is refused."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    # one that is not there, or not ours, came with the environment of another login (su, docker exec)
    usable = base and os.access(base, os.W_OK | os.X_OK)
    folder = Path(base) / "millrace" if base and usable else _beside_temporary_files()
    if make:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as reason:
            raise error(
                f"{folder} cannot be made ({reason.strerror}): name a folder of your own in XDG_RUNTIME_DIR"
            ) from reason
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return folder
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise error(
            f"{folder} is not a folder that only you may enter (owner {found.st_uid}, mode "
            f"{stat.S_IMODE(found.st_mode):o}): remove it, or name another one in XDG_RUNTIME_DIR"
        )
    return folder


def _beside_temporary_files() -> Path:
    return Path(tempfile.gettempdir()) / f"millrace-{os.getuid()}"
