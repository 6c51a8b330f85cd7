"""Find the data files at a path and detect their format."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter, defaultdict

from millrace._src.cli.parser import no_such_path
from millrace._src.core.errors import ArgumentValueError
from millrace._src.data.formats.tfrecord.record_file import masked_crc32c

__all__ = ["IMAGES", "InputFiles", "find"]

IMAGES = (".jpg", ".jpeg", ".jfif", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_ENDINGS = {
    **dict.fromkeys(IMAGES, "images"),
    ".mindrecord": "mindrecord",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".tfrec": "tfrecord",
    ".csv": "csv",
    ".txt": "text",
    ".text": "text",
    ".jsonl": "text",
    ".py": "python",
    ".json": "json",
}
SUPPORTED = "images, MindRecord, TFRecord, CSV and text files, a .py file with a pipeline, or the JSON of ds.serialize"


@dataclasses.dataclass
class InputFiles:
    """Files of one format. For images, ``root`` is the folder that contains them."""

    data_format: str
    files: list[str]
    bytes: int
    root: str = ""
    # skipped files of other formats, as "3 csv"
    ignored: str = ""


def find(paths: list[str]) -> InputFiles:
    """Files at these paths; of several formats, the one with the most bytes."""
    sizes: dict[str, int] = defaultdict(int)
    files: dict[str, list[str]] = defaultdict(list)
    held: dict[str, set[str]] = {path: set() for path in paths}
    for path in paths:
        if not os.path.exists(path):
            raise ArgumentValueError(no_such_path(path))
        for file in _list_files(path) if os.path.isdir(path) else [path]:
            data_format = _detect_format(file, sniff=not os.path.isdir(path))
            if data_format is None or (os.path.isdir(path) and data_format in ("python", "json")):
                continue
            files[data_format].append(file)
            held[path].add(data_format)
            sizes[data_format] += _size(file)
    if not files:
        shown = ", ".join(paths)
        raise ArgumentValueError(f"{shown}: found no supported files. Supported: {SUPPORTED}")
    data_format = max(sizes, key=lambda data_format: sizes[data_format])
    for path, formats in held.items():
        if data_format not in formats:
            listing = ", ".join(
                f"{p} holds {' and '.join(sorted(k)) or 'no supported files'}" for p, k in held.items()
            )
            raise ArgumentValueError(f"expected one data format: {listing}. Measure {path} separately.")
    ignored = Counter({name: len(names) for name, names in files.items() if name != data_format})
    root = os.path.commonpath(
        [p if os.path.isdir(p) else os.path.dirname(os.path.abspath(p)) for p in _make_absolute(paths)]
    )
    return InputFiles(
        data_format,
        files[data_format],
        sizes[data_format],
        root,
        ", ".join(f"{count} {name}" for name, count in ignored.items()),
    )


def _make_absolute(paths: list[str]) -> list[str]:
    return paths if len(paths) == 1 and os.path.isdir(paths[0]) else [os.path.abspath(path) for path in paths]


def _list_files(folder: str) -> list[str]:
    files = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [os.path.join(here, name) for name in sorted(names) if not name.startswith(".")]
    return files


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:  # a dangling link: reported as a bad file when it is read
        return 0


def _detect_format(file: str, sniff: bool) -> str | None:
    """Format by the file extension; with ``sniff`` also by the content."""
    ending = os.path.splitext(file)[1].lower()
    if ending in (".db", ".crc"):
        return None
    if ending.rstrip("0123456789") == ".mindrecord" or os.path.isfile(f"{file}.db"):
        return "mindrecord"
    data_format = _ENDINGS.get(ending)
    if data_format == "json" and sniff and not _is_pipeline(file):
        return "text"
    if data_format is None and (sniff or "tfrecord" in os.path.basename(file).lower()):
        return _sniff_format(file)
    return data_format


def _is_pipeline(file: str) -> bool:
    try:
        with open(file, encoding="utf-8") as opened:
            loaded = json.load(opened)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(loaded, dict) and "op_type" in loaded


def _sniff_format(file: str) -> str | None:
    """Format of a file without a known extension, from its content."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(4096)
    except OSError:
        return None
    if len(head) >= 12 and int.from_bytes(head[8:12], "little") == masked_crc32c(head[:8]):
        return "tfrecord"
    if head.startswith((b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM")):
        return "images"
    try:
        head[:-4].decode()
    except UnicodeDecodeError:
        return None
    return "text" if head and b"\0" not in head else None
