"""MindSpore Serving's gRPC service, ``mindspore.serving.proto.MSService``."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import numpy as np

from millrace._src.core.errors import ServeError
from millrace._src.serve.inference_service import InferenceService, ModelVersion
from millrace._src.serve.limits import BudgetError
from millrace._src.serve.protobuf_messages import SERVING, messages
from millrace._src.serve.protocols import open_inference_http as v2
from millrace._src.serve.protocols.mindspore_instances import (
    InstanceResults,
    check_datatype,
    check_instance,
    infer_instances,
    prepare_instances,
)
from millrace._src.serve.protocols.registry import GrpcInference, GrpcMethod, GrpcService, register_grpc
from millrace._src.serve.tensor_codec import Array, TensorSpec, datatype_of, from_bytes

__all__ = ["MindSporeGrpc"]

# datatypes in the order of the enumeration, from 1 on; 13 is text, 14 is bytes
_DATATYPE_NAMES = (
    "BOOL",
    "INT8",
    "UINT8",
    "INT16",
    "UINT16",
    "INT32",
    "UINT32",
    "INT64",
    "UINT64",
    "FP16",
    "FP32",
    "FP64",
)
_NUMBERS = {datatype: number for number, datatype in enumerate(_DATATYPE_NAMES, 1)}
_TEXT, _BYTES = 13, 14
FAILED = 1


@register_grpc
class MindSporeGrpc(GrpcService):
    """The gRPC service of MindSpore Serving."""

    name = "mindspore-grpc"
    service_name = "mindspore.serving.proto.MSService"
    package = SERVING

    def methods(self, service: InferenceService) -> dict[str, GrpcMethod]:
        return {"Predict": GrpcMethod("PredictRequest", _Predict(service))}


class _Predict(GrpcInference):
    """The method Predict. Errors are part of its response, except those of the memory budget."""

    def __init__(self, service: InferenceService) -> None:
        super().__init__(service)
        self._reply = messages(SERVING)["PredictReply"]

    def model(self, request: Any) -> tuple[str, int]:
        return request.servable_spec.name, request.servable_spec.version_number

    def check(self, request: Any, version: ModelVersion) -> None:
        """Nothing to check before decoding."""

    def decode(self, request: Any, version: ModelVersion) -> list[list[Array] | ServeError]:
        config = self.service.config
        instances = [dict(each.items) for each in request.instances]
        return prepare_instances(
            version, instances, lambda spec, value: _read(spec, value, config.max_body), config.max_queue
        )

    def infer(
        self, version: ModelVersion, inputs: list[list[Array] | ServeError]
    ) -> Awaitable[InstanceResults]:
        return infer_instances(self.service, version, inputs)

    def response_size(self, checked: None, outputs: InstanceResults) -> int:
        return sum(
            sum(v2.bytes_size(np.asarray(array)) for array in each.values()) if isinstance(each, dict) else 0
            for each in outputs
        )

    def encode(self, request: Any, version: ModelVersion, checked: None, outputs: InstanceResults) -> bytes:
        reply = self._reply(servable_spec=request.servable_spec)
        failed = any(isinstance(each, ServeError) for each in outputs)
        for each in outputs:
            instance = reply.instances.add()
            if isinstance(each, ServeError):
                reply.error_msg.add(error_code=FAILED, error_msg=str(each).encode())
                continue
            if failed:
                reply.error_msg.add()
            for name, array in each.items():
                _write(instance.items[name], array)
        data: bytes = reply.SerializeToString()
        return data

    def encode_error(self, request: Any, error: ServeError) -> bytes | None:
        if isinstance(error, BudgetError):
            return None
        reply = self._reply(servable_spec=request.servable_spec)
        reply.error_msg.add(error_code=FAILED, error_msg=str(error).encode())
        return bytes(reply.SerializeToString())


def _read(spec: TensorSpec, tensor: Any, most: int) -> Array:
    if tensor.dtype in (_TEXT, _BYTES):
        check_datatype(spec, "BYTES")
        if len(tensor.bytes_val) != 1 or spec.shape != ():
            raise ServeError(f"input '{spec.name}': expected one value of bytes, got {len(tensor.bytes_val)}")
        scalar = np.empty((), object)
        scalar[()] = tensor.bytes_val[0]
        return scalar
    if not 1 <= tensor.dtype <= len(_DATATYPE_NAMES):
        raise ServeError(f"input '{spec.name}': expected a dtype from 1 to 14, got {tensor.dtype}")
    datatype = _DATATYPE_NAMES[tensor.dtype - 1]
    check_datatype(spec, datatype)
    shape = list(tensor.shape.dims)
    if shape == [1] and spec.shape == ():
        shape = []
    count = spec.check(datatype, shape, most)
    return check_instance(spec, from_bytes(spec, count, tensor.data, shape), most)


def _write(tensor: Any, array: Array) -> None:
    array = np.asarray(array)
    tensor.shape.dims.extend(array.shape)
    if array.dtype.kind in "SUO":
        tensor.dtype = _BYTES
        tensor.bytes_val.extend(
            each if isinstance(each, bytes) else str(each).encode() for each in array.reshape(-1)
        )
    else:
        tensor.dtype = _NUMBERS[datatype_of(array.dtype)]
        tensor.data = bytes(v2.bytes_of(array))
