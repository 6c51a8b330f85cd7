"""Plain values as bytes and back, for calls that hand objects to other processes. No pickle: what comes over a socket
never runs code. JSON carries the shape of a value; what JSON lacks goes beside it under a mark."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.values.tensor import Tensor

__all__ = ["decode_object", "encode_object"]

_MARK = "__millrace__"


def encode_object(value: Any) -> bytes:
    """A value as bytes: numbers, text, bytes, None, lists, tuples, sets, dicts, arrays and Tensors.

    >>> decode_object(encode_object({"a": (1, b"x"), 2: [None, 1.5]}))
    {'a': (1, b'x'), 2: [None, 1.5]}
    """
    return json.dumps(_out(value), separators=(",", ":")).encode()


def decode_object(data: bytes) -> Any:
    """The value that `encode_object` wrote."""
    return _in(json.loads(data.decode()))


def _out(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_out(part) for part in value]
    if type(value) in (tuple, set, frozenset):
        return {_MARK: type(value).__name__, "value": [_out(part) for part in value]}
    if type(value) is dict:
        if all(type(key) is str and key != _MARK for key in value):
            return {key: _out(part) for key, part in value.items()}
        return {_MARK: "dict", "value": [[_out(key), _out(part)] for key, part in value.items()]}
    if isinstance(value, bytes):
        return {_MARK: "bytes", "value": base64.b64encode(value).decode()}
    if type(value) is complex:
        return {_MARK: "complex", "value": [value.real, value.imag]}
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        return _array(value)
    raise ArgumentTypeError(
        f"A {type(value).__name__} cannot go to other processes: numbers, text, bytes, None, lists, tuples, sets, "
        "dicts, NumPy arrays and Tensors can. Send what it is made of."
    )


def _array(value: Any) -> dict[str, Any]:
    kind = "tensor" if isinstance(value, Tensor) else "array" if isinstance(value, np.ndarray) else "number"
    array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype.hasobject:
        raise ArgumentTypeError("An array of Python objects cannot go to other processes.")
    return {
        _MARK: kind,
        "dtype": array.dtype.name if array.dtype.kind == "V" else array.dtype.str,
        "shape": list(array.shape),
        "value": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }


def _in(value: Any) -> Any:
    if isinstance(value, list):
        return [_in(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_MARK)
    if kind is None:
        return {key: _in(part) for key, part in value.items()}
    held = value["value"]
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](_in(part) for part in held)
    if kind == "dict":
        return {_in(key): _in(part) for key, part in held}
    if kind == "bytes":
        return base64.b64decode(held)
    if kind == "complex":
        return complex(*held)
    return _read_array(kind, value)


def _read_array(kind: str, value: dict[str, Any]) -> Any:
    data = base64.b64decode(value["value"])
    dtype = _dtype(value["dtype"])
    array = np.frombuffer(data, dtype).reshape(value["shape"]).copy()
    if kind == "tensor":
        return Tensor(array)
    return array if kind == "array" else array[()]


def _dtype(text: str) -> Any:
    try:
        return np.dtype(text)
    except TypeError:  # one of ml_dtypes
        from millrace._src.core.values import dtype as mstype

        return mstype.np_dtype(getattr(mstype, text))
