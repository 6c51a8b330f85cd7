"""MindSpore Serving's REST: ``POST /model/NAME[/version/V]:METHOD`` with ``{"instances": [...]}``."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec
import numpy as np

from millrace._src.core.errors import ServeError
from millrace._src.serve.config import Config
from millrace._src.serve.http.json_arrays import NumberArray, cut_arrays, encode_array, json_size
from millrace._src.serve.inference_service import InferenceService, ModelVersion
from millrace._src.serve.limits import INLINE, Lease
from millrace._src.serve.protocols.mindspore_instances import (
    InstanceResults,
    check_datatype,
    infer_instances,
    prepare_instances,
)
from millrace._src.serve.protocols.registry import HttpProtocol, HttpResponse, Scope, register_http
from millrace._src.serve.tensor_codec import DATATYPES, Array, TensorSpec, array_from_list

__all__ = ["decode_request", "encode_response", "response_size"]

_PREDICT = re.compile(r"/model/([^/:]+)(?:/version/([^/:]+))?:[^/:]+")
# arrays of at least this many elements are encoded in parts
_LONG = 4096
_encode = msgspec.json.Encoder().encode

_TYPES = {
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "uint16": "UINT16",
    "uint32": "UINT32", "uint64": "UINT64", "float16": "FP16", "fp16": "FP16", "float32": "FP32", "fp32": "FP32",
    "float64": "FP64", "fp64": "FP64", "bool": "BOOL", "str": "BYTES", "bytes": "BYTES",
}  # fmt: skip


@register_http
class MindSporeRest(HttpProtocol):
    """The REST protocol of MindSpore Serving."""

    name = "mindspore-http"
    error_key = "error_msg"

    def match(self, path: str) -> tuple[str, str] | None:
        match = _PREDICT.fullmatch(path)
        return None if match is None else (match[1], match[2] or "")

    def request_size(self, scope: Scope, body: bytes, version: ModelVersion) -> tuple[int, int]:
        return len(body), len(body)

    def decode(
        self, body: bytes, size: int, version: ModelVersion, service: InferenceService
    ) -> tuple[None, list[list[Array] | ServeError]]:
        return None, decode_request(version, body, service.config)

    def infer(
        self,
        service: InferenceService,
        version: ModelVersion,
        inputs: list[list[Array] | ServeError],
        lease: Lease,
    ) -> Awaitable[InstanceResults]:
        return infer_instances(service, version, inputs)

    def response_size(
        self, request: None, version: ModelVersion, outputs: InstanceResults
    ) -> tuple[int, int]:
        size = response_size(outputs)
        return size, size

    def encode(self, request: None, version: ModelVersion, outputs: InstanceResults) -> HttpResponse:
        return HttpResponse([encode_response(outputs)])


def decode_request(version: ModelVersion, body: bytes, config: Config) -> list[list[Array] | ServeError]:
    """Model inputs of each instance of a request, or its error."""
    arrays: Mapping[str, NumberArray] = {}
    try:
        if len(body) > INLINE:
            body, arrays = cut_arrays(body)
        request = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServeError(f"the request is not JSON: {error}") from None
    except RecursionError:
        raise ServeError("the request's JSON is nested too deeply") from None
    instances = request.get("instances") if isinstance(request, dict) else None
    if isinstance(instances, dict):
        instances = [instances]
    if not isinstance(instances, list):
        raise ServeError('expected {"instances": [{"input": value, ...}, ...]}, got no list of instances')

    def read(spec: TensorSpec, value: Any) -> Array:
        text = arrays.get(value) if arrays and isinstance(value, str) else None
        return (
            _read(spec, value, config.max_body) if text is None else _read_text(spec, text, config.max_body)
        )

    return prepare_instances(version, instances, read, config.max_queue)


def response_size(results: InstanceResults) -> int:
    """Upper bound of the size of a response, from the shapes."""
    return sum(
        len(str(each)) + 32
        if isinstance(each, ServeError)
        else sum(json_size(array) + 6 * len(name) + 8 for name, array in each.items()) + 8
        for each in results
    )


def encode_response(results: InstanceResults) -> bytes:
    """Encode the body of a response."""
    return _encode(
        {
            "instances": [
                {"error_msg": str(each)}
                if isinstance(each, ServeError)
                else {name: _to_json(array) for name, array in each.items()}
                for each in results
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
    flat = _flatten(value, shape, spec)
    accepted_types: tuple[type, ...] = {
        "b": (bool,),
        "i": (int,),
        "u": (int,),
        "f": (int, float),
        "O": (str,),
    }[DATATYPES[spec.datatype].kind]
    for each in flat:
        if not isinstance(each, accepted_types) or (isinstance(each, bool) and accepted_types != (bool,)):
            raise ServeError(f"input '{spec.name}': expected {spec.datatype}, got {str(each)[:40]!r}")
    return array_from_list(spec, count, flat, shape)


def _flatten(value: Any, shape: list[int], spec: TensorSpec) -> list[Any]:
    level = [value]
    for length in shape:
        for each in level:
            if not isinstance(each, list) or len(each) != length:
                raise ServeError(
                    f"input '{spec.name}': expected lists of equal lengths, {shape} by the first ones"
                )
        level = [one for each in level for one in each]
    return level


def _from_base64(spec: TensorSpec, value: dict[str, Any], most: int) -> Array:
    text, type_name, shape = value.get("b64"), value.get("type", "bytes"), value.get("shape", [1])
    if not isinstance(text, str):
        raise ServeError(f'input \'{spec.name}\': expected {{"b64": text, "type": ..., "shape": [...]}}')
    if not isinstance(type_name, str) or type_name not in _TYPES:
        raise ServeError(
            f"input '{spec.name}': expected a type of {', '.join(_TYPES)}, got {str(type_name)[:40]!r}"
        )
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ServeError(f"input '{spec.name}': invalid base64: {error}") from None
    check_datatype(spec, _TYPES[type_name])
    if spec.datatype == "BYTES":
        if spec.shape != ():
            raise ServeError(f"input '{spec.name}': expected shape {list(spec.shape)}, got one value")
        scalar = np.empty((), object)
        scalar[()] = data
        return scalar
    if not isinstance(shape, list):
        raise ServeError(f"input '{spec.name}': expected a shape as a list, got {str(shape)[:40]!r}")
    if shape == [1] and spec.shape == ():
        shape = []
    spec.check(spec.datatype, shape, most)
    dtype = DATATYPES[spec.datatype]
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise ServeError(
            f"input '{spec.name}': shape {shape} of {type_name} is {math.prod(shape) * dtype.itemsize} bytes, "
            f"got {len(data)}"
        )
    return np.frombuffer(data, dtype).reshape(shape)


def _to_json(array: Array) -> Any:
    if array.dtype.kind not in "SUO":
        return array.tolist() if array.size < _LONG else msgspec.Raw(encode_array(array))
    if array.shape:
        return [_to_json(each) if isinstance(each, np.ndarray) else _decode_text(each) for each in array]
    return _decode_text(array[()] if isinstance(array, np.ndarray) else array)


def _decode_text(value: Any) -> Any:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}
