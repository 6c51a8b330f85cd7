"""Manifest files: JSON lines with image path, usage and labels."""

from __future__ import annotations

from collections.abc import Iterator

from millrace._src.core.errors import FormatError

from .files.file_list import read_lines
from .json_decoder import parse_json

__all__ = ["read_manifest"]


def read_manifest(path: str) -> Iterator[tuple[str, list[str], str]]:
    """Iterate over the lines: image path, class names and usage.

    >>> with open("t.manifest", "w") as file:
    ...     _ = file.write('{"source": "a.jpg", "usage": "TRAIN", "annotation": [{"name": "cat"}]}')
    >>> list(read_manifest("t.manifest"))
    [('a.jpg', ['cat'], 'train')]
    """
    for number, line in enumerate(read_lines(path), 1):
        row = parse_json(line, path, number)
        for key in ("source", "usage", "annotation"):
            if not isinstance(row, dict) or key not in row:
                raise FormatError(
                    f"Invalid manifest file, '{key}' is missing in file: {path} at line {number}", file=path
                )
        source, usage, notes = row["source"], row["usage"], row["annotation"]
        if not (isinstance(source, str) and isinstance(usage, str) and isinstance(notes, list)):
            raise FormatError(
                f"Invalid manifest file, {path} at line {number}: text is needed in 'source' and 'usage', a list in "
                f"'annotation'",
                file=path,
            )
        names = [note.get("name") for note in notes if isinstance(note, dict)]
        if not all(isinstance(name, str) and name for name in names):
            raise FormatError(
                f"Invalid manifest file, 'name' is missing in file: {path} at line {number}", file=path
            )
        yield source, [str(name) for name in names], usage.lower()
