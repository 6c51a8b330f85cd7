"""The Open Inference Protocol, version 2, over HTTP: JSON, followed by binary tensors."""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from millrace._src.core.errors import MillraceError, ServeError
from millrace._src.core.optional import require
from millrace._src.serve.http.json_arrays import Divided, NumberArray, cut_arrays, encode_array, json_size
from millrace._src.serve.http.request_body import header
from millrace._src.serve.inference_service import InferenceService, ModelVersion, select_outputs
from millrace._src.serve.limits import INLINE, MAX_ID, Lease, parse_length
from millrace._src.serve.protocols.registry import HttpProtocol, HttpResponse, Scope, register_http
from millrace._src.serve.servable import model_load_error
from millrace._src.serve.tensor_codec import (
    DATATYPES,
    Array,
    TensorSpec,
    array_from_list,
    element_size,
    from_bytes,
    join_bytes,
)

__all__ = [
    "bytes_of",
    "bytes_size",
    "decode_request",
    "encode_response",
    "json_length",
    "metadata",
    "response_size",
]

_INFER = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?/infer")


class Input(msgspec.Struct):
    name: str
    shape: list[int]
    datatype: str
    parameters: dict[str, msgspec.Raw] = {}
    data: msgspec.Raw = msgspec.Raw()


class Output(msgspec.Struct):
    name: str
    parameters: dict[str, msgspec.Raw] = {}


class Request(msgspec.Struct):
    inputs: list[Input]
    outputs: list[Output] = []
    id: str = ""
    parameters: dict[str, msgspec.Raw] = {}


class _Infer(NamedTuple):
    """A decoded request: the protocol's fields, and the indexes of the requested outputs."""

    fields: Request
    indexes: list[int]


@register_http
class OpenInferenceHttp(HttpProtocol):
    """The Open Inference Protocol over HTTP."""

    name = "v2-http"

    def match(self, path: str) -> tuple[str, str] | None:
        match = _INFER.fullmatch(path)
        return None if match is None else (match[1], match[2] or "")

    def request_size(self, scope: Scope, body: bytes, version: ModelVersion) -> tuple[int, int]:
        size = json_length(header(scope, b"inference-header-content-length"), len(body))
        return size, len(body) if version.takes_bytes else size

    def decode(
        self, body: bytes, size: int, version: ModelVersion, service: InferenceService
    ) -> tuple[_Infer, list[Array]]:
        request, indexes, arrays = decode_request(body, size, version, service.config.max_body)
        return _Infer(request, indexes), arrays

    def infer(
        self, service: InferenceService, version: ModelVersion, inputs: list[Array], lease: Lease
    ) -> Awaitable[list[Array]]:
        extra_bytes = sum(array.nbytes for array in inputs) - lease.size
        if extra_bytes > 0:  # JSON of small numbers
            lease.grow(extra_bytes)
        return service.infer(version, inputs)

    def response_size(
        self, request: _Infer, version: ModelVersion, outputs: Sequence[Array]
    ) -> tuple[int, int]:
        return response_size(request.fields, version, request.indexes, outputs)

    def encode(self, request: _Infer, version: ModelVersion, outputs: Sequence[Array]) -> HttpResponse:
        return HttpResponse(*encode_response(request.fields, version, request.indexes, outputs))

    def routes(self, app: Any) -> list[Any]:
        return _routes(app)


_decode = msgspec.json.Decoder(Request).decode
_encode = msgspec.json.Encoder().encode
_MAX_PARAMETER = 64
# arrays of at least this many elements are encoded in parts
_LONG = 4096
_NUMBERS: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "O": str}


def json_length(head: str | None, size: int) -> int:
    """Size of the JSON part of a body of `size` bytes, from its Inference-Header-Content-Length."""
    if head is None:
        return size
    length = parse_length(head)
    if length is None or length > size:
        raise ServeError(
            f"Inference-Header-Content-Length: expected at most {size}, the bytes of the body, got {head[:20]!r}"
        )
    return length


def decode_request(
    body: bytes, size: int, version: ModelVersion, most: int
) -> tuple[Request, list[int], list[Array]]:
    """Decode a request: the request, the indexes of its outputs, and its tensors in the order of the model's inputs.

    The first `size` bytes of the body are JSON; tensors with a ``binary_data_size`` follow.
    """
    view = memoryview(body)
    divided = Divided(b"", {})
    try:
        if size > INLINE:
            divided = cut_arrays(body if size == len(body) else bytes(view[:size]))
        request = _decode(divided.text or view[:size])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServeError(f"the request is invalid: {error}") from None
    except RecursionError:
        raise ServeError("the request's JSON is nested too deeply") from None
    if len(request.id) > MAX_ID:
        raise ServeError(f"id: expected at most {MAX_ID} characters, got {len(request.id)}")
    indexes = select_outputs(version.outputs, [output.name for output in request.outputs])
    specs = {spec.name: spec for spec in version.inputs}
    arrays: dict[str, Array] = {}
    at = size
    for tensor in request.inputs:
        spec = specs.get(tensor.name)
        if spec is None or tensor.name in arrays:
            what = "occurs twice" if spec else "is unknown"
            raise ServeError(f"input {tensor.name[:80]!r} {what}. The model takes {', '.join(specs)}")
        count = spec.check(tensor.datatype, tensor.shape, most)
        length = _read_parameter(tensor.parameters, "binary_data_size")
        if length is None:
            arrays[tensor.name] = _from_json(spec, count, tensor, divided.arrays)
            continue
        if type(length) is not int or length < 0 or length > len(body) - at:
            raise ServeError(
                f"input '{spec.name}': binary_data_size is {str(length)[:40]}, but {len(body) - at} bytes are left"
            )
        arrays[tensor.name] = from_bytes(spec, count, view[at : at + length], tensor.shape)
        at += length
    if at != len(body):
        raise ServeError(f"{len(body) - at} bytes follow the last tensor")
    if len(arrays) != len(specs):
        missing = [name for name in specs if name not in arrays]
        raise ServeError(f"the request has no input '{missing[0]}'. The model takes {', '.join(specs)}")
    request.inputs = []  # they reference the body
    return request, indexes, [arrays[name] for name in specs]


def _read_parameter(parameters: Mapping[str, msgspec.Raw], name: str) -> Any:
    """Value of a parameter; None if it is missing. Other parameters are not decoded."""
    text = parameters.get(name)
    if text is None:
        return None
    data = bytes(text)
    if len(data) > _MAX_PARAMETER:
        raise ServeError(f"parameter {name}: expected a number or a boolean, got {data[:40]!r}")
    if data.isdigit() and data[:1] != b"0":
        return int(data)
    return True if data == b"true" else msgspec.json.decode(text)


@functools.lru_cache(256)
def _list_decoder(category: str, depth: int) -> Any:
    list_type: Any = _NUMBERS[category]
    for _ in range(depth):
        list_type = list[list_type]
    return msgspec.json.Decoder(list_type)


def _from_json(spec: TensorSpec, count: int, tensor: Input, arrays: Mapping[str, NumberArray]) -> Array:
    text = bytes(tensor.data)
    if not text:
        raise ServeError(f"input '{spec.name}' has neither data nor a binary_data_size")
    array = arrays.get(text[1:-1].decode("latin-1")) if arrays else None
    depth = _nesting_depth(text) if array is None else array.depth
    axes = len(tensor.shape)
    if depth not in (1, axes):
        raise ServeError(
            f"input '{spec.name}': expected data as a flat list or {axes} nested lists, got {depth} levels"
        )
    if array is not None:
        return array.read(spec, count, tensor.shape)
    try:
        values = _list_decoder(DATATYPES[spec.datatype].kind, depth).decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ServeError(f"input '{spec.name}': expected {spec.datatype} data: {error}") from None
    if depth > 1:
        values = _flatten(spec, values, tensor.shape)
    if len(values) != count:
        raise ServeError(
            f"input '{spec.name}': shape {tensor.shape} needs {count} elements, got {len(values)}"
        )
    return array_from_list(spec, count, values, tensor.shape)


def _nesting_depth(text: bytes) -> int:
    depth = 0
    for letter in text:
        if letter == 0x5B:  # [
            depth += 1
        elif letter not in b" \t\r\n":
            break
    return depth


def _flatten(spec: TensorSpec, values: list[Any], shape: Sequence[int]) -> list[Any]:
    """Flatten nested lists whose lengths must match the shape."""
    level: list[Any] = [values]
    for axis, length in enumerate(shape):
        for each in level:
            if len(each) != length:
                raise ServeError(
                    f"input '{spec.name}': a list of axis {axis} has {len(each)} elements, its shape {list(shape)} "
                    f"has {length}"
                )
        level = [one for each in level for one in each]
    return level


def _is_binary(request: Request, version: ModelVersion, indexes: Sequence[int]) -> list[bool]:
    """For each output of a response, whether it is sent as a binary tensor."""
    usual = _read_parameter(request.parameters, "binary_data_output") is True
    if not request.outputs:
        return [usual] * len(indexes)
    named = {
        output.name: _read_parameter(output.parameters, "binary_data") is True
        for output in request.outputs
        if "binary_data" in output.parameters
    }
    return [named.get(version.outputs[index].name, usual) for index in indexes]


def response_size(
    request: Request, version: ModelVersion, indexes: Sequence[int], arrays: Sequence[Array]
) -> tuple[int, int]:
    """Upper bounds of the size of a response and of its bytes that need conversion, from the shapes."""
    total = work = 1024 + 6 * len(request.id)
    for index, binary in zip(indexes, _is_binary(request, version, indexes), strict=True):
        array = arrays[index]
        size = bytes_size(array) if binary else json_size(array)
        total += size
        if not binary or array.dtype.hasobject:
            work += size
    return total, work


def encode_response(
    request: Request, version: ModelVersion, indexes: Sequence[int], arrays: Sequence[Array]
) -> tuple[list[Any], list[tuple[bytes, bytes]], bytes]:
    """Encode a response: the parts of its body, additional headers, and the content type."""
    outputs: list[dict[str, Any]] = []
    tail: list[Any] = []
    for index, binary in zip(indexes, _is_binary(request, version, indexes), strict=True):
        spec, array = version.outputs[index], arrays[index]
        description: dict[str, Any] = {
            "name": spec.name,
            "datatype": spec.datatype,
            "shape": list(array.shape),
        }
        if binary:
            data = bytes_of(array)
            description["parameters"] = {"binary_data_size": len(data)}
            tail.append(data)
        else:
            description["data"] = to_json(array)
        outputs.append(description)
    head: dict[str, Any] = {
        "model_name": version.model,
        "model_version": str(version.number),
        "outputs": outputs,
    }
    if request.id:
        head["id"] = request.id
    text = _encode(head)
    if not tail:
        return [text], [], b"application/json"
    headers = [(b"inference-header-content-length", b"%d" % len(text))]
    return [text, *tail], headers, b"application/octet-stream"


def bytes_size(array: Array) -> int:
    """Length of `bytes_of`."""
    if array.dtype.kind in "SUO":
        return sum(element_size(element) + 4 for element in array.reshape(-1))
    return array.nbytes


def bytes_of(array: Array) -> Any:
    """Encode a tensor as binary data."""
    if array.dtype.kind in "SUO":
        return join_bytes(array.reshape(-1))
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return memoryview(flat).cast("B") if array.size else b""


def to_json(array: Array) -> Any:
    """A tensor as JSON: one flat list. NaN and infinities become null."""
    flat = array.reshape(-1)
    if array.dtype.kind in "SUO":
        return [each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in flat]
    return flat.tolist() if array.size < _LONG else msgspec.Raw(encode_array(flat))


def metadata(version: ModelVersion, numbers: Sequence[int]) -> dict[str, Any]:
    """Metadata of a model as the protocol defines it."""
    return {
        "name": version.model,
        "versions": [str(number) for number in sorted(numbers)],
        "platform": version.loaded.runner.platform,
        "inputs": [spec.described() for spec in version.inputs],
        "outputs": [spec.described() for spec in version.outputs],
        "properties": {"batching": str(version.loaded.batching)},
    }


def _routes(app: Any) -> list[Any]:
    """Routes for health, metadata and the model repository."""
    routing: Any = require("starlette.routing", extra="serve", purpose="serving a model")
    responses: Any = require("starlette.responses", extra="serve", purpose="serving a model")
    service = app.service

    def json_response(body: Any, status: int = 200) -> Any:
        return responses.JSONResponse(body, status)

    async def about(request: Any) -> Any:
        extensions = ["binary_tensor_data", "model_repository"]
        return json_response({"name": "millrace", "version": _version(), "extensions": extensions})

    async def live(request: Any) -> Any:
        return json_response({"live": True})

    async def ready(request: Any) -> Any:
        return json_response({"ready": service.ready}, 200 if service.ready else 503)

    async def model(request: Any) -> Any:
        version = service.find(request.path_params["name"], request.path_params.get("version", ""))
        return json_response(metadata(version, list(service.models[version.model])))

    async def model_ready(request: Any) -> Any:
        version = service.find(request.path_params["name"], request.path_params.get("version", ""))
        body = {"name": version.model, "ready": service.ready}
        return json_response(body, 200 if service.ready else 503)

    async def index(request: Any) -> Any:
        return json_response(
            [
                {"name": name, "version": str(number), "state": "READY"}
                for name, versions in service.models.items()
                for number in sorted(versions)
            ]
        )

    async def load(request: Any) -> Any:
        app.guard.check_admin(request.scope)
        name = request.path_params["name"]
        try:
            numbers = await app.reload(name)
        except ServeError:
            raise
        except MillraceError as error:
            raise model_load_error(error) from error
        return json_response({"name": name, "versions": [str(number) for number in numbers]})

    route = routing.Route
    named = "/v2/models/{name}"
    routes = [
        route("/v2", about),
        route("/v2/health/live", live),
        route("/v2/health/ready", ready),
        route("/v2/repository/index", index, methods=["GET", "POST"]),
        route("/v2/repository/models/{name}/load", load, methods=["POST"]),
    ]
    for base in (named, named + "/versions/{version}"):
        routes += [route(base, model), route(base + "/ready", model_ready)]
    return routes


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("millrace")
    except PackageNotFoundError:
        return "0"
