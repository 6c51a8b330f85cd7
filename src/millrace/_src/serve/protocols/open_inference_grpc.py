"""The Open Inference Protocol's gRPC service, ``inference.GRPCInferenceService``."""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import MillraceError, ServeError
from millrace._src.serve.inference_service import InferenceService, ModelVersion, select_outputs
from millrace._src.serve.limits import INLINE, MAX_ID
from millrace._src.serve.protobuf_messages import INFERENCE, messages
from millrace._src.serve.protocols import open_inference_http as v2
from millrace._src.serve.servable import model_load_error
from millrace._src.serve.tensor_codec import DATATYPES, Array, TensorSpec, array_from_list, from_bytes

__all__ = ["SERVICE", "Call", "methods"]

SERVICE = "inference.GRPCInferenceService"

_CONTENTS = {
    "BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip


# What a method does: it takes the request, its size, and what reserves the bytes of its response. It returns
# these bytes. The size is passed on: a message finds it by serializing itself.
Call = Callable[[Any, int, Callable[[int], None]], Awaitable[bytes]]
# values that are converted at once
_PART = 16 << 10


def methods(service: InferenceService) -> dict[str, tuple[str, Call, bool]]:
    """The methods by name: what they take, what they do, and whether they change the server."""
    message_types = messages(INFERENCE)

    def simple(call: Callable[[Any], Awaitable[Any]]) -> Call:
        async def respond(request: Any, size: int, reserve: Callable[[int], None]) -> bytes:
            data: bytes = (await call(request)).SerializeToString()
            return data

        return respond

    async def live(request: Any) -> Any:
        return message_types["ServerLiveResponse"](live=True)

    async def ready(request: Any) -> Any:
        return message_types["ServerReadyResponse"](ready=service.ready)

    async def model_ready(request: Any) -> Any:
        try:
            service.find(request.name, request.version)
        except ServeError:
            return message_types["ModelReadyResponse"](ready=False)
        return message_types["ModelReadyResponse"](ready=service.ready)

    async def server_metadata(request: Any) -> Any:
        return message_types["ServerMetadataResponse"](
            name="millrace", version="2", extensions=["model_repository"]
        )

    async def model_metadata(request: Any) -> Any:
        version = service.find(request.name, request.version)
        return message_types["ModelMetadataResponse"](
            **v2.metadata(version, list(service.models[version.model]))
        )

    async def infer(request: Any, size: int, reserve: Callable[[int], None]) -> bytes:
        began, status = time.perf_counter(), 500
        version: ModelVersion | None = None
        try:
            version = service.find(request.model_name, request.model_version)
            if len(request.id) > MAX_ID:
                raise ServeError(f"id: expected at most {MAX_ID} characters, got {len(request.id)}")
            indexes = select_outputs(version.outputs, [output.name for output in request.outputs])
            if size <= INLINE:  # as `convert`, without its cost
                arrays = decode_arrays(request, version, service.config.max_body)
            else:
                decode = functools.partial(decode_arrays, request, version, service.config.max_body)
                arrays = await service.convert(size, decode)
            outputs = await service.infer(version, arrays)
            response = sum(v2.bytes_size(outputs[output_index]) for output_index in indexes)
            reserve(response)
            if response <= INLINE:
                data = encode(request.id, version, indexes, outputs)
            else:
                later = functools.partial(encode, request.id, version, indexes, outputs)
                data = await service.convert(response, later)
            status = 200
            return data
        except ServeError as error:
            status = error.status
            raise
        finally:
            service.record_request(version, "v2-grpc", status, began)

    def encode(
        identifier: str, version: ModelVersion, indexes: Sequence[int], outputs: Sequence[Array]
    ) -> bytes:
        response = message_types["ModelInferResponse"](
            model_name=version.model, model_version=str(version.number), id=identifier
        )
        for output_index in indexes:
            spec, array = version.outputs[output_index], outputs[output_index]
            response.outputs.add(name=spec.name, datatype=spec.datatype, shape=array.shape)
            response.raw_output_contents.append(bytes(v2.bytes_of(array)))
        data: bytes = response.SerializeToString()
        return data

    async def index(request: Any) -> Any:
        response = message_types["RepositoryIndexResponse"]()
        for name, versions in service.models.items():
            for number in sorted(versions):
                response.models.add(name=name, version=str(number), state="READY")
        return response

    async def load(request: Any) -> Any:
        try:
            await service.reload(request.model_name)
        except ServeError:
            raise
        except MillraceError as error:
            raise model_load_error(error) from error
        return message_types["RepositoryModelLoadResponse"]()

    return {
        "ServerLive": ("ServerLiveRequest", simple(live), False),
        "ServerReady": ("ServerReadyRequest", simple(ready), False),
        "ModelReady": ("ModelReadyRequest", simple(model_ready), False),
        "ServerMetadata": ("ServerMetadataRequest", simple(server_metadata), False),
        "ModelMetadata": ("ModelMetadataRequest", simple(model_metadata), False),
        "ModelInfer": ("ModelInferRequest", infer, False),
        "RepositoryIndex": ("RepositoryIndexRequest", simple(index), False),
        "RepositoryModelLoad": ("RepositoryModelLoadRequest", simple(load), True),
    }


def decode_arrays(request: Any, version: ModelVersion, most: int) -> list[Array]:
    specs = {spec.name: spec for spec in version.inputs}
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise ServeError(
            f"raw_input_contents has {len(raw)} entries, and there are {len(request.inputs)} inputs"
        )
    arrays: dict[str, Array] = {}
    for index, tensor in enumerate(request.inputs):
        spec = specs.get(tensor.name)
        if spec is None or tensor.name in arrays:
            what = "is there twice" if spec else "is none of the model's"
            raise ServeError(f"input {tensor.name[:80]!r} {what}; it takes {', '.join(specs)}")
        shape = list(tensor.shape)
        count = spec.check(tensor.datatype, shape, most)
        if raw:
            arrays[spec.name] = from_bytes(spec, count, raw[index], shape)
        else:
            arrays[spec.name] = _from_contents(spec, count, tensor, shape)
    for name in specs:
        if name not in arrays:
            raise ServeError(f"the request has no input '{name}'; the model takes {', '.join(specs)}")
    return [arrays[name] for name in specs]


def _from_contents(spec: TensorSpec, count: int, tensor: Any, shape: list[int]) -> Array:
    field = _CONTENTS.get(spec.datatype)
    if field is None:
        raise ServeError(f"input '{spec.name}': {spec.datatype} travels in raw_input_contents")
    values = getattr(tensor.contents, field)
    if len(values) != count:
        raise ServeError(
            f"input '{spec.name}': shape {shape} asks for {count} elements in {field}, got {len(values)}"
        )
    if count <= _PART or spec.datatype == "BYTES":
        return array_from_list(spec, count, list(values), shape)
    array = np.empty(count, DATATYPES[spec.datatype])
    for start in range(0, count, _PART):
        part = values[start : start + _PART]
        array[start : start + _PART] = array_from_list(spec, len(part), part, (len(part),))
    return array.reshape(shape)
