"""Persistent cache of row byte offsets for large files.

The folder is ``$XDG_CACHE_HOME/millrace/offsets`` (``~/.cache`` where that is not set). An entry is valid for one
path, size, modification time and scan. In all other cases (another version, damage, a partial file, a folder that
cannot be written) the file is scanned again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.log import get_logger

from .byte_ranges import ByteRanges

__all__ = ["KEEP_FROM", "load_or_scan_offsets"]

log = get_logger(__name__)

# Scanning a smaller file is faster than loading and checking its index.
KEEP_FROM = 8 << 20
VERSION = 1
HEAD = 4096


def load_or_scan_offsets(path: str, scan_id: str, scan: Callable[[str], ByteRanges]) -> ByteRanges:
    """The row ranges of a file, from the cached index if it is valid, else from a scan.

    ``scan_id`` identifies the scan and its parameters; each id has a separate index.
    """
    try:
        state = os.stat(path)
    except OSError as error:
        raise FormatError(f"{path} cannot be opened: {error.strerror}", file=path) from error
    if state.st_size < KEEP_FROM:
        return scan(path)
    identity = {
        "path": os.path.realpath(path),
        "size": state.st_size,
        "changed": state.st_mtime_ns,
        "kind": scan_id,
        "version": VERSION,
    }
    entry = _folder() / (
        hashlib.blake2b(f"{identity['path']}\0{scan_id}".encode(), digest_size=16).hexdigest()
    )
    kept = _load(entry, identity)
    if kept is not None:
        return kept
    ranges = scan(path)
    state_after = os.stat(path)
    if (state_after.st_size, state_after.st_mtime_ns) == (state.st_size, state.st_mtime_ns):
        _save(entry, identity, ranges)
    return ranges


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "millrace" / "offsets"


def _load(entry: Path, identity: dict[str, object]) -> ByteRanges | None:
    try:
        raw = entry.read_bytes()
        head = json.loads(raw[:HEAD].rstrip(b"\0"))
    except (OSError, ValueError):
        return None
    rows, check = head.pop("rows", -1), head.pop("check", -1)
    if head != identity or not isinstance(rows, int) or len(raw) != HEAD + 16 * max(0, rows):
        return None
    if zlib.crc32(memoryview(raw)[HEAD:]) != check:
        log.warning("the index %s is damaged; %s is scanned again", entry, identity["path"])
        return None
    both = np.frombuffer(raw, "<i8", 2 * rows, HEAD)
    starts, stops = both[:rows], both[rows:]
    size = identity["size"]
    ordered = bool((starts[1:] >= stops[:-1]).all() and (stops >= starts).all())
    inside = not rows or (starts[0] >= 0 and stops[-1] <= size)
    return ByteRanges(starts, stops) if ordered and inside else None


def _save(entry: Path, identity: dict[str, object], ranges: ByteRanges) -> None:
    """Write an entry atomically: other processes never see a partial file."""
    body = ranges.starts.astype("<i8").tobytes() + ranges.stops.astype("<i8").tobytes()
    head = json.dumps(identity | {"rows": len(ranges), "check": zlib.crc32(body)}).encode()
    if len(head) > HEAD:
        return  # a path of thousands of characters
    temporary = ""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(prefix=f"millrace-index-{os.getpid()}-", dir=entry.parent)
        with os.fdopen(number, "wb") as file:
            file.write(head.ljust(HEAD, b"\0"))
            file.write(body)
        os.replace(temporary, entry)
    except OSError as error:
        log.info("the index of %s is not kept: %s", identity["path"], error)
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
