"""MATLAB 5 (.mat) files: safe reader, and a small writer."""

from __future__ import annotations

import math
import os
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

from .files.decompression import zlib_decompress

__all__ = ["MAX_BYTES", "read_mat", "write_mat"]

MAX_BYTES = 8 << 30
_MAX_SPARSE_ELEMENTS = 1 << 27  # elements; real matrices have the size of an image
_MAX_DEPTH = 16

_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
    16: "u1",
}
_TYPES |= {17: "u2", 18: "u4"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE = 1, 2, 3, 4, 5
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}


def read_mat(path: str | os.PathLike[str], names: list[str] | None = None) -> dict[str, Any]:
    """Read the variables of a file, or only those named.

    Cells become lists, structs dicts (several structs a list of dicts), sparse matrices dense arrays.

    >>> import struct
    >>> body = struct.pack("<IIII", 6, 8, 9, 0) + struct.pack("<IIii", 5, 8, 1, 2)
    >>> body += struct.pack("<HH4s", 1, 1, b"x") + struct.pack("<HH4s", 2, 2, bytes([7, 8]))
    >>> with open("a.mat", "wb") as file:
    ...     _ = file.write(b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 256, 0x4D49))
    ...     _ = file.write(struct.pack("<II", 14, len(body)) + body)
    >>> read_mat("a.mat")["x"].tolist()
    [[7, 8]]
    """
    name = os.fspath(path)
    try:
        if os.path.getsize(name) > MAX_BYTES:
            raise FormatError(f"a .mat file of more than {MAX_BYTES} bytes cannot be read", file=name)
        with open(name, "rb") as file:
            data = memoryview(file.read())
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {name} ({error.strerror})", file=name) from error
    if bytes(data[:8]) == b"\x89HDF\r\n\x1a\n" or bytes(data[:19]) == b"MATLAB 7.3 MAT-file":
        raise FormatError("a MATLAB 7.3 file (HDF5) cannot be read: save it with -v7", file=name)
    if len(data) < 128 or bytes(data[126:128]) not in (b"IM", b"MI"):
        raise FormatError("Invalid file, this is not a MATLAB 5 file", file=name)
    reader = _MatReader(name, "<" if bytes(data[126:128]) == b"IM" else ">", names)
    try:
        return reader.variables(data[128:])
    except (
        struct.error,
        ValueError,
        IndexError,
        KeyError,
        zlib.error,
        UnicodeError,
        RecursionError,
    ) as error:
        raise FormatError(f"the .mat file is damaged: {error}", file=name) from error


class _MatReader:
    def __init__(self, path: str, order: str, names: list[str] | None) -> None:
        self.path, self.order, self.names = path, order, names

    def element(self, data: memoryview, offset: int) -> tuple[int, memoryview, int]:
        """(type, payload, offset of the next element) of the element at this offset."""
        type_code, size = struct.unpack_from(self.order + "II", data, offset)
        if type_code >> 16:  # small element: length and payload are inside the tag
            return type_code & 0xFFFF, data[offset + 4 : offset + 4 + min(type_code >> 16, 4)], offset + 8
        payload = data[offset + 8 : offset + 8 + size]
        if len(payload) < size:
            raise ValueError(f"it ends inside an element of {size} bytes")
        return type_code, payload, offset + 8 + (size if type_code == _COMPRESSED else (size + 7) // 8 * 8)

    def variables(self, data: memoryview) -> dict[str, Any]:
        values: dict[str, Any] = {}
        offset = 0
        while offset < len(data):
            type_code, payload, offset = self.element(data, offset)
            if type_code == _COMPRESSED:
                type_code, payload, _ = self.element(memoryview(zlib_decompress(payload, self.path)), 0)
            if type_code != _MATRIX:
                continue
            name, value = self.matrix(payload, 0)
            if self.names is None or name in self.names:
                values[name] = value
        return values

    def numbers(self, data: memoryview, offset: int) -> tuple[npt.NDArray[Any], int]:
        type_code, payload, offset = self.element(data, offset)
        return np.frombuffer(payload, self.order + _TYPES[type_code]), offset

    def matrix(self, data: memoryview, depth: int) -> tuple[str, Any]:
        if depth > _MAX_DEPTH:
            raise ValueError(f"cells and structs are nested more than {_MAX_DEPTH} deep")
        if not len(data):
            return "", np.zeros((0, 0))
        flags, offset = self.numbers(data, 0)
        sizes, offset = self.numbers(data, offset)
        shape = tuple(int(n) for n in sizes)
        if any(n < 0 for n in shape) or not 1 <= len(shape) <= 32:
            raise ValueError(f"the shape {shape} is impossible")
        _, raw, offset = self.element(data, offset)
        name, code, count = bytes(raw).decode("latin-1"), int(flags[0]) & 0xFF, math.prod(shape)
        if code in (_CELL, _STRUCT, _OBJECT) and count > len(data):
            raise ValueError("it claims more cells than it has bytes")
        if depth == 0 and self.names is not None and name not in self.names:
            return name, None
        if code == _CELL:
            return name, self.read_cells(data, offset, count, depth)[0]
        if code == _STRUCT:
            return name, self.struct(data, offset, count, depth)
        if code == _SPARSE:
            return name, self.read_sparse(data, offset, shape)
        if code == _CHAR:
            type_code, raw, offset = self.element(data, offset)
            codec = {17: "utf-16", 18: "utf-32"}.get(type_code, "utf-8" if type_code == 16 else "latin-1")
            if codec.startswith("utf-") and codec != "utf-8":
                codec += "-le" if self.order == "<" else "-be"
            return name, bytes(raw).decode(codec)
        if code not in _CLASSES:
            raise ValueError(f"a variable of class {code} (a function or object) cannot be read")
        values, offset = self.numbers(data, offset)
        if values.size != count:
            raise ValueError(f"{values.size} numbers for the shape {shape}")
        return name, values.astype(_CLASSES[code]).reshape(shape, order="F")

    def read_cells(self, data: memoryview, offset: int, count: int, depth: int) -> tuple[list[Any], int]:
        cells = []
        for _ in range(count):
            _, payload, offset = self.element(data, offset)
            cells.append(self.matrix(payload, depth + 1)[1])
        return cells, offset

    def struct(self, data: memoryview, offset: int, count: int, depth: int) -> Any:
        width, offset = self.numbers(data, offset)
        _, raw, offset = self.element(data, offset)
        step = int(width[0])
        if step <= 0:
            raise ValueError("field names of no length")
        texts = [bytes(raw[i : i + step]) for i in range(0, len(raw), step)]
        fields = [text.split(b"\0")[0].decode("latin-1") for text in texts]
        structs = []
        for _ in range(count):
            values, offset = self.read_cells(data, offset, len(fields), depth)
            structs.append(dict(zip(fields, values)))
        return structs[0] if count == 1 else structs

    def read_sparse(self, data: memoryview, offset: int, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        rows, offset = self.numbers(data, offset)
        ends, offset = self.numbers(data, offset)
        values, offset = self.numbers(data, offset)
        if len(shape) != 2 or len(ends) != shape[1] + 1 or math.prod(shape) > _MAX_SPARSE_ELEMENTS:
            raise ValueError(f"a sparse matrix of the shape {shape} cannot be read")
        used = int(ends[-1])
        columns = np.repeat(np.arange(shape[1]), np.diff(ends))
        if len(values) < used or len(columns) != used or len(rows) < used or (rows[:used] < 0).any():
            raise ValueError("the sparse matrix's parts do not fit together")
        dense = np.zeros(shape, np.float64)
        dense[rows[:used], columns] = values[:used]
        return dense


def write_mat(path: str | os.PathLike[str], variables: dict[str, Any]) -> None:
    """Write an uncompressed file of numeric arrays and dicts of arrays (structs).

    >>> write_mat("b.mat", {"labels": np.array([[1, 2]], np.uint8), "part": {"x": np.eye(2)}})
    >>> read_mat("b.mat")["part"]["x"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)
    with open(path, "wb") as file:
        file.write(head + b"".join(_pack_matrix(name, value) for name, value in variables.items()))


def _pack_element(type_code: int, data: bytes) -> bytes:
    return struct.pack("<II", type_code, len(data)) + data.ljust((len(data) + 7) // 8 * 8, b"\0")


def _pack_matrix(name: str, value: Any) -> bytes:
    if isinstance(value, dict):
        code, shape = _STRUCT, (1, 1)
        names = b"".join(key.encode("latin-1").ljust(32, b"\0") for key in value)
        body = _pack_element(5, struct.pack("<i", 32)) + _pack_element(1, names)
        body += b"".join(_pack_matrix("", inner) for inner in value.values())
    else:
        array = np.atleast_2d(np.asarray(value))
        code = next(c for c, dtype in _CLASSES.items() if dtype == array.dtype.str[1:])
        type_code = next(c for c, dtype in _TYPES.items() if dtype == array.dtype.str[1:])
        body, shape = (
            _pack_element(type_code, array.astype(f"<{array.dtype.str[1:]}").tobytes(order="F")),
            array.shape,
        )
    described = _pack_element(6, struct.pack("<II", code, 0)) + _pack_element(
        5, np.array(shape, "<i4").tobytes()
    )
    whole = described + _pack_element(1, name.encode("latin-1")) + body
    return struct.pack("<II", _MATRIX, len(whole)) + whole
