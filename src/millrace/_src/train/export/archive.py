"""``export`` and ``load``: networks as ONNX files or as Millrace archives (``.mindir``)."""

from __future__ import annotations

import inspect
import json
import os
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core import limits
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError, OperationError
from millrace._src.core.io.checked_json import parse_json
from millrace._src.core.io.stored_zip import read_members
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.graph.batch_axis import find_training
from millrace._src.runtime.graph.program_serialization import (
    SerializedProgram,
    generalize_rows,
    store_program,
)
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.storage import to_torch_dtype, unwrap_all, wrap_all

__all__ = [
    "export",
    "load",
    "parse_program",
    "read_archive",
    "read_program",
    "capture_forward",
    "write_archive",
]

log = get_logger(__name__)

FORMATS = ("AIR", "ONNX", "MINDIR")
PROGRAM, WEIGHTS, ABOUT, ONNX = "program.json", "weights.safetensors", "servable.json", "model.onnx"
# Row counts used for capturing a network with a dynamic number of rows; some operations treat 1 and 2 specially.
ROWS = (5, 7, 11)


@public("train", "millrace")
def export(net: Any, *inputs: Any, file_name: str, file_format: str, **kwargs: Any) -> None:
    """Export a network for inputs of these shapes to a file.

    "ONNX" is for other runtimes (``.onnx``, opset 17). "MINDIR" writes a Millrace archive (``.mindir``), which
    :func:`load` and ``nn.GraphCell`` can read and MindSpore cannot. The network is exported in evaluation mode.
    ``Tensor(shape=[None, 3, 32, 32], dtype=...)`` as an input exports it for any number of rows.

    >>> from millrace import nn
    >>> export(nn.Dense(2, 1), Tensor([[1.0, 2.0]]), file_name="net", file_format="MINDIR")
    >>> os.path.exists("net.mindir")
    True
    """
    if file_format not in FORMATS:
        raise ArgumentValueError(
            f"For 'export', 'file_format' must be one of {list(FORMATS)}, but got {file_format}."
        )
    if not isinstance(file_name, str):
        raise ArgumentTypeError(f"For 'export', 'file_name' must be string, but got {type(file_name)}.")
    if not isinstance(net, Cell):
        raise ArgumentValueError(
            f"Export {file_format} format model only support nn.Cell object, but got {type(net)}."
        )
    if file_format == "AIR":
        raise ArgumentValueError(
            "Only support export file in 'AIR' format with Ascend backend, which is not here; use 'ONNX'."
        )
    if not inputs or not all(isinstance(each, Tensor) for each in inputs):
        raise ArgumentTypeError(
            "For 'export', pass the inputs of the network as Tensors with their shapes and dtypes."
        )
    trains = net.training
    net.set_train(False)
    try:
        if file_format == "ONNX":
            _write_onnx(net, inputs, _add_extension(file_name, ".onnx"))
        else:
            _write_archive(net, inputs, _add_extension(file_name, ".mindir"))
    finally:
        net.set_train(trains)


def _add_extension(name: str, ending: str) -> str:
    path = name if name.endswith(ending) else name + ending
    folder = os.path.dirname(os.path.realpath(path))
    os.makedirs(folder, exist_ok=True)
    return path


class _View(torch.nn.Module):
    """A Cell as a PyTorch module for the exporter; while it runs, the parameters use the module's tensors."""

    cell: Cell
    pairs: list[tuple[Any, torch.nn.Parameter]]

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.__dict__["cell"] = cell
        self.__dict__["pairs"] = []
        for path, parameter in cell.parameters_and_names():
            held = torch.nn.Parameter(parameter._torch.detach(), requires_grad=False)
            self.register_parameter(path.replace(".", "_"), held)
            self.pairs.append((parameter, held))

    def forward(self, *inputs: Any) -> Any:
        kept = [parameter._torch for parameter, _ in self.pairs]
        try:
            for parameter, held in self.pairs:
                parameter._torch = held
            outputs = self.cell(*wrap_all(inputs))
        finally:
            for (parameter, _), data in zip(self.pairs, kept, strict=True):
                parameter._torch = data
        return outputs._torch if isinstance(outputs, Tensor) else unwrap_all(outputs)


def _is_open(tensor: Any) -> bool:
    """Whether its number of rows is dynamic."""
    lengths = tensor.shape
    if any(length < 0 for length in lengths[1:]) or lengths[:1] == (-2,):
        raise ArgumentValueError(
            f"For 'export', only the first length of an input may be unknown, but got the shape {tuple(lengths)}."
        )
    return bool(lengths[:1] == (-1,))


def _fill_open_inputs(inputs: Sequence[Any], rows: int) -> list[Any]:
    """The inputs, with zeros of this number of rows for dynamic inputs."""
    return [
        Tensor(torch.zeros((rows, *each.shape[1:]), dtype=to_torch_dtype(each.dtype)))
        if _is_open(each)
        else each
        for each in inputs
    ]


def _write_onnx(net: Cell, inputs: tuple[Any, ...], path: str) -> None:
    require("onnx", extra="onnx", purpose="writing an ONNX file")
    names = [f"x{index}" for index in range(len(inputs))] if len(inputs) > 1 else ["x"]
    axes = {name: {0: "rows"} for name, each in zip(names, inputs, strict=True) if _is_open(each)}
    inputs = tuple(_fill_open_inputs(inputs, ROWS[0]))
    mode = modes.mode
    modes.set_mode(modes.PYNATIVE_MODE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about fixed shapes, which are intended as in MindSpore
            torch.onnx.export(
                _View(net).eval(), tuple(each._torch for each in inputs), path + ".part",
                dynamo=False, input_names=names, opset_version=17, dynamic_axes=axes or None,
            )  # fmt: skip
    finally:
        modes.set_mode(mode)
    os.replace(path + ".part", path)


def capture_forward(net: Cell, inputs: Sequence[Any]) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """Capture the forward pass of a network as plain data with its tensors; supports a dynamic number of rows."""
    if not any(_is_open(each) for each in inputs):
        return _capture(net, inputs)
    captures = [_capture(net, _fill_open_inputs(inputs, rows)) for rows in ROWS]
    tensors = captures[0][1]
    for _, variant_tensors in captures[1:]:
        if [each.shape for each in variant_tensors] != [each.shape for each in tensors]:
            raise OperationError(
                "the network cannot be exported for any number of rows: it has a constant whose shape depends on that "
                "number. Create it in 'construct' with an operation, or export for a fixed number"
            )
        if not all(map(_same_bits, tensors, variant_tensors)):
            raise OperationError(
                "export: expected constants that do not depend on the number of rows, got one that does. Compute it in "
                "'construct' from a tensor, or export the network for one number of rows"
            )
    return generalize_rows(list(zip(ROWS, (each for each, _ in captures), strict=True))), tensors


def _same_bits(one: torch.Tensor, right: torch.Tensor) -> bool:
    if one.data_ptr() == right.data_ptr():
        return True
    first, second = (each.contiguous().reshape(-1).view(torch.uint8) for each in (one, right))
    return one.dtype == right.dtype and torch.equal(first, second)


def _capture(net: Cell, inputs: Sequence[Any]) -> tuple[dict[str, Any], list[torch.Tensor]]:
    names = {each._torch.untyped_storage().data_ptr(): each.name for each in net.get_parameters()}
    mode = modes.mode
    modes.set_mode(modes.PYNATIVE_MODE)
    modes.thread_state.capturing = True
    try:
        torch_inputs = [each._torch for each in inputs]

        def forward() -> Any:
            outputs = net(*inputs)
            return outputs._torch if isinstance(outputs, Tensor) else unwrap_all(outputs)

        described, tensors = store_program(forward, torch_inputs, names)
    finally:
        modes.thread_state.capturing = False
        modes.set_mode(mode)
    described["input_names"] = _names_of(net, len(inputs))
    return described, tensors


def _names_of(net: Cell, count: int) -> list[str]:
    """Input names from the network's ``construct``; x, or x0, x1 ... if it has none."""
    named = [
        each.name
        for each in inspect.signature(type(net).construct).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ][1 : count + 1]
    if len(named) == count:
        return named
    return ["x"] if count == 1 else [f"x{index}" for index in range(count)]


def write_archive(
    path: str,
    described: dict[str, Any],
    tensors: Sequence[torch.Tensor],
    extra_files: dict[str, bytes] | None = None,
) -> None:
    """Write a captured program; `extra_files` are added to the archive.

    The program is checked as in :func:`load`, so that every written archive can be read.
    """
    plain = json.dumps({"format": "millrace", **described})
    try:
        SerializedProgram(json.loads(plain), list(tensors))
    except FormatError as error:
        raise OperationError(f"the network cannot be exported: {error.message}") from error
    files = require("safetensors.torch", extra="train", purpose="writing an archive of a network")
    weights = {str(index): each.cpu().contiguous() for index, each in enumerate(tensors)}
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(PROGRAM, plain)
        archive.writestr(WEIGHTS, files.save({name: each.clone() for name, each in weights.items()}))
        for name, data in (extra_files or {}).items():
            archive.writestr(name, data)
    os.replace(path + ".part", path)


def _write_archive(net: Cell, inputs: tuple[Any, ...], path: str) -> None:
    described, tensors = capture_forward(net, inputs)
    training = find_training(SerializedProgram(json.loads(json.dumps(described)), tensors))
    if training is not None:
        raise OperationError(
            f"export: expected a network in evaluation mode, got one in which {training}. Remove what trains from "
            "'construct'"
        )
    write_archive(path, described, tensors)
    log.warning(
        "%s is a Millrace archive, which MindSpore cannot read. Use file_format='ONNX' for other runtimes",
        path,
    )


@public("train", "millrace")
def load(file_name: str, **kwargs: Any) -> SerializedProgram:
    """Load the graph of an archive of :func:`export` for ``nn.GraphCell``. MindSpore's files are refused."""
    if not isinstance(file_name, str):
        raise ArgumentTypeError(
            f"For 'load', the argument 'file_name' must be string, but got {type(file_name)}."
        )
    if not file_name.endswith(".mindir"):
        raise ArgumentValueError(
            "For 'load', the argument 'file_name'(MindIR file) should end with '.mindir', please input the correct "
            f"'file_name', but got {file_name!r}."
        )
    if not os.path.exists(file_name):
        raise ArgumentValueError(
            "For 'load', the argument 'file_name'(MindIR file) does not exist, please check whether the 'file_name' is "
            f"correct: {file_name!r}."
        )
    return parse_program(read_archive(file_name), file_name)


def read_archive(path: str) -> dict[str, bytes]:
    """Read the members of an archive by name. Raises FormatError for a damaged file or unknown members."""
    most = limits.ARCHIVE
    allowed = {
        PROGRAM: most.program_bytes,
        WEIGHTS: most.weights_bytes,
        ABOUT: most.about_bytes,
        ONNX: most.onnx_bytes,
    }
    try:
        return read_members(path, allowed, most.directory_bytes)
    except FormatError as error:
        raise FormatError(
            f"{error.message} (MindSpore's own .mindir files cannot be read here)", file=path
        ) from error


def read_program(members: dict[str, bytes], path: str) -> dict[str, Any]:
    """Read the program of an archive as unchecked plain data."""
    if PROGRAM not in members:
        raise FormatError(f"no archive of Millrace: it has no {PROGRAM}", file=path)
    try:
        described = parse_json(members[PROGRAM], limits.ARCHIVE.json_depth, limits.ARCHIVE.digits)
    except ValueError as error:
        raise FormatError(f"{PROGRAM} is damaged: {error}", file=path) from error
    if not isinstance(described, dict) or described.get("format") != "millrace":
        raise FormatError("no archive of Millrace", file=path)
    return described


def parse_program(members: dict[str, bytes], path: str) -> SerializedProgram:
    """Parse and check the program of an archive."""
    described = read_program(members, path)
    try:
        return SerializedProgram(described, _parse_weights(members.get(WEIGHTS, b"")))
    except FormatError as error:
        raise FormatError(error.message, **{**error.context, "file": path}) from error


def _parse_weights(data: bytes) -> list[torch.Tensor]:
    """Read the tensors of an archive in numeric order."""
    files = require("safetensors.torch", extra="train", purpose="reading an archive of a network")
    try:
        tensors: dict[str, torch.Tensor] = files.load(data)
    except Exception as error:  # the class of the library is unknown without it
        raise FormatError(f"{WEIGHTS} is damaged: {error}") from error
    if len(tensors) > limits.ARCHIVE.tensors:
        raise FormatError(f"{WEIGHTS}: expected at most {limits.ARCHIVE.tensors} tensors, got {len(tensors)}")
    numbers = [str(index) for index in range(len(tensors))]
    if set(tensors) != set(numbers):
        raise FormatError(f"{WEIGHTS} is damaged: its tensors are not numbered from 0")
    return [tensors[number] for number in numbers]
