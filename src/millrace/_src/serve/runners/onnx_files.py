"""Check untrusted ONNX files: bounded size, no references to other files.

Only the structure is parsed; weights are skipped by their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

from millrace._src.core import limits
from millrace._src.core.errors import FormatError
from millrace._src.core.io.stored_zip import read_regular_file

__all__ = ["check_onnx", "read_onnx"]

# Message type -> numbers of the fields that lead to a tensor or an operator.
_INSIDE = {
    "Model": {7: "Graph", 20: "Training", 25: "Function"},
    "Training": {1: "Graph", 2: "Graph"},
    "Function": {7: "Node", 11: "Attribute"},
    "Graph": {1: "Node", 5: "Tensor", 15: "SparseTensor"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph", 22: "SparseTensor", 23: "SparseTensor"},
    "SparseTensor": {1: "Tensor", 2: "Tensor"},
    "Tensor": {},
}
_EXTERNAL = {13, 14}  # of a tensor: external_data and data_location
_OPERATOR = 4  # of a node
_CONTEXT = b"EPContext"  # an operator that references the file of a compiled model
_DEPTH = 64


def read_onnx(path: str) -> bytes:
    """Read and check an ONNX file within the limits. Raises FormatError if it is refused."""
    data = read_regular_file(path, limits.ARCHIVE.onnx_bytes)
    try:
        check_onnx(data)
    except FormatError as error:
        raise FormatError(error.message, file=path) from error
    return data


def check_onnx(data: bytes) -> None:
    """Raise FormatError if a model is too large, damaged, or references another file."""
    if len(data) > limits.ARCHIVE.onnx_bytes:
        raise FormatError(f"the ONNX model has {len(data)} bytes, more than {limits.ARCHIVE.onnx_bytes}")
    view = memoryview(data)
    pending = [("Model", 0, len(data), 0)]
    try:
        while pending:
            message, begin, end, depth = pending.pop()
            inside = _INSIDE[message]
            for number, start, stop in _iterate_fields(view, begin, end):
                if message == "Tensor" and number in _EXTERNAL:
                    _check_location(number, view, start, stop)
                elif message == "Node" and number == _OPERATOR and view[start:stop] == _CONTEXT:
                    raise FormatError("the ONNX model names a compiled model in another file (EPContext)")
                elif number in inside:
                    if depth >= _DEPTH:
                        raise ValueError("graphs are nested too deeply")
                    if stop < 0:
                        raise ValueError("expected a message, got a number")
                    pending.append((inside[number], start, stop, depth + 1))
    except (ValueError, IndexError) as error:
        raise FormatError(f"the ONNX model is damaged: {error}") from error


def _check_location(number: int, view: memoryview, start: int, stop: int) -> None:
    if number == 14 and stop < 0 and start == 0:
        return  # its data is inside the model
    raise FormatError(
        "the ONNX model has weights in another file (external data), which is not allowed. Save it as one "
        "file: onnx.save(onnx.load(path), new_path)"
    )


def _iterate_fields(view: memoryview, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, begin and end of each field of a message; for integer fields the number, the value and -1."""
    position = begin
    while position < end:
        key, position = _read_varint(view, position, end)
        wire = key & 7
        if wire == 0:
            value, position = _read_varint(view, position, end)
            yield key >> 3, value, -1
            continue
        if wire == 2:
            length, position = _read_varint(view, position, end)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"a field of the unknown type {wire}")
        if length > end - position:
            raise ValueError("a field is longer than its message")
        if wire == 2:
            yield key >> 3, position, position + length
        position += length


def _read_varint(view: memoryview, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 70:
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number is cut off")
