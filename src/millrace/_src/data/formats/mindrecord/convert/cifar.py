"""CIFAR-10 and CIFAR-100 to MindRecord."""

from __future__ import annotations

import os
from typing import Any

from millrace._src.core.public import public
from millrace._src.data.formats.cifar_pickle import read_cifar
from millrace._src.data.formats.mindrecord.exceptions import PathNotExistsError
from millrace._src.data.formats.mindrecord.writer import SUCCESS, MSRStatus

from .base import Converter, check_fields, check_path, encode_jpeg, map_in_threads, write_set

__all__ = ["Cifar100ToMR", "Cifar10ToMR"]


@public("mindrecord")
class Cifar10ToMR(Converter):
    """A folder with data_batch_1 .. and test_batch to ``destination`` and ``destination + "_test"``.

    The pickles are read without executing them.

    >>> Cifar10ToMR(".", "cifar.mindrecord")
    Traceback (most recent call last):
    ...
    millrace.mindrecord.common.exceptions.PathNotExistsError: there is no file data_batch_* in the folder
      file: .
    """

    _labels: tuple[str, ...] = ("label",)

    def __init__(self, source: str, destination: str) -> None:
        self.source = check_path(os.path.abspath(source) if source == "." else source, "source")
        self.destination = check_path(destination, "destination")
        names = sorted(os.listdir(source)) if os.path.isdir(source) else []
        self._train, self._test = self._find_files(names, source)

    def _find_files(self, names: list[str], source: str) -> tuple[list[Any], list[Any]]:
        train = [name for name in names if name.startswith("data_batch_")]
        test = [name for name in names if name.startswith("test_batch")]
        for files, pattern in ((train, "data_batch_*"), (test, "test_batch")):
            if not files:
                raise PathNotExistsError(f"there is no file {pattern} in the folder", file=source)
        return [os.path.join(source, n) for n in train], [os.path.join(source, n) for n in test]

    def run(self, fields: list[str] | None = None) -> MSRStatus:
        """Convert both parts; ``fields`` are the index fields."""
        index = check_fields(fields)
        self._convert_part(self._train, self.destination, "img_train", index)
        self._convert_part(self._test, self.destination + "_test", "img_test", index)
        return SUCCESS

    def transform(self, fields: list[str] | None = None) -> MSRStatus:
        """Convert both parts; ``fields`` are the index fields, all scalars by default."""
        return self.run(fields)

    def _convert_part(self, paths: list[Any], destination: str, desc: str, index: list[str] | None) -> None:
        stored = {"label": "labels", "fine_label": "fine_labels", "coarse_label": "coarse_labels"}
        images, labels = read_cifar(paths, [stored[name] for name in self._labels])
        schema: dict[str, Any] = {"id": {"type": "int64"}, "data": {"type": "bytes"}}
        schema |= {name: {"type": "int64"} for name in self._labels}
        columns = {name: labels[stored[name]].tolist() for name in self._labels}
        rows = (
            {"id": n, "data": data, **{name: column[n] for name, column in columns.items()}}
            for n, data in enumerate(map_in_threads(encode_jpeg, images))
        )
        write_set(destination, schema, desc, rows, index=index, total=len(images))


@public("mindrecord")
class Cifar100ToMR(Cifar10ToMR):
    """A folder with the files train and test to ``destination`` and ``destination + "_test"``.

    >>> Cifar100ToMR(".", "cifar.mindrecord")
    Traceback (most recent call last):
    ...
    millrace.mindrecord.common.exceptions.PathNotExistsError: there is no file train in the folder
      file: .
    """

    _labels = ("fine_label", "coarse_label")

    def _find_files(self, names: list[str], source: str) -> tuple[list[Any], list[Any]]:
        for wanted in ("train", "test"):
            if wanted not in names:
                raise PathNotExistsError(f"there is no file {wanted} in the folder", file=source)
        return [os.path.join(source, "train")], [os.path.join(source, "test")]
