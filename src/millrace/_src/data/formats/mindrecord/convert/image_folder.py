"""Image folder to MindRecord."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from millrace._src.core.errors import DataError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.data.formats.mindrecord.writer import MSRStatus

from .base import Converter, check_partitions, check_path, map_in_threads, write_set

__all__ = ["ImageFolderToMR"]

log = get_logger(__name__)
_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")


@public("mindrecord")
class ImageFolderToMR(Converter):
    """Every image below a folder as stored on disk: fields image, file_name and label.

    The label is the number of the image's folder, in the order of the folder names. There is no label if all images
    are in the top folder.

    >>> os.makedirs("pets/cat"), os.makedirs("pets/dog")
    (None, None)
    >>> for name in ("pets/cat/1.jpg", "pets/dog/1.png"):
    ...     _ = Path(name).write_bytes(b"an image")
    >>> _ = ImageFolderToMR("pets", "pets.mindrecord").transform()
    >>> from millrace.mindrecord import FileReader
    >>> [(row["file_name"], row["label"]) for row in FileReader("pets.mindrecord").get_next()]
    [('cat/1.jpg', 0), ('dog/1.png', 1)]
    """

    def __init__(self, source: str, destination: str, partition_number: int = 1) -> None:
        self.source = check_path(os.path.abspath(source), "source")
        self.destination = check_path(destination, "destination")
        self.partition_number = check_partitions(partition_number)
        self.classes: list[str] = []

    def run(self) -> MSRStatus:
        """Convert the folder."""
        root = Path(self.source)
        if not root.is_dir():
            raise DataError("there is no such folder", file=self.source)
        files = sorted(p for p in root.rglob("*") if p.suffix.lower() in _ENDINGS and p.is_file())
        if not files:
            raise DataError(f"there is no image ({', '.join(_ENDINGS)}) in the folder", file=self.source)
        folders = sorted({file.parent.relative_to(root).as_posix() for file in files})
        self.classes = [] if folders == ["."] else folders
        schema: dict[str, Any] = {"image": {"type": "bytes"}, "file_name": {"type": "string"}}
        if self.classes:
            schema["label"] = {"type": "int32"}
        numbers = {name: n for n, name in enumerate(self.classes)}

        def row(path: Path) -> dict[str, Any]:
            record: dict[str, Any] = {
                "image": path.read_bytes(),
                "file_name": path.relative_to(root).as_posix(),
            }
            if numbers:
                record["label"] = numbers[path.parent.relative_to(root).as_posix()]
            return record

        rows = (record for record in map_in_threads(row, files) if _has_bytes(record))
        index = ["label", "file_name"] if self.classes else ["file_name"]
        return write_set(
            self.destination, schema, "image folder", rows,
            index=index, shards=self.partition_number, total=len(files),
        )  # fmt: skip

    def transform(self) -> MSRStatus:
        """Convert the folder."""
        return self.run()


def _has_bytes(row: dict[str, Any]) -> bool:
    if not row["image"]:
        log.warning("%s is empty and is skipped", row["file_name"])
    return bool(row["image"])
