"""Verification of every page and row of a MindRecord set."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from millrace._src.core.errors import FormatError
from millrace._src.core.io.remote import RemotePath, is_remote
from millrace._src.data.formats.mindrecord import encryption as crypto
from millrace._src.data.formats.mindrecord.atomic_commit import finish_commit
from millrace._src.data.formats.mindrecord.checksums import write_checksums
from millrace._src.data.formats.mindrecord.header import Header
from millrace._src.data.formats.mindrecord.shard import ShardReader, open_shard
from millrace._src.data.formats.mindrecord.shard_discovery import open_shards
from millrace._src.data.formats.mindrecord.sqlite_index import compare_rows

from .salvage import Salvage

__all__ = ["Problem", "VerificationResult", "add_checksums", "merge_row_problems", "reindex", "verify"]

_MAX_PROBLEMS = 1000


@dataclasses.dataclass(frozen=True)
class Problem:
    """One problem and its location."""

    text: str
    file: str
    shard: int
    page: int | None = None
    row: int | None = None
    last_row: int | None = None  # set for a range of rows, row to last_row

    def __str__(self) -> str:
        location = [f"shard {self.shard}"]
        location += [f"page {self.page}"] if self.page is not None else []
        if self.last_row is not None:
            location.append(f"rows {self.row} to {self.last_row}")
        elif self.row is not None:
            location.append(f"row {self.row}")
        return f"{self.file}: {', '.join(location)}: {self.text}"


@dataclasses.dataclass
class VerificationResult:
    """Result of a verification: problems of the data, and of indexes and checksums (which can be rebuilt)."""

    files: list[str]
    rows: int = 0
    rows_lost: int = 0
    problems: list[Problem] = dataclasses.field(default_factory=list)
    index_problems: list[Problem] = dataclasses.field(default_factory=list)
    checksums: int = 0  # files with valid checksums
    total_known: bool = True  # False if the number of rows is unknown

    @property
    def ok(self) -> bool:
        return not self.problems and not self.index_problems


def verify(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    progress: Callable[[int], object] = lambda rows: None,
) -> VerificationResult:
    """Verify a whole set and return its problems; nothing is changed.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("whole.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"n": {"type": "int32"}}), writer.write_raw_data([{"n": 1}]), writer.commit()
    >>> verify("whole.mindrecord").ok
    True
    """
    cipher = crypto.current()
    paths, template = all_files(files, cipher)
    result = VerificationResult([str(path) for path in paths])
    for number, path in enumerate(paths):
        try:
            shard = open_shard(path, cipher)
        except FormatError as error:
            result.problems.append(_problem(error, str(path), number))
            if isinstance(path, Path) and path.exists():
                _salvage_unopenable(path, number, cipher, template, result, progress)
            else:
                result.total_known = False
            continue
        if template is not None and shard.header.identity() != template.identity():
            text = "schema, index, page size or version differ from those of the first file: not one set"
            result.problems.append(Problem(text, str(path), number))
        _check_shard(shard, number, cipher, result, progress)
    if not result.problems:
        _check_set(files, cipher, result)
    return result


def all_files(files: Any, cipher: crypto.Cipher) -> tuple[list[Any], Header | None]:
    """The files of a set, and the first header that can be read."""
    if not isinstance(files, (str, os.PathLike)):
        paths: list[Any] = [RemotePath(str(f)) if is_remote(f) else Path(f) for f in files]
        return paths, _any_header(paths, cipher)
    path: Any = RemotePath(str(files)) if is_remote(files) else Path(files)
    if isinstance(path, Path):
        finish_commit(path)
    header = _any_header([path], cipher)
    if header is None or path.name not in header.addresses:
        return [path], header
    return [path.parent / name for name in header.addresses], header


def _any_header(paths: list[Any], cipher: crypto.Cipher) -> Header | None:
    for path in paths:
        try:
            return Salvage.header_of(path, cipher)
        except (FormatError, OSError):
            continue
    return None


def _problem(error: FormatError, file: str, shard: int, row: int | None = None) -> Problem:
    problem_row = error.context.get("row") if row is None else row
    return Problem(error.message, file, shard, error.context.get("page"), problem_row)


def merge_row_problems(
    row_problems: list[tuple[int | None, int, str]], file: str, shard: int
) -> list[Problem]:
    """Problems of rows; consecutive rows with the same problem are merged."""
    problems: list[Problem] = []
    for page, row, text in row_problems:
        before = problems[-1] if problems else None
        if before is not None and (before.page, before.text) == (page, text):
            last = before.row if before.last_row is None else before.last_row
            if last is not None and row == last + 1:
                problems[-1] = dataclasses.replace(before, last_row=row)
                continue
        problems.append(Problem(text, file, shard, page, row))
    return problems


def _check_rows(
    salvage: Salvage, number: int, result: VerificationResult, progress: Callable[[int], object]
) -> int:
    """Add the problems of the rows of one file; return the number of lost rows."""
    lost: list[tuple[int | None, int, str]] = []
    rows = bad = 0
    for block in salvage.blocks():
        progress(block.rows)
        rows += block.rows
        bad += len(block.problems)
        lost += sorted([*block.problems, *block.notes], key=lambda entry: entry[1])
        if len(lost) > _MAX_PROBLEMS:
            result.problems += merge_row_problems(lost, salvage.name, number)[
                : _MAX_PROBLEMS - len(result.problems)
            ]
            lost = []
    result.problems += merge_row_problems(lost, salvage.name, number)[
        : max(0, _MAX_PROBLEMS - len(result.problems))
    ]
    result.rows += rows
    result.rows_lost += bad
    result.total_known &= salvage.total_known
    result.checksums += salvage.sums is not None
    if salvage.sums_problem:
        result.index_problems.append(Problem(salvage.sums_problem, f"{salvage.name}.crc", number))
    return bad


def _check_shard(
    shard: ShardReader,
    number: int,
    cipher: crypto.Cipher,
    result: VerificationResult,
    progress: Callable[[int], object],
) -> None:
    before = len(result.problems)
    with contextlib.closing(Salvage.of_shard(shard)) as salvage:
        if salvage.header_damaged:
            text = "the header is not the one that the checksums were taken with"
            result.problems.append(Problem(text, str(shard.path), number))
        _check_rows(salvage, number, result, progress)
    if len(result.problems) > before or not shard.is_local:
        return
    text_ = shard.index_problem(cipher)
    if text_ is None and not shard.encrypted:
        text_ = compare_rows(shard.path, shard.header, shard.index_rows())
    if text_ is not None:
        result.index_problems.append(Problem(text_, f"{shard.path}.db", number))


def _salvage_unopenable(
    path: Path,
    number: int,
    cipher: crypto.Cipher,
    template: Header | None,
    result: VerificationResult,
    progress: Callable[[int], object],
) -> None:
    try:
        salvage = Salvage.of_file(path, cipher, template)
    except FormatError:
        result.total_known = False
        return
    with contextlib.closing(salvage):
        _check_rows(salvage, number, result, progress)


def _check_set(files: Any, cipher: crypto.Cipher, result: VerificationResult) -> None:
    try:
        open_shards(files if isinstance(files, (str, os.PathLike)) else list(files), cipher)
    except FormatError as error:
        file = str(error.context.get("file", result.files[0]))
        result.problems.append(_problem(error, file, 0))


def reindex(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], force: bool = False
) -> list[str]:
    """Rebuild the indexes that do not match their data files (all with ``force``); return their names.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("reindexed.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"n": {"type": "int32"}}), writer.write_raw_data([{"n": 1}]), writer.commit()
    >>> os.remove("reindexed.mindrecord.db")
    >>> reindex("reindexed.mindrecord")
    ['reindexed.mindrecord.db']
    """
    cipher, rebuilt = crypto.current(), []
    for shard in open_shards(files if isinstance(files, (str, os.PathLike)) else list(files), cipher):
        if not shard.is_local:
            raise FormatError(
                "copy the file here first: an index is rebuilt on a local disk", file=str(shard.path)
            )
        problem = shard.index_problem(cipher)
        if problem is None and not shard.encrypted and not force:
            problem = compare_rows(shard.path, shard.header, shard.index_rows())
        if problem is not None or force:
            shard.rebuild_index(cipher)
            rebuilt.append(f"{shard.path}.db")
    return rebuilt


def add_checksums(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Write a checksum file for each data file of an intact set; return their names.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("summed.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"n": {"type": "int32"}}), writer.write_raw_data([{"n": 1}]), writer.commit()
    >>> add_checksums("summed.mindrecord")
    ['summed.mindrecord.crc']
    >>> verify("summed.mindrecord").checksums
    1
    """
    result = verify(files)
    if result.problems:
        raise FormatError(f"checksums are taken of a whole set only: {result.problems[0]}")
    written = []
    for shard in open_shards(
        files if isinstance(files, (str, os.PathLike)) else list(files), crypto.current()
    ):
        if not shard.is_local:
            raise FormatError("copy the file here first: checksums lie on a local disk", file=str(shard.path))
        if shard.encrypted:
            raise FormatError("an encrypted file carries its own proof of every byte", file=str(shard.path))
        written.append(str(write_checksums(shard)))
    return written
