"""Base class and helpers of MindRecord converters."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentValueError, DataError
from millrace._src.core.progress_bar import progress
from millrace._src.data.formats.mindrecord.exceptions import ParamValueError
from millrace._src.data.formats.mindrecord.file_names import bad_character
from millrace._src.data.formats.mindrecord.writer import FileWriter, MSRStatus

__all__ = ["Converter", "check_partitions", "check_path", "map_in_threads", "encode_jpeg", "write_set"]

_BATCH = 256
T = TypeVar("T")
R = TypeVar("R")


class Converter:
    """Base of converters: ``transform()`` converts or raises; subclasses implement ``run()``."""

    def run(self, *args: Any) -> MSRStatus:
        """Convert, and return SUCCESS."""
        raise NotImplementedError

    def transform(self, *args: Any) -> MSRStatus:
        """Convert and return SUCCESS; the destination appears only when it is complete."""
        return self.run(*args)


def check_path(path: Any, name: str) -> str:
    """Convert a path to str; its last part must be a valid file name."""
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    if not isinstance(path, str):
        raise ArgumentValueError(f"The parameter {name} must be str.")
    base = os.path.basename(path.rstrip("/"))
    bad = bad_character(base)
    if bad is not None:
        raise ArgumentValueError(
            f"{name} {path!r} has the character {bad!r} in it, which no file name may have here"
        )
    if not base or base != base.strip(" "):
        raise ArgumentValueError(f"{name} {path!r} does not end in a usable file name")
    return path


def check_partitions(number: Any) -> int:
    """Check the number of files to write."""
    if type(number) is not int:
        raise ArgumentValueError("The parameter partition_number must be int")
    if not 1 <= number <= 1000:
        raise ParamValueError(f"partition_number must be from 1 to 1000, got {number}")
    return number


def check_fields(fields: Any) -> list[str] | None:
    """Check the index fields passed to transform()."""
    if fields and not isinstance(fields, list):
        raise ParamValueError("The parameter fields should be None or list")
    return fields or None


def write_set(
    destination: str,
    schema: Mapping[str, Any],
    desc: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    index: list[str] | None = None,
    shards: int = 1,
    page_size: int | None = None,
    total: int | None = None,
    overwrite: bool = False,
) -> MSRStatus:
    """Write rows as one set, with a progress bar on terminals."""
    writer = FileWriter(destination, shards, overwrite)
    if page_size is not None:
        writer.set_page_size(page_size)
    writer.add_schema(schema, desc)
    if index:
        writer.add_index(index)
    writer.open_and_set_header()  # fails early if the files exist
    left = iter(rows)
    try:
        with progress(f"writing {os.path.basename(destination)}", total) as count:
            while batch := list(itertools.islice(left, _BATCH)):
                writer.write_raw_data(batch)  # type: ignore[arg-type]
                count(len(batch))
        return writer.commit()
    finally:
        writer.discard()


def map_in_threads(function: Callable[[T], R], items: Iterable[T]) -> Iterable[R]:
    """Apply a function in a thread pool; yield the results in order, a few items ahead."""
    workers = max(2, min(16, os.cpu_count() or 1))
    left = iter(items)
    with ThreadPoolExecutor(workers, thread_name_prefix="mindrecord-convert") as pool:
        waiting = [pool.submit(function, item) for item in itertools.islice(left, 4 * workers)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(function, item) for item in itertools.islice(left, 1)]


def encode_jpeg(image: npt.NDArray[np.uint8]) -> bytes:
    """Encode an RGB image as JPEG, as MindSpore's converters do."""
    import cv2

    encoded, data = cv2.imencode(".jpeg", image[..., ::-1] if image.ndim == 3 else image)
    if not encoded:
        raise DataError(f"an image of shape {image.shape} cannot be encoded as JPEG")
    return bytes(data)
