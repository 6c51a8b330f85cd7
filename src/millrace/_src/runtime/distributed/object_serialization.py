"""Safe serialization of Python values for object collectives.

It uses JSON and no pickle: data from a socket never runs code. Types that JSON lacks are objects with a
marker key.
"""

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
    """Serialize a value: numbers, text, bytes, None, lists, tuples, sets, dicts, arrays and Tensors.

    >>> decode_object(encode_object({"a": (1, b"x"), 2: [None, 1.5]}))
    {'a': (1, b'x'), 2: [None, 1.5]}
    """
    return json.dumps(_to_json(value), separators=(",", ":")).encode()


def decode_object(data: bytes) -> Any:
    """Deserialize the output of `encode_object`."""
    return _from_json(json.loads(data.decode()))


def _to_json(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_to_json(part) for part in value]
    if type(value) in (tuple, set, frozenset):
        return {_MARK: type(value).__name__, "value": [_to_json(part) for part in value]}
    if type(value) is dict:
        if all(type(key) is str and key != _MARK for key in value):
            return {key: _to_json(part) for key, part in value.items()}
        return {_MARK: "dict", "value": [[_to_json(key), _to_json(part)] for key, part in value.items()]}
    if isinstance(value, bytes):
        return {_MARK: "bytes", "value": base64.b64encode(value).decode()}
    if type(value) is complex:
        return {_MARK: "complex", "value": [value.real, value.imag]}
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        return _array_to_json(value)
    raise ArgumentTypeError(
        f"A {type(value).__name__} cannot be sent to other processes: numbers, text, bytes, None, lists, tuples, sets, "
        "dicts, NumPy arrays and Tensors can. Send its parts."
    )


def _array_to_json(value: Any) -> dict[str, Any]:
    marker = "tensor" if isinstance(value, Tensor) else "array" if isinstance(value, np.ndarray) else "number"
    array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype.hasobject:
        raise ArgumentTypeError("An array of Python objects cannot be sent to other processes.")
    return {
        _MARK: marker,
        "dtype": array.dtype.name if array.dtype.kind == "V" else array.dtype.str,
        "shape": list(array.shape),
        "value": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    marker = value.get(_MARK)
    if marker is None:
        return {key: _from_json(part) for key, part in value.items()}
    content = value["value"]
    if marker in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[marker](
            _from_json(part) for part in content
        )
    if marker == "dict":
        return {_from_json(key): _from_json(part) for key, part in content}
    if marker == "bytes":
        return base64.b64decode(content)
    if marker == "complex":
        return complex(*content)
    return _array_from_json(marker, value)


def _array_from_json(marker: str, value: dict[str, Any]) -> Any:
    data = base64.b64decode(value["value"])
    dtype = _parse_dtype(value["dtype"])
    array = np.frombuffer(data, dtype).reshape(value["shape"]).copy()
    if marker == "tensor":
        return Tensor(array)
    return array if marker == "array" else array[()]


def _parse_dtype(text: str) -> Any:
    try:
        return np.dtype(text)
    except TypeError:  # one of ml_dtypes
        from millrace._src.core.values import dtype as mstype

        return mstype.np_dtype(getattr(mstype, text))
