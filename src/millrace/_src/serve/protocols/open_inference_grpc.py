"""The Open Inference Protocol's gRPC service, ``inference.GRPCInferenceService``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import MillraceError, ServeError
from millrace._src.serve.inference_service import InferenceService, ModelVersion, select_outputs
from millrace._src.serve.limits import MAX_ID
from millrace._src.serve.protobuf_messages import INFERENCE, messages
from millrace._src.serve.protocols import open_inference_http as v2
from millrace._src.serve.protocols.registry import Call, GrpcInference, GrpcMethod, GrpcService, register_grpc
from millrace._src.serve.servable import model_load_error
from millrace._src.serve.tensor_codec import DATATYPES, Array, TensorSpec, array_from_list, from_bytes

__all__ = ["OpenInferenceGrpc"]

_CONTENTS = {
    "BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip


# values converted per step
_PART = 16 << 10


@register_grpc
class OpenInferenceGrpc(GrpcService):
    """The gRPC service of the Open Inference Protocol."""

    name = "v2-grpc"
    service_name = "inference.GRPCInferenceService"
    package = INFERENCE

    def methods(self, service: InferenceService) -> dict[str, GrpcMethod]:
        return _methods(service)


class _Infer(GrpcInference):
    """The method ModelInfer."""

    def __init__(self, service: InferenceService) -> None:
        super().__init__(service)
        self._response = messages(INFERENCE)["ModelInferResponse"]

    def model(self, request: Any) -> tuple[str, str]:
        return request.model_name, request.model_version

    def check(self, request: Any, version: ModelVersion) -> list[int]:
        """Check the id and the requested outputs; returns the indexes of the outputs."""
        if len(request.id) > MAX_ID:
            raise ServeError(f"id: expected at most {MAX_ID} characters, got {len(request.id)}")
        return select_outputs(version.outputs, [output.name for output in request.outputs])

    def decode(self, request: Any, version: ModelVersion) -> list[Array]:
        return decode_arrays(request, version, self.service.config.max_body)

    def infer(self, version: ModelVersion, inputs: list[Array]) -> Awaitable[list[Array]]:
        return self.service.infer(version, inputs)

    def response_size(self, checked: Sequence[int], outputs: Sequence[Array]) -> int:
        return sum(v2.bytes_size(outputs[index]) for index in checked)

    def encode(
        self, request: Any, version: ModelVersion, checked: Sequence[int], outputs: Sequence[Array]
    ) -> bytes:
        response = self._response(model_name=version.model, model_version=str(version.number), id=request.id)
        for index in checked:
            spec, array = version.outputs[index], outputs[index]
            response.outputs.add(name=spec.name, datatype=spec.datatype, shape=array.shape)
            response.raw_output_contents.append(bytes(v2.bytes_of(array)))
        data: bytes = response.SerializeToString()
        return data


def _methods(service: InferenceService) -> dict[str, GrpcMethod]:
    """The methods of the service by name."""
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
        "ServerLive": GrpcMethod("ServerLiveRequest", simple(live)),
        "ServerReady": GrpcMethod("ServerReadyRequest", simple(ready)),
        "ModelReady": GrpcMethod("ModelReadyRequest", simple(model_ready)),
        "ServerMetadata": GrpcMethod("ServerMetadataRequest", simple(server_metadata)),
        "ModelMetadata": GrpcMethod("ModelMetadataRequest", simple(model_metadata)),
        "ModelInfer": GrpcMethod("ModelInferRequest", _Infer(service)),
        "RepositoryIndex": GrpcMethod("RepositoryIndexRequest", simple(index)),
        "RepositoryModelLoad": GrpcMethod("RepositoryModelLoadRequest", simple(load), admin=True),
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
            what = "occurs twice" if spec else "is unknown"
            raise ServeError(f"input {tensor.name[:80]!r} {what}. The model takes {', '.join(specs)}")
        shape = list(tensor.shape)
        count = spec.check(tensor.datatype, shape, most)
        if raw:
            arrays[spec.name] = from_bytes(spec, count, raw[index], shape)
        else:
            arrays[spec.name] = _from_contents(spec, count, tensor, shape)
    for name in specs:
        if name not in arrays:
            raise ServeError(f"the request has no input '{name}'. The model takes {', '.join(specs)}")
    return [arrays[name] for name in specs]


def _from_contents(spec: TensorSpec, count: int, tensor: Any, shape: list[int]) -> Array:
    field = _CONTENTS.get(spec.datatype)
    if field is None:
        raise ServeError(f"input '{spec.name}': {spec.datatype} must be sent in raw_input_contents")
    values = getattr(tensor.contents, field)
    if len(values) != count:
        raise ServeError(
            f"input '{spec.name}': shape {shape} needs {count} elements in {field}, got {len(values)}"
        )
    if count <= _PART or spec.datatype == "BYTES":
        return array_from_list(spec, count, list(values), shape)
    array = np.empty(count, DATATYPES[spec.datatype])
    for start in range(0, count, _PART):
        part = values[start : start + _PART]
        array[start : start + _PART] = array_from_list(spec, len(part), part, (len(part),))
    return array.reshape(shape)
