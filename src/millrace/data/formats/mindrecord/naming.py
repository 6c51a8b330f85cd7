"""How data files are named."""

from __future__ import annotations

import os
from pathlib import Path

from millrace.core.errors import ArgumentValueError

__all__ = ["checked_name", "shard_names"]

_BAD_CHARACTERS = set("\\/:*?\"<>|`&';")


def checked_name(file_name: str | os.PathLike[str]) -> Path:
    """The path, if its last part can name a data file."""
    name = os.path.basename(file_name)
    if (
        not name
        or name != name.strip(" ")
        or name in (".", "..")
        or _BAD_CHARACTERS & set(name)
        or "\0" in name
    ):
        raise ArgumentValueError(f"file_name {file_name!r} does not end in a usable file name")
    return Path(file_name)


def shard_names(path: Path, shards: int) -> list[Path]:
    """The data files of a set of so many shards.

    >>> [path.name for path in shard_names(Path("x"), 11)][::5]
    ['x00', 'x05', 'x10']
    """
    if shards == 1:
        return [path]
    width = len(str(shards - 1))
    return [path.with_name(f"{path.name}{number:0{width}d}") for number in range(shards)]
