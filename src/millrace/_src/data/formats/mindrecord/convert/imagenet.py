"""ImageNet to MindRecord."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.data.formats.mindrecord.exceptions import PathNotExistsError
from millrace._src.data.formats.mindrecord.writer import MSRStatus

from .base import Converter, check_partitions, check_path, map_in_threads, write_set

__all__ = ["ImageNetToMR"]

log = get_logger(__name__)
_SCHEMA = {"label": {"type": "int32"}, "image": {"type": "bytes"}, "file_name": {"type": "string"}}


@public("mindrecord")
class ImageNetToMR(Converter):
    """Folders of JPEG files, one per class; ``map_file`` has a line ``folder label`` for each.

    >>> os.makedirs("images/n01")
    >>> _ = Path("images/n01/a.JPEG").write_bytes(b"an image"), Path("map.txt").write_text("n01 7")
    >>> _ = ImageNetToMR("map.txt", "images", "net.mindrecord").transform()
    >>> from millrace.mindrecord import FileReader
    >>> next(FileReader("net.mindrecord").get_next())
    {'file_name': 'images/n01/a.JPEG', 'label': 7, 'image': b'an image'}
    """

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1) -> None:
        self.map_file = check_path(map_file, "map_file")
        self.image_dir = check_path(image_dir, "image_dir")
        self.destination = check_path(destination, "destination")
        self.partition_number = check_partitions(partition_number)

    def _folders(self) -> list[tuple[str, int]]:
        if not os.path.exists(self.map_file):
            raise DataError(f"map file {self.map_file} not exists", file=self.map_file)
        folders = []
        for number, line in enumerate(Path(self.map_file).read_text("utf-8").splitlines(), 1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) != 2 or not fields[1].isdigit() or os.path.basename(fields[0]) != fields[0]:
                raise FormatError(f"line {number} is not 'folder label': {line!r}", file=self.map_file)
            folder = os.path.join(self.image_dir, fields[0])
            if os.path.isdir(folder):
                folders.append((folder, int(fields[1])))
            else:
                log.warning("%s dir is not exist", folder)
        if not folders:
            raise PathNotExistsError(f"not valid image dir in {self.image_dir}", file=self.image_dir)
        return folders

    def run(self) -> MSRStatus:
        """Convert the folders; files that are not JPEG or empty are skipped with a warning."""
        files: list[tuple[str, int]] = []
        for folder, label in self._folders():
            for name in sorted(os.listdir(folder)):
                if name.endswith(("JPEG", "jpg")):
                    files.append((os.path.join(folder, name), label))
                else:
                    log.warning("%s file is not suffix with JPEG/jpg, skip it.", os.path.join(folder, name))
        rows = (row for row in map_in_threads(_row, files) if row["image"])
        return write_set(
            self.destination, _SCHEMA, "imagenet_schema", rows,
            index=["label", "file_name"], shards=self.partition_number, page_size=1 << 26, total=len(files),
        )  # fmt: skip

    def transform(self) -> MSRStatus:
        """Convert the folders."""
        return self.run()


def _row(item: tuple[str, int]) -> dict[str, Any]:
    path, label = item
    data = Path(path).read_bytes()
    if not data:
        log.warning("The image file: %s is invalid.", path)
    return {"file_name": path, "label": label, "image": data}
