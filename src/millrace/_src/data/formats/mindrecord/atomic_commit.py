"""Atomic commit of a set of files: temporary names, journal and rename.

Files are written under temporary names in the folder of the set. A set of one file is then renamed. A set of several
files is first listed in a small journal; renaming the journal is the commit. From then on, any writer or reader that
finds the journal finishes the renames.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from millrace._src.core.errors import FormatError

__all__ = [
    "companions",
    "finish_commit",
    "fsync_folder",
    "index_path",
    "new_token",
    "commit_files",
    "replace_file",
    "sums_path",
    "temporary",
]

_TOKEN = re.compile(r"[0-9a-f]{16}\Z")
_MAX_JOURNAL = 1 << 20


def new_token() -> str:
    """A random name part for the temporary files of one writer."""
    return secrets.token_hex(8)


def temporary(final: Path, token: str) -> Path:
    """The temporary path of a file until its set is committed.

    >>> temporary(Path("a/x.mindrecord"), "0" * 16).name
    '.x.mindrecord.0000000000000000.tmp'
    """
    return final.parent / f".{final.name}.{token}.tmp"


def journal_path(first: Path) -> Path:
    """The journal of the set whose first file this is."""
    return first.parent / f".{first.name}.commit"


def fsync_folder(folder: Path) -> None:
    """Sync a folder, which makes renames durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def fsync_file(path: Path) -> None:
    """Sync the contents of a file."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def replace_file(source: Path, final: Path) -> None:
    """Rename one complete file durably."""
    fsync_file(source)
    os.replace(source, final)
    fsync_folder(final.parent)


def commit_files(finals: list[Path], token: str, committed: Callable[[], object] = bool) -> None:
    """Commit a set, given the final names of its data files; the temporary files must be complete and synced.

    ``committed`` is called right after the commit; from then on the temporary files must not be removed.
    """
    folder = finals[0].parent
    if len(finals) == 1:
        _rename_all(finals, token)
    else:
        journal = journal_path(finals[0])
        draft = temporary(journal, token)
        try:
            draft.write_text(json.dumps({"token": token, "files": [final.name for final in finals]}))
            fsync_file(draft)
            os.replace(draft, journal)  # the commit
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
        committed()
        fsync_folder(folder)
        _rename_all(finals, token)
        journal.unlink(missing_ok=True)
    fsync_folder(folder)


def _rename_all(finals: list[Path], token: str) -> None:
    # Old indexes are removed first: every reader notices a missing index, but not the index of another file.
    for final in finals:
        if temporary(final, token).exists():
            for companion in companions(final):
                companion.unlink(missing_ok=True)
    for final in finals:
        for target in (final, *companions(final)):
            try:
                os.replace(temporary(target, token), target)
            except FileNotFoundError:  # another process has finished the journal
                if not target.exists() and target == final:
                    raise


def index_path(data: Path) -> Path:
    """The `.db` of a data file."""
    return data.with_name(data.name + ".db")


def sums_path(data: Path) -> Path:
    """The checksums of a data file, where it has any."""
    return data.with_name(data.name + ".crc")


def companions(data: Path) -> tuple[Path, ...]:
    """The files that accompany a data file: index and checksums."""
    return index_path(data), sums_path(data)


def finish_commit(first: Path) -> bool:
    """Finish the interrupted commit of the set whose first file this is; return whether there was one."""
    journal = journal_path(first)
    try:
        if journal.stat().st_size > _MAX_JOURNAL:
            raise ValueError("too long")
        entry = json.loads(journal.read_text())
        token, names = entry["token"], entry["files"]
        if not _TOKEN.match(token) or not all(
            os.path.basename(n) == n and n not in ("", ".", "..") for n in names
        ):
            raise ValueError("not the names of files in this folder")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(
            f"the journal of an unfinished commit is damaged: {error}", file=str(journal)
        ) from None
    try:
        _rename_all([first.parent / name for name in names], token)
        journal.unlink(missing_ok=True)
    except OSError as error:
        text = f"the commit of this set was interrupted and cannot be finished here: {error}"
        raise FormatError(text, file=str(first)) from None
    return True
