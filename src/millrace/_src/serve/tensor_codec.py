"""Tensors on the wire: datatypes and shapes of the Open Inference Protocol, conversion to and from arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ServeError

from .limits import BYTES_ELEMENT

__all__ = [
    "DATATYPES",
    "Array",
    "TensorSpec",
    "array_from_list",
    "element_size",
    "from_bytes",
    "join_bytes",
    "split_bytes",
    "datatype_of",
]

Array = npt.NDArray[Any]

# Datatype of the protocol -> dtype. BYTES is an array of bytes objects.
DATATYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BYTES": np.dtype(object),
}
_DATATYPE_NAMES = {dtype: name for name, dtype in DATATYPES.items()}
MOST_AXES = 32


def datatype_of(dtype: np.dtype[Any]) -> str:
    """Datatype of the protocol for a dtype; text and bytes are BYTES.

    >>> datatype_of(np.dtype("float32")), datatype_of(np.dtype("<U5"))
    ('FP32', 'BYTES')
    """
    if dtype.kind in "SUO":
        return "BYTES"
    try:
        return _DATATYPE_NAMES[dtype]
    except KeyError:
        raise ServeError(f"a tensor of type {dtype} has no datatype in the protocol", 500) from None


class TensorSpec(NamedTuple):
    """Name, datatype and shape of an input or output; a length of -1 is dynamic."""

    name: str
    datatype: str
    shape: tuple[int, ...]

    def described(self) -> dict[str, Any]:
        """Description in the metadata of the protocol."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}

    def check(self, datatype: str, shape: Sequence[Any], most: int) -> int:
        """Number of elements of an input; raises ServeError if datatype or shape do not match the model.

        It runs before memory is allocated: a shape from a client may be arbitrary.
        """
        if datatype != self.datatype:
            raise ServeError(
                f"input '{self.name}': expected datatype {self.datatype}, got {str(datatype)[:40]!r}"
            )
        if len(shape) > MOST_AXES:
            raise ServeError(
                f"input '{self.name}': expected shape {self._shown()}, got one of {len(shape)} axes"
            )
        lengths = tuple(shape)
        if any(type(n) is not int or n < 0 for n in lengths):
            raise ServeError(
                f"input '{self.name}': a shape has integers from 0 on, got {str(list(lengths))[:80]}"
            )
        if len(lengths) != len(self.shape) or any(
            mine not in (n, -1) for mine, n in zip(self.shape, lengths, strict=True)
        ):
            raise ServeError(
                f"input '{self.name}': expected shape {self._shown()}, got {str(list(lengths))[:80]}"
            )
        # other lengths count even if one is 0: too many empty rows are refused, too
        itemsize = BYTES_ELEMENT if datatype == "BYTES" else DATATYPES[datatype].itemsize
        if math.prod(n or 1 for n in lengths) * itemsize > most:
            raise ServeError(
                f"input '{self.name}': shape {str(list(lengths))[:80]} of {datatype} is more than the server's limit "
                f"of {most} bytes",
                413,
            )
        return math.prod(lengths)

    def _shown(self) -> str:
        return str(list(self.shape))


def array_from_list(
    spec: TensorSpec, count: int, values: Sequence[Any] | Array, shape: Sequence[int]
) -> Array:
    """Convert a list of values to an array; `count` is the number of elements of the shape."""
    dtype = DATATYPES[spec.datatype]
    if dtype.hasobject:
        array = np.empty(count, object)
        array[:] = [each if isinstance(each, bytes) else str(each).encode() for each in values]
        return array.reshape(shape)
    if dtype.kind in "iu":
        try:
            wide = np.array(values, np.uint64 if dtype == np.uint64 else np.int64)
        except (OverflowError, ValueError, TypeError) as error:
            raise ServeError(f"input '{spec.name}': {error}") from None
        limits = np.iinfo(dtype)
        if wide.size and (wide.min() < limits.min or wide.max() > limits.max):
            raise ServeError(
                f"input '{spec.name}': {spec.datatype} holds {limits.min} to {limits.max}, "
                f"got {wide.min()} to {wide.max()}"
            )
        return wide.astype(dtype, copy=False).reshape(shape)
    try:
        return np.array(values, dtype).reshape(shape)
    except (OverflowError, ValueError, TypeError) as error:
        raise ServeError(f"input '{spec.name}': {error}") from None


def from_bytes(spec: TensorSpec, count: int, data: Any, shape: Sequence[int]) -> Array:
    """View bytes as an array, without a copy."""
    if spec.datatype == "BYTES":
        array = np.empty(count, object)
        array[:] = split_bytes(data, count, spec.name)
        return array.reshape(shape)
    dtype = DATATYPES[spec.datatype]
    if len(data) != count * dtype.itemsize:
        raise ServeError(
            f"input '{spec.name}': shape {list(shape)} of {spec.datatype} is {count * dtype.itemsize} bytes, "
            f"got {len(data)}"
        )
    return np.frombuffer(data, dtype).reshape(shape)


def split_bytes(data: Any, count: int, name: str) -> list[bytes]:
    """Split the elements of a BYTES tensor; each is preceded by its length in four bytes."""
    elements: list[bytes] = []
    view, at, end = memoryview(data), 0, len(data)
    while at < end and len(elements) <= count:
        if end - at < 4:
            break
        length = int.from_bytes(view[at : at + 4], "little")
        if length > end - at - 4:
            raise ServeError(
                f"input '{name}': element {len(elements)} has {length} bytes, but only {end - at - 4} are left"
            )
        elements.append(bytes(view[at + 4 : at + 4 + length]))
        at += 4 + length
    if at != end or len(elements) != count:
        raise ServeError(
            f"input '{name}': expected {count} elements of BYTES, got {len(elements)} in {end} bytes"
        )
    return elements


def element_size(value: Any) -> int:
    """Upper bound of the encoded size of an element of a BYTES tensor."""
    return len(value) if isinstance(value, bytes) else 4 * len(str(value))


def join_bytes(values: Iterable[Any]) -> bytes:
    """Encode the elements of a BYTES tensor."""
    parts: list[bytes] = []
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode()
        parts += (len(data).to_bytes(4, "little"), data)
    return b"".join(parts)
