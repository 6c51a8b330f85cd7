"""Targets of training and serving: checkpoints, archives, requests."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import millrace as ms
from millrace import nn
from millrace._src.core.errors import MillraceError
from millrace._src.serve.protobuf_messages import messages
from millrace._src.serve.protocols import open_inference_http as v2
from millrace._src.serve.protocols.open_inference_grpc import decode_arrays
from millrace._src.serve.row_transforms import steps_from_json
from millrace._src.serve.tensor_codec import TensorSpec, join_bytes
from millrace._src.train.print_file import parse_print

from .target import Target, file_target, json_target

__all__ = ["targets"]

KEY = b"0123456789ABCDEF"
MOST = 1 << 20


def targets() -> list[Target]:
    return [
        file_target("ckpt", _saved(".ckpt"), ms.load_checkpoint, ending=".ckpt"),
        file_target(
            "ckpt_encrypted",
            _saved(".ckpt", enc_key=KEY),
            lambda path: ms.load_checkpoint(path, dec_key=KEY),
            ending=".ckpt",
        ),
        file_target(
            "safetensors",
            _saved(".safetensors", format="safetensors"),
            lambda path: ms.load_checkpoint(path, format="safetensors"),
            ending=".safetensors",
        ),
        file_target("archive", _archives, ms.load, ending=".mindir"),
        json_target("program_json", _programs, _load_program),
        json_target("servable_json", _steps, _read_steps),
        file_target("print_file", _print_file, parse_print),
        Target("http_v2", _bodies, _read_body),
        Target("grpc_v2", _requests, _read_request),
    ]


# --- checkpoints ------------------------------------------------------------------------------------------------------


def _saved(ending: str, **options: Any) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        path = folder / f"seed{ending}"
        parameters = [{"name": "a", "data": ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))}]
        parameters.append({"name": "b.c", "data": ms.Tensor(np.ones(4, np.int64))})
        ms.save_checkpoint(parameters, str(path), **options)
        return [path.read_bytes()]

    return seeds


def _print_file(folder: Path) -> list[bytes]:
    from millrace import ops

    path = folder / "seed.data"
    ms.set_context(print_file_path=str(path))
    try:
        ops.Print()("sum", ms.Tensor([1.0, 2.0]))
    finally:
        ms.set_context(print_file_path="")
    return [path.read_bytes()]


# --- archives -----------------------------------------------------------------------------------------------------


def _archives(folder: Path) -> list[bytes]:
    path = folder / "seed.mindir"
    network = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2), nn.Softmax())
    network.set_train(False)
    ms.export(network, ms.Tensor(np.ones((2, 3), np.float32)), file_name=str(path), file_format="MINDIR")
    return [path.read_bytes()]


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _programs(folder: Path) -> list[Any]:
    members = _members(_archives(folder)[0])
    return [json.loads(data) for name, data in members.items() if name.endswith(".json")]


def _load_program(data: bytes, folder: Path) -> None:
    """An archive whose program is the input."""
    path = folder / "program.mindir"
    members = _members((folder / "seed.mindir").read_bytes())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, data if name.endswith(".json") else content)
    cell = nn.GraphCell(ms.load(str(path)))
    cell(ms.Tensor(np.ones((2, 3), np.float32)))


def _steps(folder: Path) -> list[Any]:
    layout = "millrace.data.transforms.vision.layout"
    return [
        {"x": [{"tensor_op_name": "HWC2CHW", "python_module": layout, "tensor_op_params": {}}]},
        {
            "y": [
                {
                    "tensor_op_name": "Labels",
                    "python_module": "millrace.serve.after",
                    "tensor_op_params": {"names": ["a"]},
                }
            ]
        },
    ]


def _read_steps(data: bytes, folder: Path) -> None:
    try:
        steps = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MillraceError("not JSON") from error
    steps_from_json(steps, "`pre`")


# --- requests -----------------------------------------------------------------------------------------------------

_VERSION: Any = SimpleNamespace(
    inputs=[TensorSpec("x", "FP32", (-1, 3)), TensorSpec("t", "BYTES", (-1,))],
    outputs=[TensorSpec("y", "FP32", (-1, 3))],
)


def _bodies(folder: Path) -> list[bytes]:
    x = {"name": "x", "shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]}
    t = {"name": "t", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]}
    return [json.dumps({"id": "1", "inputs": [x, t], "outputs": [{"name": "y"}]}).encode()]


def _read_body(data: bytes, folder: Path) -> None:
    v2.decode_request(data, v2.json_length(None, len(data)), _VERSION, MOST)
    v2.decode_request(data, v2.json_length(str(len(data)), len(data)), _VERSION, MOST)


def _requests(folder: Path) -> list[bytes]:
    request = messages("inference")["ModelInferRequest"]()
    for name, datatype, shape in (("x", "FP32", [2, 3]), ("t", "BYTES", [2])):
        given = request.inputs.add()
        given.name, given.datatype = name, datatype
        given.shape.extend(shape)
    request.raw_input_contents.append(np.ones((2, 3), np.float32).tobytes())
    request.raw_input_contents.append(join_bytes([b"a", b"b"]))
    return [request.SerializeToString()]


def _read_request(data: bytes, folder: Path) -> None:
    from google.protobuf.message import DecodeError

    try:
        request = messages("inference")["ModelInferRequest"].FromString(data)
    except DecodeError:  # gRPC answers for itself
        return
    decode_arrays(request, _VERSION, MOST)
