"""Protobuf messages of both gRPC services and of ONNX files, built from a table of names, numbers and types.

They have a separate descriptor pool, so that another library may define the same messages.
"""

from __future__ import annotations

import functools
from typing import Any

from millrace._src.core.optional import require

__all__ = ["INFERENCE", "ONNX", "SERVING", "fields_of", "messages"]

INFERENCE, SERVING, ONNX = "inference", "mindspore.serving.proto", "onnx"
_PURPOSE = "serving a model"

# message -> fields, "name number type"; prefix of the type: "*" repeated, "|" oneof; "key>value" is a map
_TABLE: dict[str, dict[str, list[str]]] = {
    INFERENCE: {
        "InferParameter": [
            "bool_param 1 |bool", "int64_param 2 |int64", "string_param 3 |string", "double_param 4 |double",
            "uint64_param 5 |uint64",
        ],
        "InferTensorContents": [
            "bool_contents 1 *bool", "int_contents 2 *int32", "int64_contents 3 *int64", "uint_contents 4 *uint32",
            "uint64_contents 5 *uint64", "fp32_contents 6 *float", "fp64_contents 7 *double",
            "bytes_contents 8 *bytes",
        ],
        "ServerLiveRequest": [],
        "ServerLiveResponse": ["live 1 bool"],
        "ServerReadyRequest": [],
        "ServerReadyResponse": ["ready 1 bool"],
        "ModelReadyRequest": ["name 1 string", "version 2 string"],
        "ModelReadyResponse": ["ready 1 bool"],
        "ServerMetadataRequest": [],
        "ServerMetadataResponse": ["name 1 string", "version 2 string", "extensions 3 *string"],
        "TensorMetadata": ["name 1 string", "datatype 2 string", "shape 3 *int64"],
        "ModelMetadataRequest": ["name 1 string", "version 2 string"],
        "ModelMetadataResponse": [
            "name 1 string", "versions 2 *string", "platform 3 string", "inputs 4 *TensorMetadata",
            "outputs 5 *TensorMetadata", "properties 6 string>string",
        ],
        "InferTensor": [
            "name 1 string", "datatype 2 string", "shape 3 *int64", "parameters 4 string>InferParameter",
            "contents 5 InferTensorContents",
        ],
        "InferRequestedOutputTensor": ["name 1 string", "parameters 2 string>InferParameter"],
        "ModelInferRequest": [
            "model_name 1 string", "model_version 2 string", "id 3 string", "parameters 4 string>InferParameter",
            "inputs 5 *InferTensor", "outputs 6 *InferRequestedOutputTensor", "raw_input_contents 7 *bytes",
        ],
        "ModelInferResponse": [
            "model_name 1 string", "model_version 2 string", "id 3 string", "parameters 4 string>InferParameter",
            "outputs 5 *InferTensor", "raw_output_contents 6 *bytes",
        ],
        "RepositoryIndexRequest": ["repository_name 1 string", "ready 2 bool"],
        "ModelIndex": ["name 1 string", "version 2 string", "state 3 string", "reason 4 string"],
        "RepositoryIndexResponse": ["models 1 *ModelIndex"],
        "RepositoryModelLoadRequest": ["repository_name 1 string", "model_name 2 string"],
        "RepositoryModelLoadResponse": [],
    },
    SERVING: {
        "TensorShape": ["dims 1 *int64"],
        # dtype is an enumeration, which is encoded as a number
        "Tensor": ["shape 1 TensorShape", "dtype 2 int32", "data 3 bytes", "bytes_val 4 *bytes"],
        "Instance": ["items 1 string>Tensor"],
        "ServableSpec": ["name 1 string", "method_name 2 string", "version_number 3 uint64"],
        "ErrorMsg": ["error_code 1 int64", "error_msg 2 bytes"],
        "PredictRequest": ["servable_spec 1 ServableSpec", "instances 2 *Instance"],
        "PredictReply": ["servable_spec 1 ServableSpec", "instances 3 *Instance", "error_msg 4 *ErrorMsg"],
    },
    # the operators of an ONNX file; weights are skipped
    ONNX: {
        "ModelProto": ["graph 7 GraphProto"],
        "GraphProto": ["node 1 *NodeProto"],
        "NodeProto": ["op_type 4 string", "attribute 5 *AttributeProto", "domain 7 string"],
        "AttributeProto": ["name 1 string", "i 3 int64", "ints 8 *int64"],
    },
}  # fmt: skip


@functools.cache
def messages(package: str) -> dict[str, Any]:
    """Message classes of a protocol by name."""
    described: Any = require("google.protobuf.descriptor_pb2", extra="serve", purpose=_PURPOSE)
    pools: Any = require("google.protobuf.descriptor_pool", extra="serve", purpose=_PURPOSE)
    factory: Any = require("google.protobuf.message_factory", extra="serve", purpose=_PURPOSE)
    file = described.FileDescriptorProto(name=f"millrace/{package}.proto", package=package, syntax="proto3")
    for name, fields in _TABLE[package].items():
        message = file.message_type.add(name=name)
        for text in fields:
            _add(described.FieldDescriptorProto, message, f".{package}.{name}", package, *text.split())
    pool = pools.DescriptorPool()
    pool.Add(file)
    return {
        name: factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in _TABLE[package]
    }


def fields_of(package: str, name: str) -> list[tuple[int, str]]:
    """Numbers and types of the fields of a message, without cardinality."""
    return [
        (int(number), field_type.lstrip("*|"))
        for _, number, field_type in map(str.split, _TABLE[package][name])
    ]


def _add(
    descriptor: Any, message: Any, full: str, package: str, name: str, number: str, field_type: str
) -> None:
    field = message.field.add(name=name, number=int(number))
    field.label = (
        descriptor.LABEL_REPEATED if field_type[0] == "*" or ">" in field_type else descriptor.LABEL_OPTIONAL
    )
    if field_type[0] == "|":
        if not message.oneof_decl:
            message.oneof_decl.add(name="parameter_choice")
        field.oneof_index = 0
    field_type = field_type.lstrip("*|")
    key, is_map, value = field_type.partition(">")
    if is_map:
        entry = "".join(part.capitalize() for part in name.split("_")) + "Entry"
        inner = message.nested_type.add(name=entry)
        inner.options.map_entry = True
        _add(descriptor, inner, f"{full}.{entry}", package, "key", "1", key)
        _add(descriptor, inner, f"{full}.{entry}", package, "value", "2", value)
        field.type, field.type_name = descriptor.TYPE_MESSAGE, f"{full}.{entry}"
    elif field_type[0].isupper():
        field.type, field.type_name = descriptor.TYPE_MESSAGE, f".{package}.{field_type}"
    else:
        field.type = getattr(descriptor, f"TYPE_{field_type.upper()}")
