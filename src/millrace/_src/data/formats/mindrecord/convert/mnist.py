"""MNIST to MindRecord."""

from __future__ import annotations

import os

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.idx import read_idx
from millrace._src.data.formats.mindrecord.writer import SUCCESS, MSRStatus

from .base import Converter, check_partitions, check_path, encode_jpeg, map_in_threads, write_set

__all__ = ["MnistToMR"]

_SCHEMA = {"label": {"type": "int64"}, "data": {"type": "bytes"}}


@public("mindrecord")
class MnistToMR(Converter):
    """The four IDX files of MNIST, gzipped or not, to ``<destination>_train.mindrecord`` and ``_test``.

    >>> MnistToMR("no_such_folder", "mnist").transform()
    Traceback (most recent call last):
    ...
    millrace.errors.DataError: there is no such file, with or without .gz
      file: no_such_folder/train-images-idx3-ubyte
    """

    def __init__(self, source: str, destination: str, partition_number: int = 1) -> None:
        self.source = check_path(source, "source")
        self.destination = check_path(destination, "destination")
        self.partition_number = check_partitions(partition_number)

    def _find_file(self, name: str) -> str:
        path = os.path.join(self.source, name)
        for candidate in (f"{path}.gz", path):
            if os.path.isfile(candidate):
                return candidate
        raise DataError("there is no such file, with or without .gz", file=path)

    def run(self) -> MSRStatus:
        """Convert both parts."""
        for prefix, part in (("train", "train"), ("t10k", "test")):
            path = self._find_file(f"{prefix}-images-idx3-ubyte")
            images, labels = read_idx(path, 3), read_idx(self._find_file(f"{prefix}-labels-idx1-ubyte"), 1)
            if len(images) != len(labels) or images.dtype != "u1" or labels.dtype != "u1":
                text = f"{len(images)} images of {images.dtype} and {len(labels)} labels of {labels.dtype}"
                raise FormatError(f"not the files of MNIST: {text}", file=path)
            rows = (
                {"label": label, "data": data}
                for label, data in zip(labels.tolist(), map_in_threads(encode_jpeg, images))
            )
            write_set(
                f"{self.destination}_{part}.mindrecord", _SCHEMA, "mnist_schema", rows,
                index=["label"], shards=self.partition_number, page_size=1 << 26, total=len(images),
            )  # fmt: skip
        return SUCCESS

    def transform(self) -> MSRStatus:
        """Convert both parts."""
        return self.run()
