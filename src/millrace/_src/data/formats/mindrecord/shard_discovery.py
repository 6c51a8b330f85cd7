"""Shard discovery: which files make up a MindRecord set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.io.remote import RemotePath, is_remote

from . import encryption as crypto
from .atomic_commit import finish_commit
from .shard import ShardReader, open_shard

__all__ = ["open_shards"]


def _as_path(name: Any) -> Any:
    if isinstance(name, RemotePath):
        return name
    return RemotePath(str(name)) if is_remote(name) else Path(name)


def _finish_commit(path: Any) -> bool:
    return isinstance(path, Path) and finish_commit(path)


def open_shards(files: Any, cipher: crypto.Cipher) -> list[ShardReader]:
    """Open the shards for the file argument of a reader, in order; they must belong to one set."""
    if isinstance(files, (str, os.PathLike, RemotePath)):
        shards = _open_set(_as_path(files), cipher)
    else:
        if not files:
            raise ArgumentValueError("the list of files is empty")
        shards = _open_list([_as_path(path) for path in files], cipher)
    first = shards[0]
    for shard in shards[1:]:
        if shard.header.identity() != first.header.identity():
            text = f"schema, index, page size or version differ from those of {first.path}: not one set"
            raise FormatError(text, file=str(shard.path))
    return shards


def _open_list(paths: list[Any], cipher: crypto.Cipher) -> list[ShardReader]:
    for path in paths:
        _finish_commit(path)
    shards = [open_shard(path, cipher) for path in paths]
    firsts = {shard.path.parent / shard.header.addresses[0] for shard in shards}
    finished = [_finish_commit(first) for first in firsts]
    if any(finished):
        shards = [open_shard(path, cipher) for path in paths]
    return shards


def _open_set(path: Any, cipher: crypto.Cipher) -> list[ShardReader]:
    _finish_commit(path)
    shard = open_shard(path, cipher)
    names = shard.header.addresses
    first = path.parent / names[0]
    if first != path and _finish_commit(first):
        shard = open_shard(path, cipher)
        names = shard.header.addresses
    if path.name not in names:
        if len(names) == 1:
            return [shard]  # a set of one file may be renamed
        text = f"the file was renamed: its set is {', '.join(names[:4])} ...; give the files as a list"
        raise FormatError(text, file=str(path))
    shards = []
    for name in names:
        member = shard if name == path.name else open_shard(path.parent / name, cipher)
        if member.header.addresses != names:
            raise FormatError(f"the file belongs to another set than {path.name}", file=str(member.path))
        shards.append(member)
    return shards
