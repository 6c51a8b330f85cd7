"""Is a set whole? Every page is walked and every row decoded; what is wrong is named by shard, page and row."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from millrace.core.errors import FormatError

from . import crypto
from .commit import finish_commit
from .header import Header
from .index import compare_rows
from .opening import open_all
from .remote import RemotePath, is_remote
from .salvage import Salvage
from .shard import Shard, open_shard

__all__ = ["Problem", "Verdict", "reindex", "verify"]

_MOST_PROBLEMS = 1000


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and where."""

    text: str
    file: str
    shard: int
    page: int | None = None
    row: int | None = None

    def __str__(self) -> str:
        place = [f"shard {self.shard}"]
        place += [f"page {self.page}"] if self.page is not None else []
        place += [f"row {self.row}"] if self.row is not None else []
        return f"{self.file}: {', '.join(place)}: {self.text}"


@dataclasses.dataclass
class Verdict:
    """What verify found: problems of the data, and of the indexes (which can be rebuilt)."""

    files: list[str]
    rows: int = 0
    rows_lost: int = 0
    problems: list[Problem] = dataclasses.field(default_factory=list)
    index_problems: list[Problem] = dataclasses.field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems and not self.index_problems


def verify(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    progress: Callable[[int], object] = lambda rows: None,
) -> Verdict:
    """Walk a whole set and say what is wrong with it; nothing is changed.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("whole.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"n": {"type": "int32"}}), writer.write_raw_data([{"n": 1}]), writer.commit()
    >>> verify("whole.mindrecord").ok
    True
    """
    cipher = crypto.current()
    paths, template = all_files(files, cipher)
    verdict = Verdict([str(path) for path in paths])
    for number, path in enumerate(paths):
        try:
            shard = open_shard(path, cipher)
        except FormatError as error:
            verdict.problems.append(_problem(error, str(path), number))
            if isinstance(path, Path) and path.exists():
                _count_lost(path, cipher, template, verdict)
            continue
        if template is not None and shard.header.identity() != template.identity():
            text = "schema, index, page size or version differ from those of the first file: not one set"
            verdict.problems.append(Problem(text, str(path), number))
        _check(shard, number, cipher, verdict, progress)
    if not verdict.problems:
        _check_set(files, cipher, verdict)
    return verdict


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
    found = error.context.get("row") if row is None else row
    return Problem(error.message, file, shard, error.context.get("page"), found)


def _check(
    shard: Shard, number: int, cipher: crypto.Cipher, verdict: Verdict, progress: Callable[[int], object]
) -> None:
    file, bad = str(shard.path), 0
    verdict.rows += shard.rows
    for block in Salvage.of_shard(shard).blocks():
        progress(block.rows)
        for page, row, text in block.problems:
            bad += 1
            if len(verdict.problems) < _MOST_PROBLEMS:
                verdict.problems.append(Problem(text, file, number, page, row))
    verdict.rows_lost += bad
    if bad or not shard.is_local:
        return
    text_ = shard.index_problem(cipher)
    if text_ is None and not shard.encrypted:
        text_ = compare_rows(shard.path, shard.header, shard.index_rows())
    if text_ is not None:
        verdict.index_problems.append(Problem(text_, f"{file}.db", number))


def _count_lost(path: Path, cipher: crypto.Cipher, template: Header | None, verdict: Verdict) -> None:
    try:
        salvage = Salvage.of_file(path, cipher, template)
    except FormatError:
        return
    for block in salvage.blocks():
        verdict.rows += block.rows
        verdict.rows_lost += len(block.problems)


def _check_set(files: Any, cipher: crypto.Cipher, verdict: Verdict) -> None:
    try:
        open_all(files if isinstance(files, (str, os.PathLike)) else list(files), cipher)
    except FormatError as error:
        file = str(error.context.get("file", verdict.files[0]))
        verdict.problems.append(_problem(error, file, 0))


def reindex(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], force: bool = False
) -> list[str]:
    """Rebuild the indexes that do not fit their data files (all with ``force``); return their names.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("again.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"n": {"type": "int32"}}), writer.write_raw_data([{"n": 1}]), writer.commit()
    >>> os.remove("again.mindrecord.db")
    >>> reindex("again.mindrecord")
    ['again.mindrecord.db']
    """
    cipher, done = crypto.current(), []
    for shard in open_all(files if isinstance(files, (str, os.PathLike)) else list(files), cipher):
        if not shard.is_local:
            raise FormatError(
                "copy the file here first: an index is rebuilt on a local disk", file=str(shard.path)
            )
        problem = shard.index_problem(cipher)
        if problem is None and not shard.encrypted and not force:
            problem = compare_rows(shard.path, shard.header, shard.index_rows())
        if problem is not None or force:
            shard.rebuild_index(cipher)
            done.append(f"{shard.path}.db")
    return done
