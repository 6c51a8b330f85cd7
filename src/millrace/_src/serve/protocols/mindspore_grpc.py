"""MindSpore Serving's gRPC service, ``mindspore.serving.proto.MSService``."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
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
from millrace._src.serve.tensor_codec import Array, TensorSpec, datatype_of, from_bytes

from .open_inference_grpc import Call

__all__ = ["SERVICE", "methods"]

SERVICE = "mindspore.serving.proto.MSService"

# the numbers of its enumeration of types; 13 is text, 14 bytes
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


def methods(service: InferenceService) -> dict[str, tuple[str, Call, bool]]:
    """The one method: what it takes, what it does, and that it changes nothing."""
    message_types = messages(SERVING)
    config = service.config

    async def predict(request: Any, size: int, reserve: Callable[[int], None]) -> bytes:
        began, status = time.perf_counter(), 500
        version: ModelVersion | None = None
        try:
            version = service.find(request.servable_spec.name, request.servable_spec.version_number)
            decode = functools.partial(decoded, request, version)
            prepared = await service.convert(size, decode)
            results = await infer_instances(service, version, prepared)
            response = sum(
                sum(v2.bytes_size(np.asarray(array)) for array in each.values())
                if isinstance(each, dict)
                else 0
                for each in results
            )
            reserve(response)
            data = await service.convert(response, functools.partial(encoded, request, results))
            status = 200
            return data
        except BudgetError as error:
            status = error.status
            raise
        except ServeError as error:
            status = error.status
            reply = message_types["PredictReply"](servable_spec=request.servable_spec)
            reply.error_msg.add(error_code=FAILED, error_msg=str(error).encode())
            return bytes(reply.SerializeToString())
        finally:
            service.record_request(version, "mindspore-grpc", status, began)

    def decoded(request: Any, version: ModelVersion) -> list[list[Array] | ServeError]:
        instances = [dict(each.items) for each in request.instances]
        return prepare_instances(
            version, instances, lambda spec, value: _read(spec, value, config.max_body), config.max_queue
        )

    def encoded(request: Any, results: InstanceResults) -> bytes:
        reply = message_types["PredictReply"](servable_spec=request.servable_spec)
        failed = any(isinstance(each, ServeError) for each in results)
        for each in results:
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

    return {"Predict": ("PredictRequest", predict, False)}


def _read(spec: TensorSpec, tensor: Any, most: int) -> Array:
    if tensor.dtype in (_TEXT, _BYTES):
        check_datatype(spec, "BYTES")
        if len(tensor.bytes_val) != 1 or spec.shape != ():
            raise ServeError(f"input '{spec.name}': expected one value of bytes, got {len(tensor.bytes_val)}")
        scalar = np.empty((), object)
        scalar[()] = tensor.bytes_val[0]
        return scalar
    if not 1 <= tensor.dtype <= len(_DATATYPE_NAMES):
        raise ServeError(f"input '{spec.name}': {tensor.dtype} is no type")
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
