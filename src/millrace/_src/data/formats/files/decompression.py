"""Bounded decompression of gzip and zlib files, which protects against decompression bombs.

The decompressed size may be ``RATIO`` times the file size, and at least ``ALWAYS`` bytes. Deflate compresses a run of
equal bytes by a factor of 1000; real training data stays far below 100.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from millrace._src.core.errors import FormatError

__all__ = ["DecompressedFile", "zlib_decompress", "max_decompressed_size"]

RATIO = 200
ALWAYS = 256 << 20
STEP = 8 << 20


def max_decompressed_size(size: int) -> int:
    """Maximum decompressed size of this many compressed bytes.

    >>> max_decompressed_size(100) == 256 << 20, max_decompressed_size(1 << 30) == 200 << 30
    (True, True)
    """
    return max(ALWAYS, RATIO * size)


def too_large_error(path: str, size: int) -> FormatError:
    """The error for a file whose decompressed size exceeds the limit."""
    return FormatError(
        f"Invalid file. {path} has {size} bytes and would unpack to more than "
        f"{max_decompressed_size(size)}: it is damaged, or "
        "made to fill the memory. If it is what you want, unpack it yourself and read it uncompressed",
        file=path,
    )


def zlib_decompress(data: bytes | memoryview, path: str) -> bytes:
    """Decompress zlib data of bounded size.

    >>> zlib_decompress(zlib.compress(b"hello"), "x")
    b'hello'
    """
    max_size = max_decompressed_size(len(data))
    stream = zlib.decompressobj()
    decompressed = stream.decompress(data, max_size + 1)
    if len(decompressed) > max_size:
        raise too_large_error(path, len(data))
    if not stream.eof:
        raise ValueError("the compressed data ends too early")
    return decompressed


class DecompressedFile:
    """Opener that decompresses a file into an unnamed temporary file."""

    def __init__(self, compression: str) -> None:
        self.compression = compression

    def __call__(self, path: str) -> int:
        with tempfile.TemporaryFile() as target:
            try:
                with open(path, "rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    bytes_left = max_decompressed_size(size)
                    for data in _gunzip(file) if self.compression == "GZIP" else _inflate(file):
                        bytes_left -= len(data)
                        if bytes_left < 0:
                            raise too_large_error(path, size)
                        target.write(data)
            except (OSError, EOFError, zlib.error) as error:
                raise FormatError(
                    f"Invalid file. {path} cannot be unpacked as {self.compression}: {error}", file=path
                ) from error
            target.flush()
            return os.dup(target.fileno())


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as inner:
        while data := inner.read(STEP):
            yield data


def _inflate(file: BinaryIO) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    while data := file.read(1 << 20):
        while data:
            yield stream.decompress(data, STEP)
            data = stream.unconsumed_tail
    if not stream.eof:
        raise EOFError("the data ends too early")
