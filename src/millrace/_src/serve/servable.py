"""``Servable``: a model with its preprocessing and postprocessing, saved as one archive."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from millrace._src.core import limits
from millrace._src.core.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FormatError,
    MillraceError,
    ServeError,
)
from millrace._src.core.io.checked_json import parse_json
from millrace._src.core.io.stored_zip import read_regular_file
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.public import public
from millrace._src.runtime.graph.program_serialization import SerializedProgram
from millrace._src.runtime.nn.cell import Cell
from millrace._src.train.export.archive import (
    ABOUT,
    ONNX,
    capture_forward,
    parse_program,
    read_archive,
    read_program,
    write_archive,
)

from .batching_decision import UNDECIDED
from .row_transforms import (
    ModelInputSignature,
    RowTransforms,
    by_name,
    collect_rows,
    stack_inputs,
    steps_from_json,
)
from .runners.mnn import onnx_runner
from .runners.runner import ArchiveRunner, ModelRunner, zeros
from .tensor_codec import DATATYPES, Array, TensorSpec, datatype_of

__all__ = ["LoadedModel", "Servable", "load_model_file"]

FORMAT, VERSION = "millrace-servable", 1


@public("serve")
class Servable:
    """A model with the transforms before and after it, so that serving and training process data alike.

    `model` is a network (a ``Cell``, with `inputs` as for ``export``: ``Tensor(shape=[None, 1, 28, 28], dtype=...)``
    for any number of rows), or the path of an ``.onnx`` or ``.mindir`` file. `pre` are the transforms that the pipeline
    maps over a column, `post` transforms of the model's outputs, row by row: each a list, or a dict from names of
    inputs (outputs) to lists. `takes` is the datatype and shape of a row before `pre`, as ``("UINT8", (28, 28, 1))``;
    if `pre` begins with ``Decode`` it is the bytes of a file, with a text transform it is text. `outputs` names the
    outputs.

    >>> import numpy as np
    >>> from millrace import Tensor, float32, nn
    >>> import millrace.dataset.transforms as transforms
    >>> net = nn.Dense(2, 1, weight_init="ones", has_bias=False)
    >>> double = Servable(
    ...     net,
    ...     inputs=[Tensor(shape=[None, 2], dtype=float32)],
    ...     pre=[transforms.TypeCast(np.float32)],
    ...     takes=("INT32", (2,)),
    ... )
    >>> double.save("double.mindir")
    >>> load_model_file("double.mindir").predict([np.array([[1, 2]], np.int32)])
    [array([[3.]], dtype=float32)]
    """

    def __init__(
        self,
        model: Any,
        inputs: Sequence[Any] | None = None,
        pre: Any = None,
        post: Any = None,
        takes: Any = None,
        outputs: Sequence[str] = (),
    ) -> None:
        if not isinstance(model, (Cell, str, os.PathLike)):
            raise ArgumentTypeError(
                f"Servable: expected a network or the path of an .onnx or .mindir file, got {type(model)}"
            )
        if isinstance(model, Cell) and not inputs:
            raise ArgumentTypeError(
                "a network needs `inputs`: Tensors of its input shapes, as for export. For any number of rows: "
                "Tensor(shape=[None, 3, 32, 32], dtype=millrace.float32)"
            )
        self.model: Any = model if isinstance(model, Cell) else os.fspath(model)
        self.inputs, self.outputs = list(inputs or ()), tuple(outputs)
        self.pre, self.post, self.taken = pre, post, takes
        self._graph: tuple[dict[str, Any], list[Any]] | None = None
        # errors are raised here, not in the server; the server chooses the fastest runtime
        self.load(runtime="onnxruntime")

    def load(self, threads: int = 0, runtime: str = "auto") -> LoadedModel:
        """Load the model; `runtime` as in ``Config``."""
        if isinstance(self.model, Cell):
            described, tensors = self._recorded()
            plain = json.loads(json.dumps(described))
            runner: ModelRunner = ArchiveRunner(SerializedProgram(plain, tensors), self.outputs)
            return LoadedModel(runner, self.pre, self.post, self.taken)
        model_file = _open_model(self.model, threads, runtime, self.outputs)
        if model_file.about is not None and (self.pre is None and self.post is None):
            return _create_loaded_model(model_file)
        return LoadedModel(model_file.runner, self.pre, self.post, self.taken)

    def _recorded(self) -> tuple[dict[str, Any], list[Any]]:
        trains = self.model.training
        self.model.set_train(False)
        try:
            return capture_forward(self.model, self.inputs)
        finally:
            self.model.set_train(trains)

    def save(self, path: str) -> None:
        """Write the model and its transforms into one archive, ``.mindir``; an ONNX file is stored unchanged."""
        if not path.endswith(".mindir"):
            raise ArgumentValueError(f"an archive's name ends with .mindir, but got {path!r}")
        ready = self.load(runtime="onnxruntime")
        about = {
            "format": FORMAT,
            "version": VERSION,
            "pre": {name: steps.saved for name, steps in ready.pre.items()},
            "post": {name: steps.saved for name, steps in ready.post.items()},
            "takes": {spec.name: [spec.datatype, list(spec.shape[1:])] for spec in ready.inputs},
            "outputs": [spec.name for spec in ready.runner.outputs],
        }
        extra_files = {ABOUT: json.dumps(about).encode()}
        if isinstance(self.model, Cell):
            write_archive(path, *self._recorded(), extra_files)
        elif isinstance(ready.runner, ArchiveRunner):
            described = read_program(read_archive(self.model), self.model)
            write_archive(path, described, ready.runner.graph.tensors, extra_files)
        else:
            with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(ONNX, _onnx_of(self.model))
                archive.writestr(ABOUT, extra_files[ABOUT])
            os.replace(path + ".part", path)


def _onnx_of(path: str) -> bytes:
    if path.endswith(".onnx"):
        return read_regular_file(path, limits.ARCHIVE.onnx_bytes)
    return read_archive(path)[ONNX]


class LoadedModel:
    """A loaded model with its preprocessing and postprocessing."""

    def __init__(self, runner: ModelRunner, pre: Any = None, post: Any = None, takes: Any = None) -> None:
        self.runner = runner
        names = [spec.name for spec in runner.inputs]
        self.pre: dict[str, RowTransforms] = by_name(pre, names, "`pre`")
        self.post: dict[str, RowTransforms] = by_name(post, [spec.name for spec in runner.outputs], "`post`")
        self.takes_rows = all(spec.shape[:1] == (-1,) for spec in (*runner.inputs, *runner.outputs))
        self.batching = UNDECIDED
        if (self.pre or self.post) and not self.takes_rows:
            raise ArgumentValueError(
                "transforms need a model that takes any number of rows: export it with Tensor(shape=[None, ...])"
            )
        signatures: Mapping[str, Any] = (
            takes if isinstance(takes, Mapping) else {} if takes is None else {names[0]: takes}
        )
        self.inputs = tuple(self._taken(spec, signatures.get(spec.name)) for spec in runner.inputs)
        self.outputs = runner.outputs
        self._warm()

    def _taken(self, spec: TensorSpec, signature: Any) -> TensorSpec:
        """Specification of what a client sends for an input."""
        steps = self.pre.get(spec.name)
        if steps is None:
            return spec
        taken: ModelInputSignature | None = (
            _check_signature(signature) if signature is not None else steps.takes()
        )
        if taken is None:
            raise ArgumentValueError(
                f"the transforms of '{spec.name}' need the type of a row: takes=('UINT8', (28, 28, 1)), -1 for any "
                "length"
            )
        return TensorSpec(spec.name, taken[0], (-1, *taken[1]))

    def _warm(self) -> None:
        """Warm up with one row and with two, and determine the output shapes."""
        free = any(n < 0 for spec in self.runner.inputs for n in spec.shape[1:])
        try:
            if self.takes_rows:
                self.runner.run(zeros(self.runner.inputs, 2))
            outputs = self.runner.run(zeros(self.runner.inputs, 1))
        except Exception as error:
            if free or any(spec.datatype == "BYTES" for spec in self.runner.inputs):
                return  # the supported lengths are unknown
            raise FormatError(f"the model fails on inputs of its declared shapes: {error}") from error
        if self.post:
            shown = self.postprocess(outputs)
            self.outputs = tuple(
                TensorSpec(spec.name, datatype_of(each.dtype), (-1, *each.shape[1:]))
                for spec, each in zip(self.outputs, shown, strict=True)
            )

    def preprocess(self, arrays: Sequence[Array]) -> list[Array]:
        """Apply the preprocessing transforms."""
        inputs = []
        for spec, array in zip(self.runner.inputs, arrays, strict=True):
            steps = self.pre.get(spec.name)
            inputs.append(array if steps is None else stack_inputs(steps.rows(spec.name, array), spec))
        return inputs

    def postprocess(self, arrays: Sequence[Array]) -> list[Array]:
        """Apply the postprocessing transforms."""
        outputs = []
        for spec, array in zip(self.runner.outputs, arrays, strict=True):
            steps = self.post.get(spec.name)
            outputs.append(array if steps is None else collect_rows(steps.rows(spec.name, array)))
        return outputs

    def predict(self, arrays: Sequence[Array]) -> list[Array]:
        """Preprocess, run the model, and postprocess in this thread."""
        return self.postprocess(self.runner.run(self.preprocess(arrays)))


def _check_signature(signature: Any) -> ModelInputSignature:
    try:
        datatype, shape = signature
        lengths = tuple(int(n) for n in shape)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"`takes` is a datatype and a shape, as ('UINT8', (28, 28)), but got {signature!r}"
        ) from None
    if datatype not in DATATYPES:
        raise ArgumentValueError(f"{datatype!r} is no datatype; it is one of {', '.join(DATATYPES)}")
    return datatype, lengths


class _ModelFile:
    """Contents of a model file: a runner, and the description of its transforms."""

    def __init__(self, runner: ModelRunner, about: dict[str, Any] | None) -> None:
        self.runner, self.about = runner, about


def load_model_file(path: str, threads: int = 0, runtime: str = "auto") -> LoadedModel:
    """Load a model from a file."""
    try:
        return _create_loaded_model(_open_model(path, threads, runtime, ()))
    except FormatError as error:
        if "file" in error.context:
            raise
        raise FormatError(error.message, file=path) from error
    except (MillraceError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"it cannot be served: {error}", file=path) from error


def _create_loaded_model(model_file: _ModelFile) -> LoadedModel:
    about = model_file.about
    if about is None:
        return LoadedModel(model_file.runner)
    pre, post = (
        steps_from_json(about.get("pre", {}), "`pre`"),
        steps_from_json(about.get("post", {}), "`post`"),
    )
    return LoadedModel(
        model_file.runner, pre or None, post or None, {str(k): v for k, v in about.get("takes", {}).items()}
    )


def _open_model(path: str, threads: int, runtime: str, outputs: Sequence[str]) -> _ModelFile:
    threads = threads or available_cores()
    if not path.endswith((".onnx", ".mindir")):
        raise FormatError("a model is an archive, .mindir, or an ONNX file, .onnx", file=path)
    if not os.path.isfile(path):
        raise FormatError("there is no such file", file=path)
    if path.endswith(".onnx"):
        return _ModelFile(onnx_runner(path, threads, runtime), None)
    members = read_archive(path)
    about = _parse_about(members[ABOUT], path) if ABOUT in members else None
    if ONNX in members:
        return _ModelFile(onnx_runner(members[ONNX], threads, runtime), about)
    named = list(outputs) or [str(name) for name in (about or {}).get("outputs", ())]
    return _ModelFile(ArchiveRunner(parse_program(members, path), named), about)


def _parse_about(data: bytes, path: str) -> dict[str, Any]:
    try:
        about = parse_json(data, limits.ARCHIVE.json_depth, limits.ARCHIVE.digits)
    except ValueError as error:
        raise FormatError(f"{ABOUT} is damaged: {error}", file=path) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("version") != VERSION:
        raise FormatError(f"its {ABOUT} has an unsupported version", file=path)
    return about


def model_load_error(error: Exception) -> ServeError:
    """The error response of a failed model load."""
    return ServeError(f"the model could not be loaded; the previous one is still served: {error}", 500)
