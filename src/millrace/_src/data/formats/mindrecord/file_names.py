"""File names of the shards of a MindRecord set."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from millrace._src.core.errors import DataError

from .exceptions import ParamValueError

__all__ = ["FileExists", "bad_character", "checked_name", "refuse_existing", "shard_names"]

_BAD_CHARACTERS = set("\\/:*?\"<>|`&';")


class FileExists(DataError):
    """A file of the set exists and may not be overwritten."""


def refuse_existing(paths: Iterable[Path]) -> None:
    """Raise if one of these data files or its index exists."""
    for path in paths:
        for existing in (path, path.with_name(f"{path.name}.db")):
            if existing.exists():
                raise FileExists("the file exists: remove it or pass overwrite=True", file=str(existing))


def bad_character(name: str) -> str | None:
    """The first character that is not allowed in the name of a data file, or None.

    >>> bad_character("train?.mindrecord")
    '?'
    """
    return next((character for character in name if character in _BAD_CHARACTERS or character == "\0"), None)


def checked_name(file_name: str | os.PathLike[str]) -> Path:
    """Check that the last part of a path is a valid name of a data file; return the path."""
    if not isinstance(file_name, (str, os.PathLike)):
        raise ParamValueError(f"file_name must be a path, got {file_name!r}")
    name = os.path.basename(file_name)
    bad = bad_character(name)
    if bad is not None:
        raise ParamValueError(
            f"file_name {os.fspath(file_name)!r} has the character {bad!r} in it, which a record file's name cannot "
            f"have (none of {' '.join(sorted(_BAD_CHARACTERS))})"
        )
    if not name or name in (".", ".."):
        raise ParamValueError(f"file_name {os.fspath(file_name)!r} names a folder: add the name of the file")
    if name != name.strip(" "):
        raise ParamValueError(f"file_name {os.fspath(file_name)!r} begins or ends with a blank")
    return Path(file_name)


def shard_names(path: Path, shards: int) -> list[Path]:
    """The names of the data files of a set with this many shards.

    >>> [path.name for path in shard_names(Path("x"), 11)][::5]
    ['x00', 'x05', 'x10']
    """
    if shards == 1:
        return [path]
    width = len(str(shards - 1))
    return [path.with_name(f"{path.name}{number:0{width}d}") for number in range(shards)]
