"""IDX files (the MNIST format): read or memory-map arrays, plain or gzipped."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

from .files.decompression import max_decompressed_size

__all__ = ["map_idx", "read_idx"]

_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: str | os.PathLike[str], rank: int | None = None) -> npt.NDArray[Any]:
    """Read the array of an IDX file; ``rank`` is the required number of dimensions.

    >>> with open("labels-idx1-ubyte", "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 5]))
    >>> read_idx("labels-idx1-ubyte").tolist()
    [7, 5]
    """
    name, size = str(path), os.path.getsize(path)
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path, "rb") if packed else open(path, "rb") as file:
            head = file.read(4)
            if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _TYPES or not 1 <= head[3] <= 8:
                raise FormatError("this is not an IDX file", file=name)
            if rank is not None and head[3] != rank:
                raise FormatError(f"the file has {head[3]} dimensions, {rank} are needed", file=name)
            sizes = file.read(4 * head[3])
            shape = [int.from_bytes(sizes[4 * n : 4 * n + 4], "big") for n in range(head[3])]
            dtype = np.dtype(_TYPES[head[2]])
            expected = math.prod(shape) * dtype.itemsize
            if len(sizes) < 4 * head[3] or expected > (max_decompressed_size(size) if packed else size):
                raise FormatError(f"the dimensions {shape} are damaged: the file has {size} bytes", file=name)
            parts, bytes_left = list[bytes](), expected + 1  # one extra byte detects trailing data
            while bytes_left and (part := file.read(min(1 << 20, bytes_left))):
                parts.append(part)
                bytes_left -= len(part)
            data = b"".join(parts)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"the file is damaged: {error}", file=name) from error
    if len(data) != expected:
        size_text = f"{len(data)}" if len(data) < expected else f"more than {expected}"
        raise FormatError(f"the file holds {size_text} bytes, {shape} needs {expected}", file=name)
    return np.frombuffer(data, dtype).reshape(shape)


def map_idx(path: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Memory-map an IDX file of bytes; ``shape`` is the shape of one element.

    >>> with open("images-idx2-ubyte", "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]))
    >>> map_idx("images-idx2-ubyte", (3,)).tolist()
    [[7, 8, 9]]
    """
    try:
        with open(path, "rb") as file:
            head = file.read(4 + 4 * (1 + len(shape)))
            size = os.fstat(file.fileno()).st_size - len(head)
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {path} ({error.strerror})", file=path) from error
    if head[:3] != b"\0\0\x08" or head[3:4] != bytes([1 + len(shape)]):
        raise FormatError(
            f"Invalid file, this is not an IDX file of {1 + len(shape)} dimensions of bytes", file=path
        )
    count, *stored_shape = [int.from_bytes(head[i : i + 4], "big") for i in range(4, len(head), 4)]
    if tuple(stored_shape) != shape:
        raise FormatError(
            f"Invalid file, elements have the shape {stored_shape}, {list(shape)} is needed", file=path
        )
    if size != count * math.prod(shape):
        raise FormatError(
            f"the file holds {size} bytes, {count} elements of {list(shape)} are declared", file=path
        )
    if not count:
        return np.zeros((0, *shape), np.uint8)
    return np.memmap(path, np.uint8, "r", len(head), (count, *shape))
