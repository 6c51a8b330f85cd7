"""MindSpore Serving's REST: ``POST /model/NAME[/version/V]:METHOD`` with ``{"instances": [...]}``."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from millrace._src.core.errors import ServeError
from millrace._src.serve.config import Config
from millrace._src.serve.http.json_arrays import NumberArray, cut_arrays, encode_array, json_size
from millrace._src.serve.inference_service import ModelVersion
from millrace._src.serve.limits import INLINE
from millrace._src.serve.protocols.mindspore_instances import Answers, check_datatype, prepare
from millrace._src.serve.tensor_codec import DATATYPES, Array, TensorSpec, array_from_list

__all__ = ["decoded", "encoded", "response_size"]

# elements of an array that is encoded in parts
_LONG = 4096
_encode = msgspec.json.Encoder().encode

_TYPES = {
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "uint16": "UINT16",
    "uint32": "UINT32", "uint64": "UINT64", "float16": "FP16", "fp16": "FP16", "float32": "FP32", "fp32": "FP32",
    "float64": "FP64", "fp64": "FP64", "bool": "BOOL", "str": "BYTES", "bytes": "BYTES",
}  # fmt: skip


def decoded(version: ModelVersion, body: bytes, config: Config) -> list[list[Array] | ServeError]:
    """The model's inputs of each instance of a request, or what is wrong with it."""
    arrays: Mapping[str, NumberArray] = {}
    try:
        if len(body) > INLINE:
            body, arrays = cut_arrays(body)
        request = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServeError(f"the request is not JSON: {error}") from None
    except RecursionError:
        raise ServeError("the request's JSON is nested too deeply") from None
    found = request.get("instances") if isinstance(request, dict) else None
    if isinstance(found, dict):
        found = [found]
    if not isinstance(found, list):
        raise ServeError('the request is {"instances": [{"input": value, ...}, ...]}, and has no such list')

    def read(spec: TensorSpec, value: Any) -> Array:
        text = arrays.get(value) if arrays and isinstance(value, str) else None
        return (
            _read(spec, value, config.max_body) if text is None else _read_text(spec, text, config.max_body)
        )

    return prepare(version, found, read, config.max_queue)


def response_size(found: Answers) -> int:
    """How many bytes a response has at most, from the shapes."""
    return sum(
        len(str(each)) + 32
        if isinstance(each, ServeError)
        else sum(json_size(array) + 6 * len(name) + 8 for name, array in each.items()) + 8
        for each in found
    )


def encoded(found: Answers) -> bytes:
    """The body of a response."""
    return _encode(
        {
            "instances": [
                {"error_msg": str(each)}
                if isinstance(each, ServeError)
                else {name: _plain(array) for name, array in each.items()}
                for each in found
            ]
        }
    )


def _read_text(spec: TensorSpec, text: NumberArray, most: int) -> Array:
    shape = text.shape()
    return text.read(spec, spec.check(spec.datatype, shape, most), shape)


def _read(spec: TensorSpec, value: Any, most: int) -> Array:
    if isinstance(value, dict):
        return _from_base64(spec, value, most)
    shape: list[int] = []
    inner = value
    while isinstance(inner, list):
        shape.append(len(inner))
        if len(shape) > 32 or not inner:
            break
        inner = inner[0]
    if shape == [1] and spec.shape == ():
        shape, value = [], value[0]
    if not shape and spec.datatype == "BYTES" and not isinstance(value, str):
        raise ServeError(f"input '{spec.name}': expected text or {{\"b64\": ...}}, got {str(value)[:40]!r}")
    count = spec.check(spec.datatype, shape, most)
    flat = _flat(value, shape, spec)
    kinds: tuple[type, ...] = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "O": (str,)}[
        DATATYPES[spec.datatype].kind
    ]
    for each in flat:
        if not isinstance(each, kinds) or (isinstance(each, bool) and kinds != (bool,)):
            raise ServeError(f"input '{spec.name}': expected {spec.datatype}, got {str(each)[:40]!r}")
    return array_from_list(spec, count, flat, shape)


def _flat(value: Any, shape: list[int], spec: TensorSpec) -> list[Any]:
    level = [value]
    for length in shape:
        for each in level:
            if not isinstance(each, list) or len(each) != length:
                raise ServeError(
                    f"input '{spec.name}': its lists are not of equal lengths, {shape} by the first"
                )
        level = [one for each in level for one in each]
    return level


def _from_base64(spec: TensorSpec, value: dict[str, Any], most: int) -> Array:
    text, word, shape = value.get("b64"), value.get("type", "bytes"), value.get("shape", [1])
    if not isinstance(text, str):
        raise ServeError(f'input \'{spec.name}\': an object is {{"b64": text, "type": ..., "shape": [...]}}')
    if not isinstance(word, str) or word not in _TYPES:
        raise ServeError(
            f"input '{spec.name}': the type is one of {', '.join(_TYPES)}, got {str(word)[:40]!r}"
        )
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ServeError(f"input '{spec.name}': no base64: {error}") from None
    check_datatype(spec, _TYPES[word])
    if spec.datatype == "BYTES":
        if spec.shape != ():
            raise ServeError(f"input '{spec.name}': expected shape {list(spec.shape)}, got one value")
        made = np.empty((), object)
        made[()] = data
        return made
    if not isinstance(shape, list):
        raise ServeError(f"input '{spec.name}': a shape is a list, got {str(shape)[:40]!r}")
    if shape == [1] and spec.shape == ():
        shape = []
    spec.check(spec.datatype, shape, most)
    kind = DATATYPES[spec.datatype]
    if len(data) != math.prod(shape) * kind.itemsize:
        raise ServeError(
            f"input '{spec.name}': shape {shape} of {word} is {math.prod(shape) * kind.itemsize} bytes, got {len(data)}"
        )
    return np.frombuffer(data, kind).reshape(shape)


def _plain(array: Array) -> Any:
    if array.dtype.kind not in "SUO":
        return array.tolist() if array.size < _LONG else msgspec.Raw(encode_array(array))
    if array.shape:
        return [_plain(each) if isinstance(each, np.ndarray) else _text(each) for each in array]
    return _text(array[()] if isinstance(array, np.ndarray) else array)


def _text(value: Any) -> Any:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}
