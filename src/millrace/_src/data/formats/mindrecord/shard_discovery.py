"""Which files make a set: the shards a file names, or exactly those listed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.io.remote import RemotePath, is_remote

from . import encryption as crypto
from .atomic_commit import finish_commit
from .shard import Shard, open_shard

__all__ = ["open_shards"]


def _path(name: Any) -> Any:
    if isinstance(name, RemotePath):
        return name
    return RemotePath(str(name)) if is_remote(name) else Path(name)


def _finish(path: Any) -> bool:
    return isinstance(path, Path) and finish_commit(path)


def open_shards(given: Any, cipher: crypto.Cipher) -> list[Shard]:
    """The shards, in order, of what a reader was given; they must belong together."""
    if isinstance(given, (str, os.PathLike, RemotePath)):
        shards = _open_set(_path(given), cipher)
    else:
        if not given:
            raise ArgumentValueError("the list of files is empty")
        shards = _open_list([_path(path) for path in given], cipher)
    first = shards[0]
    for shard in shards[1:]:
        if shard.header.identity() != first.header.identity():
            text = f"schema, index, page size or version differ from those of {first.path}: not one set"
            raise FormatError(text, file=str(shard.path))
    return shards


def _open_list(paths: list[Any], cipher: crypto.Cipher) -> list[Shard]:
    for path in paths:
        _finish(path)
    shards = [open_shard(path, cipher) for path in paths]
    firsts = {shard.path.parent / shard.header.addresses[0] for shard in shards}
    finished = [_finish(first) for first in firsts]
    if any(finished):
        shards = [open_shard(path, cipher) for path in paths]
    return shards


def _open_set(path: Any, cipher: crypto.Cipher) -> list[Shard]:
    _finish(path)
    shard = open_shard(path, cipher)
    names = shard.header.addresses
    first = path.parent / names[0]
    if first != path and _finish(first):
        shard = open_shard(path, cipher)
        names = shard.header.addresses
    if path.name not in names:
        if len(names) == 1:
            return [shard]  # a set of one file may be renamed
        text = f"the file was renamed: its set is {', '.join(names[:4])} ...; give the files as a list"
        raise FormatError(text, file=str(path))
    shards = []
    for name in names:
        other = shard if name == path.name else open_shard(path.parent / name, cipher)
        if other.header.addresses != names:
            raise FormatError(f"the file belongs to another set than {path.name}", file=str(other.path))
        shards.append(other)
    return shards
