"""The Open Inference Protocol's gRPC service, ``inference.GRPCInferenceService``."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from millrace.core.errors import MillraceError, ServeError
from millrace.serve.http import v2
from millrace.serve.servable import refused
from millrace.serve.service import Service, Version, chosen
from millrace.serve.tensors import Array, Spec, cells, from_bytes

from .messages import INFERENCE, messages

__all__ = ["SERVICE", "methods"]

SERVICE = "inference.GRPCInferenceService"

_CONTENTS = {
    "BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip


def methods(service: Service) -> dict[str, tuple[str, Callable[[Any], Awaitable[Any]]]]:
    """The methods by name: what they take, and what they do."""
    made = messages(INFERENCE)

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

    async def infer(request: Any) -> Any:
        began, status = time.perf_counter(), 500
        version: Version | None = None
        try:
            version = service.find(request.model_name, request.model_version)
            arrays = _arrays(request, version, service.config.max_body)
            places = chosen(version.outputs, [each.name for each in request.outputs])
            found = await service.infer(version, arrays)
            answer = made["ModelInferResponse"](
                model_name=version.model, model_version=str(version.number), id=request.id
            )
            for place in places:
                spec, array = version.outputs[place], found[place]
                answer.outputs.add(name=spec.name, datatype=spec.datatype, shape=array.shape)
                answer.raw_output_contents.append(bytes(v2.bytes_of(array)))
            status = 200
            return answer
        except ServeError as error:
            status = error.status
            raise
        finally:
            service.ended(version, "v2-grpc", status, began)

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
            raise refused(error) from error
        return made["RepositoryModelLoadResponse"]()

    return {
        "ServerLive": ("ServerLiveRequest", live),
        "ServerReady": ("ServerReadyRequest", ready),
        "ModelReady": ("ModelReadyRequest", model_ready),
        "ServerMetadata": ("ServerMetadataRequest", server_metadata),
        "ModelMetadata": ("ModelMetadataRequest", model_metadata),
        "ModelInfer": ("ModelInferRequest", infer),
        "RepositoryIndex": ("RepositoryIndexRequest", index),
        "RepositoryModelLoad": ("RepositoryModelLoadRequest", load),
    }


def _arrays(request: Any, version: Version, most: int) -> list[Array]:
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


def _from_contents(spec: Spec, count: int, given: Any, shape: list[int]) -> Array:
    field = _CONTENTS.get(spec.datatype)
    if field is None:
        raise ServeError(f"input '{spec.name}': {spec.datatype} travels in raw_input_contents")
    values = getattr(given.contents, field)
    if len(values) != count:
        raise ServeError(
            f"input '{spec.name}': shape {shape} asks for {count} elements in {field}, got {len(values)}"
        )
    return cells(spec, count, list(values), shape)
