"""``WebDataset``: samples in tar archives, with random access."""

from __future__ import annotations

import io
import os
import re
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import Columns, ElementType, as_column_list, checked
from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import ColumnType
from millrace._src.data.formats.column_readers import ColumnReader
from millrace._src.data.formats.tar import iter_members
from millrace._src.data.sources.base.table_dataset import (
    ColumnTable,
    NumSamples,
    NumWorkers,
    TableDataset,
    check_readable,
    image_column,
)
from millrace._src.data.sources.source_traits import with_current_names

__all__ = ["WebDataset"]

KEY = "__key__"
_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_TEXTS = ("txt", "text", "transcript", "json")
_IMAGES = ("jpg", "jpeg", "png", "bmp", "tif", "tiff", "ppm", "pgm")
_MOST_FILES = 1_000_000


@public("dataset")
class WebDataset(TableDataset):
    """Samples of tar archives: the files ``0001.jpg`` and ``0001.cls`` are one row with the columns jpg and cls.

    The archives are indexed once and then read by offset, so full shuffle, sharding and exact resume work. Nothing is
    extracted. ``dataset_files`` is a path, a list, or a path with a range: ``train-{000..012}.tar``.
    Numbers (cls, id, ...) become int64, txt and json text, npy the array, images bytes or, with ``decode``, pixels;
    all others stay bytes. ``columns`` selects columns; the column ``__key__`` is the name of the sample.

    >>> import millrace.dataset as ds
    >>> import io, tarfile
    >>> with tarfile.open("a.tar", "w") as archive:
    ...     for name, data in (("1.cls", b"7"), ("1.txt", b"a dog")):
    ...         member = tarfile.TarInfo(name)
    ...         member.size = len(data)
    ...         archive.addfile(member, io.BytesIO(data))
    >>> data = ds.WebDataset("a.tar", ["cls", "txt"])
    >>> [(row["cls"].item(), str(row["txt"])) for row in data.create_dict_iterator(1, output_numpy=True)]
    [(7, 'a dog')]
    """

    @checked
    def __init__(
        self,
        dataset_files: Annotated[str | list[Any], ElementType(str)],
        columns: Columns | None = None,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: bool | None = None,
        decode: bool = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        files = [file for pattern in as_column_list(dataset_files) or () for file in _expand_range(pattern)]
        for path in files:
            check_readable(path)
        names = as_column_list(columns) or _first_sample_columns(files)
        make = partial(_table, dataset_files=files, columns=names, decode=decode)
        self._open(make, {name: _column_type(name, decode) for name in names}, locals())


def _expand_range(path: str) -> list[str]:
    match = re.fullmatch(r"(.*)\{(\d+)\.\.(\d+)\}(.*)", path)
    if not match:
        return [path]
    start, first, last, end = match.groups()
    if not 0 <= int(last) - int(first) < _MOST_FILES:
        raise ArgumentValueError(f"the range in {path} is empty or too long.")
    return [f"{start}{number:0{len(first)}d}{end}" for number in range(int(first), int(last) + 1)]


def _split_member_name(name: str) -> tuple[str, str]:
    """'a/0001.seg.png' as ('a/0001', 'seg.png')."""
    folder, base = os.path.split(name)
    stem, _, ending = base.partition(".")
    return os.path.join(folder, stem), ending.lower()


def _first_sample_columns(files: list[str]) -> list[str]:
    """The columns of the first sample."""
    columns: list[str] = []
    for path in files[:1]:
        key = None
        for name, _, _ in iter_members(path):
            stem, ending = _split_member_name(name)
            if key not in (None, stem):
                break
            key, columns = stem, [*columns, ending]
    if not columns:
        raise ArgumentValueError(f"there is no sample in {files[0]}.")
    return [KEY, *columns]


def _column_type(name: str, decode: bool) -> ColumnType:
    ending = name.rpartition(".")[2]
    if name == KEY or ending in _TEXTS:
        return ColumnType(np.dtype(np.str_), ())
    if ending in _NUMBERS:
        return ColumnType(np.dtype(np.int64), ())
    if ending == "npy":
        return ColumnType()
    return ColumnType(np.dtype(np.uint8), (None, None, 3) if decode and ending in _IMAGES else (None,))


def _table(dataset_files: list[str], columns: list[str], decode: bool) -> ColumnTable:
    locations: dict[str, list[tuple[int, int, int]]] = {name: [] for name in columns if name != KEY}
    keys: list[str] = []
    for number, path in enumerate(dataset_files):
        last = None
        for name, offset, size in iter_members(path):
            key, ending = _split_member_name(name)
            if key != last:
                _check_sample(locations, keys, path)
                keys.append(key)
                last = key
            if ending in locations and len(locations[ending]) < len(keys):
                locations[ending].append((number, offset, size))
        _check_sample(locations, keys, path)
    parts: dict[str, Any] = {}
    for name in columns:
        parts[name] = (
            _KeyColumn(keys)
            if name == KEY
            else _MemberColumn(name, dataset_files, np.array(locations[name]), decode)
        )
    return ColumnTable(len(keys), parts)


def _check_sample(locations: dict[str, list[tuple[int, int, int]]], keys: list[str], path: str) -> None:
    for name, entries in locations.items():
        if len(entries) != len(keys):
            raise FormatError(f"the sample {keys[-1]!r} has no file {name!r}", file=path)


class _KeyColumn(ColumnReader):
    def __init__(self, keys: list[str]) -> None:
        self.keys = np.array(keys)

    def read(self, indices: Indices) -> Column:
        return [np.array(key) for key in self.keys[indices].tolist()]

    def where(self, index: int) -> str | None:
        return None


class _MemberColumn(ColumnReader):
    """One file of each sample, at a known offset of an archive."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(with_current_names(state, {"places": "locations"}))  # of version 0.2.0

    def __init__(self, name: str, files: list[str], locations: npt.NDArray[np.int64], decode: bool) -> None:
        self.ending, self.files, self.locations = name.rpartition(".")[2], files, locations
        self.decode = image_column([], True).decode if decode and self.ending in _IMAGES else None

    def read(self, indices: Indices) -> Column:
        values: list[Any] = []
        file, opened = None, -1
        try:
            for index in indices.tolist():
                number, offset, size = self.locations[index].tolist()
                if number != opened:
                    if file is not None:
                        file.close()
                    file, opened = open(self.files[number], "rb", buffering=0), number  # noqa: SIM115
                assert file is not None
                data = os.pread(file.fileno(), size, offset)
                try:
                    values.append(self.value(data))
                except (ValueError, UnicodeDecodeError) as error:
                    failed = FormatError(f"the {self.ending} at byte {offset} cannot be read: {error}")
                    failed.row_index = index  # type: ignore[attr-defined]
                    raise failed from error
        finally:
            if file is not None:
                file.close()
        return values

    def value(self, data: bytes) -> Any:
        if self.ending in _NUMBERS:
            return np.array(int(data), np.int64)
        if self.ending in _TEXTS:
            return np.array(data.decode("utf-8"))
        if self.ending == "npy":
            return np.load(io.BytesIO(data), allow_pickle=False)
        raw = np.frombuffer(data, np.uint8)
        return raw.copy() if self.decode is None else self.decode(raw)

    def all(self) -> npt.NDArray[Any]:
        return np.array(self.read(np.arange(len(self.locations))))

    def where(self, index: int) -> str | None:
        return self.files[int(self.locations[index][0])]
