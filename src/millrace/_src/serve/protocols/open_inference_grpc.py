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
    made = messages(INFERENCE)

    def simple(call: Callable[[Any], Awaitable[Any]]) -> Call:
        async def respond(request: Any, size: int, reserve: Callable[[int], None]) -> bytes:
            data: bytes = (await call(request)).SerializeToString()
            return data

        return respond

    async def live(request: Any) -> Any:
        return made["ServerLiveResponse"](live=True)

    async def ready(request: Any) -> Any:
        return made["ServerReadyResponse"](ready=service.ready)

    async def model_ready(request: Any) -> Any:
        try:
            service.find(request.name, request.version)
        except ServeError:
            return made["ModelReadyResponse"](ready=False)
        return made["ModelReadyResponse"](ready=service.ready)

    async def server_metadata(request: Any) -> Any:
        return made["ServerMetadataResponse"](name="millrace", version="2", extensions=["model_repository"])

    async def model_metadata(request: Any) -> Any:
        version = service.find(request.name, request.version)
        return made["ModelMetadataResponse"](**v2.metadata(version, list(service.models[version.model])))

    async def infer(request: Any, size: int, reserve: Callable[[int], None]) -> bytes:
        began, status = time.perf_counter(), 500
        version: ModelVersion | None = None
        try:
            version = service.find(request.model_name, request.model_version)
            if len(request.id) > MAX_ID:
                raise ServeError(f"id: expected at most {MAX_ID} characters, got {len(request.id)}")
            places = select_outputs(version.outputs, [output.name for output in request.outputs])
            if size <= INLINE:  # as `convert`, without its cost
                arrays = _arrays(request, version, service.config.max_body)
            else:
                decode = functools.partial(_arrays, request, version, service.config.max_body)
                arrays = await service.convert(size, decode)
            found = await service.infer(version, arrays)
            response = sum(v2.bytes_size(found[place]) for place in places)
            reserve(response)
            if response <= INLINE:
                data = encode(request.id, version, places, found)
            else:
                later = functools.partial(encode, request.id, version, places, found)
                data = await service.convert(response, later)
            status = 200
            return data
        except ServeError as error:
            status = error.status
            raise
        finally:
            service.record_request(version, "v2-grpc", status, began)

    def encode(
        identifier: str, version: ModelVersion, places: Sequence[int], found: Sequence[Array]
    ) -> bytes:
        answer = made["ModelInferResponse"](
            model_name=version.model, model_version=str(version.number), id=identifier
        )
        for place in places:
            spec, array = version.outputs[place], found[place]
            answer.outputs.add(name=spec.name, datatype=spec.datatype, shape=array.shape)
            answer.raw_output_contents.append(bytes(v2.bytes_of(array)))
        data: bytes = answer.SerializeToString()
        return data

    async def index(request: Any) -> Any:
        answer = made["RepositoryIndexResponse"]()
        for name, versions in service.models.items():
            for number in sorted(versions):
                answer.models.add(name=name, version=str(number), state="READY")
        return answer

    async def load(request: Any) -> Any:
        try:
            await service.reload(request.model_name)
        except ServeError:
            raise
        except MillraceError as error:
            raise model_load_error(error) from error
        return made["RepositoryModelLoadResponse"]()

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


def _arrays(request: Any, version: ModelVersion, most: int) -> list[Array]:
    specs = {spec.name: spec for spec in version.inputs}
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise ServeError(
            f"raw_input_contents has {len(raw)} entries, and there are {len(request.inputs)} inputs"
        )
    found: dict[str, Array] = {}
    for place, given in enumerate(request.inputs):
        spec = specs.get(given.name)
        if spec is None or given.name in found:
            what = "is there twice" if spec else "is none of the model's"
            raise ServeError(f"input {given.name[:80]!r} {what}; it takes {', '.join(specs)}")
        shape = list(given.shape)
        count = spec.check(given.datatype, shape, most)
        if raw:
            found[spec.name] = from_bytes(spec, count, raw[place], shape)
        else:
            found[spec.name] = _from_contents(spec, count, given, shape)
    for name in specs:
        if name not in found:
            raise ServeError(f"the request has no input '{name}'; the model takes {', '.join(specs)}")
    return [found[name] for name in specs]


def _from_contents(spec: TensorSpec, count: int, given: Any, shape: list[int]) -> Array:
    field = _CONTENTS.get(spec.datatype)
    if field is None:
        raise ServeError(f"input '{spec.name}': {spec.datatype} travels in raw_input_contents")
    values = getattr(given.contents, field)
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
