"""Repair: writes all recoverable rows of a damaged set to a new set."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.io.remote import RemotePath
from millrace._src.data.formats.mindrecord import encryption as crypto
from millrace._src.data.formats.mindrecord.atomic_commit import sums_path
from millrace._src.data.formats.mindrecord.file_names import checked_name, refuse_existing, shard_names
from millrace._src.data.formats.mindrecord.header import Header
from millrace._src.data.formats.mindrecord.remote_files import RemoteSet
from millrace._src.data.formats.mindrecord.staging import StagedSet

from .salvage import Salvage
from .verify import Problem, all_files, merge_row_problems

__all__ = ["RepairResult", "repair"]

_MAX_PROBLEMS = 1000


@dataclasses.dataclass
class RepairResult:
    """Result of a repair: saved and lost rows, and the problems."""

    files: list[str]
    saved: int = 0
    lost: int = 0
    total_known: bool = True  # False if more rows may be lost than ``lost`` counts
    problems: list[Problem] = dataclasses.field(default_factory=list)


def repair(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    overwrite: bool = False,
    progress: Callable[[int], object] = lambda rows: None,
) -> RepairResult:
    """Write the intact rows of a damaged set to a new set; the damaged set is not changed.

    Rows keep their order, shard and bytes. A row that cannot be proven intact is lost. With checksums (``NAME.crc``)
    every row can be decided. With the index (``NAME.db``), rows next to the damage are lost. With neither, all rows of
    a page with inconsistent lengths are lost.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("torn.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"b": {"type": "bytes"}})
    >>> _ = writer.write_raw_data([{"b": bytes([n]) * 9} for n in range(5)]), writer.commit()
    >>> with open("torn.mindrecord", "r+b") as file:  # the length of row 2 is damaged
    ...     _ = file.seek((16 << 20) + 2 * 17), file.write(b"\\xff" * 8)
    >>> result = repair("torn.mindrecord", "repaired.mindrecord")
    >>> result.saved, result.lost  # row 1 ends where the damage begins
    (3, 2)
    """
    cipher = crypto.current()
    paths, template = all_files(files, cipher)
    if template is None:
        raise FormatError("no header of the set can be read, so its schema is lost", file=str(paths[0]))
    finals = shard_names(checked_name(target), len(paths))
    _refuse_targets(finals, paths, overwrite)
    headers = [_empty_header(template, finals, number) for number in range(len(paths))]
    done = RepairResult([str(final) for final in finals])
    draft = StagedSet(finals, headers)
    try:
        for number, path in enumerate(paths):
            _save_shard(path, number, cipher, template, draft, done, progress)
        # a set with checksums gets new ones
        draft.commit(cipher, cipher.key is None and all(_has_checksums(path) for path in paths))
    finally:
        draft.discard()
    return done


def _has_checksums(path: Any) -> bool:
    return isinstance(path, Path) and sums_path(path).exists()


def _refuse_targets(finals: list[Path], sources: list[Path], overwrite: bool) -> None:
    known = {Path(str(source)).absolute() for source in sources}
    for final in finals:
        if final.absolute() in known:
            raise DataError("a set is not repaired in place: give another name", file=str(final))
    if not overwrite:
        refuse_existing(finals)


def _empty_header(template: Header, finals: list[Path], number: int) -> Header:
    header = copy.copy(template)
    header.addresses, header.shard_id, header.pages = [final.name for final in finals], number, []
    return header


def _save_shard(
    path: Any,
    number: int,
    cipher: crypto.Cipher,
    template: Header,
    draft: StagedSet,
    done: RepairResult,
    progress: Callable[[int], object],
) -> None:
    copy_: RemoteSet | None = None
    try:
        local = path
        if isinstance(path, RemotePath):
            copy_ = RemoteSet(str(path))
            local = copy_.fetch(path.name)
        salvage = Salvage.of_file(local, cipher, template)
    except FormatError as error:
        done.problems.append(Problem(error.message, str(path), number))
        done.total_known = False
        return
    with contextlib.closing(salvage):
        if (
            salvage.header.schema.fields != template.schema.fields
            or salvage.header.version != template.version
        ):
            done.problems.append(Problem("it belongs to another set", str(path), number))
            done.total_known = False
            return
        if salvage.header_lost:
            done.problems.append(
                Problem("its header is lost; that of another file is used", str(path), number)
            )
        if salvage.sums_problem:
            done.problems.append(Problem(salvage.sums_problem, f"{path}.crc", number))
        for block in salvage.blocks():
            draft.shards[number].check_sizes(block.raw)
            draft.shards[number].check_sizes(block.blob)
            draft.shards[number].write(block.raw, block.blob)
            done.saved += len(block.raw)
            done.lost += len(block.problems)
            remaining = max(0, _MAX_PROBLEMS - len(done.problems))
            done.problems += merge_row_problems(block.problems, str(path), number)[:remaining]
            progress(block.rows)
        done.total_known &= salvage.total_known
