"""Check the folders that Millrace writes to: permissions and free space."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .finding import Finding, Machine, size

__all__ = ["cache", "temporary"]

LITTLE = 1 << 30
FEW_ENTRIES = 1000
_HEAD = 4096  # bytes of the JSON header of an index (formats/offsets.py), which names its file


def _write_error(folder: Path) -> str | None:
    """Why no file can be created in a folder, found by creating one; None if it works."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
        return None
    except OSError as error:
        return error.strerror or str(error)


def temporary(machine: Machine) -> Iterator[Finding]:
    folder = machine.temp
    elsewhere = "export TMPDIR=/a/folder/with/space"
    refusal = _write_error(folder)
    if refusal is not None:
        yield Finding(
            "problem",
            f"{folder}: {refusal}",
            "uploads to object storage, encrypted records and the quickstart need it",
            elsewhere,
        )
        return
    yield from _check_space(machine, folder, elsewhere)


def cache(machine: Machine) -> Iterator[Finding]:
    folder = machine.cache
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent  # it is created when it is first needed
    elsewhere = "export XDG_CACHE_HOME=/a/folder/you/may/write"
    refusal = _write_error(there) if there.is_dir() else "Not a directory"
    if refusal is not None:
        yield Finding(
            "warning",
            f"{folder}: {refusal}",
            "the index of a large TFRecord, CSV or text file is not kept: every start scans the file again",
            elsewhere,
        )
        return
    yield from _check_space(machine, there, elsewhere, shown=folder)
    stale = [path for path in _check_indexes(folder / "offsets") if not os.path.exists(_belongs_to(path))]
    if stale:
        held = sum(path.stat().st_size for path in stale)
        yield Finding(
            "note",
            f"{len(stale)} indexes, {size(held)}, of deleted files",
            "they only use disk space; missing indexes are rebuilt when needed",
            f"rm -r {folder / 'offsets'}",
        )


def _check_space(
    machine: Machine, folder: Path, elsewhere: str, shown: Path | None = None
) -> Iterator[Finding]:
    space = machine.space(folder)
    text = f"{shown or folder}: {size(space.free)} free of {size(space.total)}"
    # file systems that allocate inodes on demand report none
    few = 0 < space.entries < FEW_ENTRIES
    if space.free >= LITTLE and not few:
        yield Finding("ok", text)
    else:
        yield Finding(
            "warning",
            f"{text}, space for {space.entries} more files" if few else text,
            "a large upload, sort or spill fills it",
            f"{elsewhere}, or find large files: du -xh {folder} | sort -h | tail",
        )


def _check_indexes(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))[:1000]
    except OSError:
        return []
    return [folder / name for name in names if len(name) == 32]


def _belongs_to(index: Path) -> str:
    """The file that an index describes; the index itself (which exists) if its header cannot be read."""
    try:
        with index.open("rb") as file:
            return str(json.loads(file.read(_HEAD).rstrip(b"\0"))["path"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(index)
