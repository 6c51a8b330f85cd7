"""Write and read ``.ckpt`` files, with checksum and encryption."""

from __future__ import annotations

import math
import mmap
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import CheckpointError
from millrace._src.core.io import encrypted_stream
from millrace._src.core.io import encryption as sealed

from . import ckpt_protobuf as wire
from .atomic_file import AtomicFile
from .ckpt_protobuf import CHUNK, CRC_BYTES, CRC_MARK, CorruptCheckpointError, Record
from .state_entries import DTYPES_BY_NAME, TEXT, StateEntry, raw

# Type names of the three parts of a hash table.
_NUMPY_TYPES = frozenset(
    (
        "bool",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
        "float16",
        "float32",
        "float64",
    )
)

_MAGIC = {**sealed.MAGIC, encrypted_stream.MODE: encrypted_stream.MAGIC}

__all__ = ["check", "contents", "records", "text_of", "to_numpy", "to_torch", "total", "write"]


# --- writing ------------------------------------------------------------------------------------------------


def total(entries: Iterable[StateEntry]) -> int:
    """Upper estimate of the file size of these entries."""
    return sum(
        entry.nbytes + (64 + 2 * len(entry.name) + 10 * len(entry.dims)) * (1 + entry.nbytes // CHUNK)
        for entry in entries
    )


def write(
    draft: AtomicFile,
    entries: Iterable[StateEntry],
    by_rows: bool = False,
    key: bytes | None = None,
    mode: str = "AES-GCM",
    crc: bool = False,
    chunk: int = CHUNK,
) -> None:
    """Write entries, whose tensors are in host memory.

    ``by_rows`` is the layout of MindSpore's asynchronous saves: large values are split along their first axis, and
    empty values are written too. Otherwise large values are split every ``chunk`` bytes.
    """
    checksum = 0
    cipher: encrypted_stream.StreamWriter | _BlockWriter | None = None
    if key is not None and mode == encrypted_stream.MODE:
        cipher = encrypted_stream.StreamWriter(draft.write, key)
    elif key is not None:
        cipher = _BlockWriter(draft, key, mode)
    target = draft if cipher is None else cipher
    for entry in entries:
        for part in _encode_messages(entry, by_rows, chunk):
            if crc:
                checksum = zlib.crc32(part, checksum)
            target.write(part)
    if cipher is not None:
        cipher.finish()
    if crc:
        draft.write(CRC_MARK + checksum.to_bytes(10, "big"))


class _BlockWriter:
    """Encrypt written data in MindSpore's format: blocks with separate authentication, or without any (CBC)."""

    def __init__(self, draft: AtomicFile, key: bytes, mode: str) -> None:
        self._draft, self._key, self._mode = draft, key, mode
        self._pending = bytearray()

    def write(self, data: bytes | memoryview) -> None:
        self._pending += data
        while len(self._pending) >= sealed.BLOCK:
            self._draft.write(
                sealed.encrypt_block(bytes(self._pending[: sealed.BLOCK]), self._key, self._mode)
            )
            del self._pending[: sealed.BLOCK]

    def finish(self) -> None:
        if self._pending:
            self._draft.write(sealed.encrypt_block(bytes(self._pending), self._key, self._mode))


def _encode_messages(entry: StateEntry, by_rows: bool, chunk: int) -> Iterator[bytes | memoryview]:
    data = raw(entry.data)
    if not len(data) and not by_rows:
        return
    for start, end in _chunk_ranges(entry, len(data), by_rows, chunk):
        yield wire.head(entry.name, entry.element_type, entry.dims, end - start)
        yield data[start:end]


def _chunk_ranges(entry: StateEntry, size: int, by_rows: bool, chunk: int) -> Iterator[tuple[int, int]]:
    if size <= chunk:
        yield 0, size
    elif by_rows and entry.element_type != TEXT:
        parts, rows = -(-size // chunk), entry.dims[0]
        row, remainder, start = size // rows, rows % parts, 0
        for part in range(parts):
            end = start + row * (rows // parts + (part < remainder))
            yield start, end
            start = end
    else:
        for start in range(0, size, chunk):
            yield start, min(size, start + chunk)


# --- reading ------------------------------------------------------------------------------------------------


def contents(path: Path, key: bytes | None, mode: str, check: bool) -> tuple[Any, bool]:
    """Read the messages of a file as a buffer, and whether its end is verified.

    A checksum (computed if ``check`` is set) or the authentication of an encrypted stream verifies it. A plain file is
    memory-mapped, an encrypted one is decrypted into memory.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        if not size:
            return b"", False
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    first = struct.unpack_from("<I", mapped)[0] if size >= 4 else 0
    file_mode = next((name for name, magic in _MAGIC.items() if magic == first), None)
    if key is not None:
        return _decrypt(mapped, size, key, mode, file_mode), file_mode == encrypted_stream.MODE
    if file_mode is not None:
        raise CheckpointError(
            f"the file is encrypted ({file_mode}): give its key as dec_key, and dec_mode={file_mode!r}. "
            "Model.train takes the enc_key of the ModelCheckpoint among its callbacks"
        )
    view = memoryview(mapped)
    if size < CRC_BYTES or bytes(view[size - CRC_BYTES : size - 10]) != CRC_MARK:
        return view, False
    plain = view[: size - CRC_BYTES]
    if check and zlib.crc32(plain) != int.from_bytes(view[size - 10 :], "big"):
        raise CorruptCheckpointError("the checksum at the end does not match the contents", size - CRC_BYTES)
    return plain, True


def _decrypt(mapped: mmap.mmap, size: int, key: bytes, mode: str, file_mode: str | None) -> bytearray:
    if file_mode is None:
        raise CheckpointError("dec_key was given, and the file is not encrypted: load it without dec_key")
    if file_mode != mode:
        raise CheckpointError(f"dec_mode is {mode!r}, and the file is encrypted as {file_mode!r}")
    plain, at = bytearray(), 0
    if mode == encrypted_stream.MODE:
        view = memoryview(mapped)
        try:
            for block in encrypted_stream.decrypt_blocks(lambda start, end: view[start:end], size, key):
                plain += block
        except sealed.DecryptionError as error:
            raise CheckpointError(f"cannot decrypt: {error}; check dec_key") from None
        return plain
    while at < size:
        try:
            after = at + sealed.block_size(mapped[at : at + 64], mode)
            if after > size:
                raise sealed.DecryptionError(f"an encrypted block of {after - at} bytes is cut short")
            plain += sealed.decrypt_block(mapped[at:after], key, mode)
        except sealed.DecryptionError as error:
            raise CheckpointError(
                f"cannot decrypt at byte {at}: {error}; check dec_key and dec_mode"
            ) from None
        at = after
    return plain


def records(buffer: Any) -> Iterator[Record]:
    """Records of a file with joined chunks and checked lengths."""
    for record in wire.join(wire.scan(buffer)):
        for each in record.parts or [record]:
            check(each, inside=bool(record.parts))
        yield record


def check(record: Record, inside: bool = False) -> None:
    """Check the length of a value against its shape and type."""
    if record.element_type == TEXT:
        if record.nbytes % 4:
            raise CorruptCheckpointError(
                f"a text has {record.nbytes} bytes, not four for each character", record.offset, record.name
            )
        return
    if inside:
        size = np.dtype(record.element_type).itemsize if record.element_type in _NUMPY_TYPES else 0
    else:
        dtype = DTYPES_BY_NAME.get(record.element_type)
        size = 0 if dtype is None or dtype.numpy is None else dtype.numpy.itemsize
        if record.dims == (0,) and record.nbytes:
            record.dims = ()  # older files encode scalars like this
    if not size:
        packed = " (two numbers to a byte: a packing for Ascend)" if record.element_type == "Int4" else ""
        raise CorruptCheckpointError(
            f"nothing here has the element type {record.element_type!r}{packed}", record.offset, record.name
        )
    wanted = math.prod(record.dims) * size
    if math.prod(filter(None, record.dims)) >= 1 << 62:
        raise CorruptCheckpointError(f"the shape {list(record.dims)} cannot be", record.offset, record.name)
    if record.nbytes != wanted:
        raise CorruptCheckpointError(
            f"{record.element_type}{list(record.dims)} is {wanted} bytes, and {record.nbytes} are there",
            record.offset,
            record.name,
        )


def to_torch(buffer: Any, record: Record) -> torch.Tensor:
    """Copy the elements of a record to a tensor."""
    from millrace._src.runtime.tensor.storage import TORCH_DTYPES

    storage = torch.empty(record.nbytes, dtype=torch.uint8)
    target, at = storage.numpy(), 0
    for start, end in record.spans:
        target[at : at + end - start] = np.frombuffer(buffer, np.uint8, end - start, start)
        at += end - start
    return storage.view(TORCH_DTYPES[DTYPES_BY_NAME[record.element_type]]).reshape(record.dims)


def to_numpy(buffer: Any, record: Record) -> np.ndarray[Any, Any]:
    """Elements of a record as an array; the parts of a hash table use numpy's type names."""
    joined = b"".join(bytes(buffer[start:end]) for start, end in record.spans)
    return np.frombuffer(joined, record.element_type).reshape(record.dims)


def text_of(buffer: Any, record: Record) -> str:
    """Decode a string; trailing NULs are padding."""
    joined = b"".join(bytes(buffer[start:end]) for start, end in record.spans)
    try:
        return joined.decode("utf-32-le", "surrogatepass").rstrip("\0")
    except UnicodeDecodeError:
        raise CorruptCheckpointError(
            "a text holds what is no character", record.offset, record.name
        ) from None
