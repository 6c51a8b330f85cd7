"""How data files are named."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from millrace.core.errors import ArgumentValueError, DataError

__all__ = ["FileExists", "checked_name", "refuse_existing", "shard_names"]

_BAD_CHARACTERS = set("\\/:*?\"<>|`&';")


class FileExists(DataError):
    """A file of the set exists, and was not to be replaced."""


def refuse_existing(paths: Iterable[Path]) -> None:
    """Stop where one of these data files or its index exists."""
    for path in paths:
        for existing in (path, path.with_name(f"{path.name}.db")):
            if existing.exists():
                raise FileExists("the file exists: remove it or pass overwrite=True", file=str(existing))


def checked_name(file_name: str | os.PathLike[str]) -> Path:
    """The path, if its last part can name a data file."""
    name = os.path.basename(file_name)
    bad = next((character for character in name if character in _BAD_CHARACTERS or character == "\0"), None)
    if bad is not None:
        raise ArgumentValueError(
            f"file_name {os.fspath(file_name)!r} has the character {bad!r} in it, which a record file's name cannot "
            f"have (none of {' '.join(sorted(_BAD_CHARACTERS))})"
        )
    if not name or name in (".", ".."):
        raise ArgumentValueError(
            f"file_name {os.fspath(file_name)!r} names a folder: add the name of the file"
        )
    if name != name.strip(" "):
        raise ArgumentValueError(f"file_name {os.fspath(file_name)!r} begins or ends with a blank")
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
