"""Model runners with one interface: Millrace archives on PyTorch, ONNX files on onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from millrace._src.core.errors import FormatError, ServeError
from millrace._src.core.optional import require
from millrace._src.runtime.graph.batch_axis import find_training
from millrace._src.runtime.graph.program_serialization import DTYPES, SerializedProgram
from millrace._src.serve.tensor_codec import DATATYPES, Array, TensorSpec, datatype_of

from .onnx_files import check_onnx, read_onnx

__all__ = ["ArchiveRunner", "OnnxRunner", "ModelRunner", "zeros"]


class ModelRunner(Protocol):
    """Interface of a runner: arrays in the order of `inputs` to arrays in the order of `outputs`."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    platform: str

    def run(self, arrays: Sequence[Array]) -> list[Array]: ...


def zeros(specs: Sequence[TensorSpec], rows: int) -> list[Array]:
    """Zero inputs of this number of rows; other dynamic lengths are 1."""
    arrays = []
    for spec in specs:
        shape = [n if n >= 0 else (rows if axis == 0 else 1) for axis, n in enumerate(spec.shape)]
        arrays.append(np.zeros(shape, DATATYPES[spec.datatype]))
    return arrays


class ArchiveRunner:
    """Runner of an archive: the captured graph of a network, on PyTorch."""

    platform = "millrace_archive"

    def __init__(self, graph: SerializedProgram, output_names: Sequence[str] = ()) -> None:
        self.graph = graph
        self.inputs = tuple(
            TensorSpec(name, _datatype_name(dtype_name), shape)
            for name, (shape, dtype_name) in zip(graph.input_names, graph.inputs, strict=True)
        )
        self.outputs: tuple[TensorSpec, ...] = ()
        training = find_training(graph)
        if training is not None:
            raise FormatError(
                f"expected a network in evaluation mode, got one in which {training}. Export it with set_train(False) "
                "and without operations that train"
            )
        outputs = self.run(zeros(self.inputs, 2))
        dynamic = any(spec.shape[:1] == (-1,) for spec in self.inputs)
        larger_outputs = self.run(zeros(self.inputs, 3)) if dynamic else outputs
        names = list(output_names) or (
            ["y"] if graph.has_single_result else [f"y{index}" for index in range(len(outputs))]
        )
        if len(names) != len(outputs):
            raise FormatError(f"the archive names {len(names)} outputs, but has {len(outputs)}")
        self.outputs = tuple(
            TensorSpec(
                name,
                datatype_of(each.dtype),
                (-1 if each.shape[0] != larger.shape[0] else each.shape[0], *each.shape[1:])
                if each.ndim
                else (),
            )
            for name, each, larger in zip(names, outputs, larger_outputs, strict=True)
        )

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        # PyTorch needs writable memory, and a request's memory is read-only
        tensors = [torch.from_numpy(each if each.flags.writeable else each.copy()) for each in arrays]
        return [_to_array(each) for each in self.graph(tensors)]


def _datatype_name(dtype_name: str) -> str:
    try:
        return datatype_of(torch.empty(0, dtype=DTYPES[dtype_name]).numpy().dtype)
    except TypeError:
        raise FormatError(f"an input of type {dtype_name} cannot be served") from None


def _to_array(tensor: torch.Tensor) -> Array:
    if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        tensor = tensor.float()
    array: Array = tensor.detach().cpu().contiguous().numpy()
    return array


class OnnxRunner:
    """Runner of an ONNX file on onnxruntime."""

    platform = "onnxruntime_onnx"

    def __init__(self, file: str | bytes, threads: int) -> None:
        data = read_onnx(file) if isinstance(file, str) else file
        check_onnx(data)
        runtime: Any = require("onnxruntime", extra="serve", purpose="serving an ONNX file")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # spinning threads take the cores from the event loop
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            self.session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise FormatError(
                f"onnxruntime cannot load it: {error}", file=file if isinstance(file, str) else None
            ) from error
        self.inputs = tuple(_onnx_spec(each) for each in self.session.get_inputs())
        self.outputs = tuple(_onnx_spec(each) for each in self.session.get_outputs())
        self._names = [spec.name for spec in self.inputs]
        self._wanted = [spec.name for spec in self.outputs]

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        outputs = self.session.run(self._wanted, dict(zip(self._names, arrays, strict=True)))
        return [each if isinstance(each, np.ndarray) else _refuse(each) for each in outputs]


def _refuse(value: Any) -> Array:
    raise ServeError(f"the model returned a {type(value).__name__}; only tensors can be sent", 500)


_ONNX = {
    "tensor(bool)": "BOOL", "tensor(uint8)": "UINT8", "tensor(uint16)": "UINT16", "tensor(uint32)": "UINT32",
    "tensor(uint64)": "UINT64", "tensor(int8)": "INT8", "tensor(int16)": "INT16", "tensor(int32)": "INT32",
    "tensor(int64)": "INT64", "tensor(float16)": "FP16", "tensor(float)": "FP32", "tensor(double)": "FP64",
    "tensor(string)": "BYTES",
}  # fmt: skip


def _onnx_spec(described: Any) -> TensorSpec:
    if described.type not in _ONNX:
        raise FormatError(
            f"'{described.name}' of the ONNX file is a {described.type}, which cannot be served"
        )
    shape = tuple(n if isinstance(n, int) and n >= 0 else -1 for n in described.shape)
    return TensorSpec(described.name, _ONNX[described.type], shape)
