"""Canonical bytes of plain data: equal bytes for equal values of equal types, in any process."""

from __future__ import annotations

import enum
import hashlib
import os
import struct
from typing import Any

import numpy as np

from millrace._src.core.stable_ids import is_ours, stored_name

__all__ = ["NotCanonical", "path_of", "canonical_bytes"]

# Of a larger array, this many bytes are hashed, in evenly spread blocks, unless the caller requests all.
MAX_BYTES = 16 << 20
BLOCK = 1 << 12
# From this length on, a container with values of one type is encoded in bulk.
BULK_LENGTH = 64


class NotCanonical(Exception):
    """The value is not plain data."""


def module_of(obj: Any) -> str:
    """The ``__module__`` of a class or function; "" where it has none, such as a manually created type.

    >>> module_of(int), module_of(type("X", (), {"__module__": None}))
    ('builtins', '')
    """
    return getattr(obj, "__module__", None) or ""


def path_of(obj: Any) -> bytes:
    """The bytes that identify a class or a function of C code: its stable id, or its module and name.

    The main script has the same name in workers.
    """
    module, name = stored_name(obj)
    if not module and is_ours(obj):
        return name.encode()
    return f"{'__main__' if module == '__mp_main__' else module}.{name}".encode()


def canonical_bytes(value: Any, most: int | None = MAX_BYTES) -> bytes:
    """The canonical bytes of a value; of arrays with more than ``most`` bytes only a part is hashed.

    Raises:
        NotCanonical: if the value is not plain data.

    >>> (
    ...     canonical_bytes({1, 2}) == canonical_bytes({2, 1}),
    ...     canonical_bytes(1) == canonical_bytes(1.0),
    ...     canonical_bytes([1]) == canonical_bytes((1,)),
    ... )
    (True, False, False)
    """
    if isinstance(value, np.ndarray):
        return b"a" + _array(value, most)
    out: list[bytes] = []
    _write(out, value, [])
    return b"".join(out)


def _put(out: list[bytes], tag: bytes, data: bytes) -> None:
    out += (tag, len(data).to_bytes(8, "little"), data)


def _write(out: list[bytes], value: Any, parents: list[int]) -> None:
    value_type = type(value)
    write = _EXACT.get(value_type)
    if write is not None:
        _put(out, *write(value))
    elif value_type in _CONTAINERS:
        if id(value) in parents:
            raise NotCanonical  # a circular reference
        _container(out, value_type, value, [*parents, id(value)])
    else:
        _put(out, *_encode_object(value))


def _container(out: list[bytes], container_type: type, value: Any, parents: list[int]) -> None:
    _put(out, container_type.__name__.encode(), len(value).to_bytes(8, "little"))
    if container_type is dict and len(value) >= BULK_LENGTH:
        _write(out, list(value), parents)
        _write(out, list(value.values()), parents)
    elif (
        container_type in (list, tuple)
        and len(value) >= BULK_LENGTH
        and (packed := _pack_uniform(value)) is not None
    ):
        _put(out, *packed)
    elif container_type is dict:
        for key, item in value.items():
            _write(out, key, parents)
            _write(out, item, parents)
    elif container_type in (set, frozenset):
        parts: list[bytes] = []
        for item in value:
            part: list[bytes] = []
            _write(part, item, parents)
            parts.append(b"".join(part))
        out += sorted(parts)
    else:
        for item in value:
            _write(out, item, parents)


def _pack_uniform(value: Any) -> tuple[bytes, bytes] | None:
    """Encode many values of one type in bulk: a vocabulary has a million words."""
    types = set(map(type, value))
    try:
        if types == {str}:
            lengths = np.fromiter(map(len, value), np.int64, len(value))
            return b"S", lengths.tobytes() + "".join(value).encode("utf-8", "surrogatepass")
        if types == {int}:
            return b"I", np.array(value, np.int64).tobytes()
        if types == {float}:
            return b"F", np.array(value, np.float64).tobytes()
    except OverflowError:
        pass
    return None


def _integer(value: int) -> tuple[bytes, bytes]:
    return b"i", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
_EXACT: dict[type, Any] = {
    type(None): lambda value: (b"n", b""),
    type(...): lambda value: (b"e", b""),
    type(NotImplemented): lambda value: (b"N", b""),
    bool: lambda value: (b"b", b"\1" if value else b"\0"),
    int: _integer,
    float: lambda value: (b"f", struct.pack("<d", value)),
    complex: lambda value: (b"c", struct.pack("<dd", value.real, value.imag)),
    str: lambda value: (b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: (b"y", value),
    bytearray: lambda value: (b"Y", bytes(value)),
    range: lambda value: (b"r", canonical_bytes([value.start, value.stop, value.step])),
    slice: lambda value: (b"l", canonical_bytes([value.start, value.stop, value.step])),
}


def _encode_object(value: Any) -> tuple[bytes, bytes]:
    if isinstance(value, enum.Enum):
        return b"E", path_of(type(value)) + b"." + value.name.encode()
    if isinstance(value, np.dtype):
        return b"d", _dtype(value)
    if isinstance(value, np.generic):
        if value.dtype.kind in "OV":
            raise NotCanonical
        return b"g", _dtype(value.dtype) + value.tobytes()
    if isinstance(value, np.ndarray):
        return b"a", _array(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return b"t", path_of(value)
    for base, write in _EXACT.items():  # a user's subclass of text or numbers
        if isinstance(value, base):
            return b"k", path_of(type(value)) + b"".join(write(value))
    if hasattr(type(value), "__fspath__"):
        return b"p", canonical_bytes(os.fspath(value))
    if isinstance(value, memoryview):
        return b"m", value.tobytes()
    if isinstance(value, np.ufunc):
        return b"u", value.__name__.encode()
    if hasattr(value, "__array__") and hasattr(value, "dtype") and hasattr(value, "shape"):
        return b"A", path_of(type(value)) + _encode_foreign_array(value)
    raise NotCanonical


def _dtype(value: np.dtype[Any]) -> bytes:
    return value.str.encode() if value.names is None else canonical_bytes(value.descr)


def _encode_foreign_array(value: Any) -> bytes:
    """Encode a tensor of another library through numpy."""
    try:
        return _array(np.asarray(value))
    except NotCanonical:
        raise
    except Exception as error:  # on a device, or part of a graph
        raise NotCanonical from error


def _array(value: np.ndarray[Any, Any], most: int | None = MAX_BYTES) -> bytes:
    if value.dtype.kind == "O":
        return b"O" + canonical_bytes([list(value.shape), value.reshape(-1).tolist()])
    head = _dtype(value.dtype) + canonical_bytes(list(value.shape))
    if value.size:
        flat = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    else:
        flat = np.zeros(0, np.uint8)
    hasher = hashlib.blake2b(digest_size=32)
    if most is None or flat.size <= most:
        hasher.update(flat.data)
    else:
        for start in np.linspace(0, flat.size - BLOCK, most // BLOCK, dtype=np.int64).tolist():
            hasher.update(flat[start : start + BLOCK].data)
    return head + hasher.digest()
