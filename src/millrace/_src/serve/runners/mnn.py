"""Run convolutional networks on MNN, which computes 3 x 3 convolutions with less than half of the multiplications
(Winograd).

MNN is used only if a test at load time shows that it reads the model, gives the results of onnxruntime, and takes less
processor time. Small batches stay with onnxruntime, which divides a row among the cores.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from millrace._src.core.errors import MissingExtra, ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.optional import require
from millrace._src.serve.tensor_codec import Array, TensorSpec

from .onnx_files import read_onnx
from .onnx_graph import nodes_of
from .runner import ModelRunner, OnnxRunner

__all__ = ["MnnRunner", "onnx_runner"]

log = get_logger(__name__)

# Rows per call: more rows are not faster, and their memory is never released.
MOST_ROWS = 32
# Relative tolerance of the results: float32 sums in another order.
TOLERANCE = 1e-4
# MNN must take less than this share of onnxruntime's time to be worth its memory.
WORTH = 0.9
# No operator here indexes by request data: unlike onnxruntime, MNN does not check indexes.
SAFE = frozenset(
    (
        "Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Constant", "Conv", "Div", "Dropout", "Elu",
        "Flatten", "Gather", "Gemm", "GlobalAveragePool", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "MatMul",
        "MaxPool", "Mul", "PRelu", "Pad", "ReduceMean", "Relu", "Reshape", "Shape", "Sigmoid", "Slice", "Softmax",
        "Split", "Sqrt", "Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze",
    )
)  # fmt: skip
# Runs in a separate process: the converter prints, and may end the process on an unsupported file.
CONVERT = "import sys, _tools; _tools.mnnconvert(['mnnconvert', *sys.argv[1:]])"


def onnx_runner(file: str | bytes, threads: int, runtime: str = "auto") -> ModelRunner:
    """Create the runner of an ONNX file: onnxruntime, or MNN where it is faster with the same results."""
    if isinstance(file, str):
        file = read_onnx(file)  # every runtime gets the checked bytes
    usual = OnnxRunner(file, threads)
    if runtime == "onnxruntime":
        return usual
    try:
        return _measure_speedup(file, usual, threads) if _is_candidate(file, usual) else usual
    except (_NoGain, MissingExtra, OSError, subprocess.SubprocessError) as error:
        log.info("onnxruntime computes the model: %s", error)
        return usual


class _NoGain(Exception):
    """Why MNN is not used."""


def _is_candidate(file: str | bytes, usual: OnnxRunner) -> bool:
    """Whether the model has convolutions that MNN speeds up, and only supported operators."""
    specs = (*usual.inputs, *usual.outputs)
    if any(
        spec.datatype != "FP32" or spec.shape[:1] != (-1,) or min(spec.shape[1:], default=0) < 0
        for spec in specs
    ):
        return False
    nodes = nodes_of(file)
    return all(node.op_type in SAFE for node in nodes) and any(
        node.op_type == "Conv"
        and node.ints.get("kernel_shape") == [3, 3]
        and set(node.ints.get("strides", [1])) == {1}
        for node in nodes
    )


def _measure_speedup(file: str | bytes, usual: OnnxRunner, threads: int) -> ModelRunner:
    library = _import_mnn()
    converted = _convert(file)
    net = _MnnSession(library, converted, usual.inputs, usual.outputs)
    alone = OnnxRunner(file, 1)
    for rows in (1, 3):
        _check_agreement(alone, net, _trial_inputs(usual.inputs, rows))
    wanted = WORTH * _cpu_seconds(alone.run, _trial_inputs(usual.inputs, 4)) / 4
    for rows in (1, 2, 4, 8):
        taken = _cpu_seconds(net.run, _trial_inputs(usual.inputs, rows)) / rows
        if taken < wanted:
            log.info("MNN computes batches of at least %d rows: %.2f ms per row", rows, taken * 1000)
            return MnnRunner(usual, net, rows, threads)
    raise _NoGain(f"MNN takes {taken * 1000:.2f} ms per row, not less than {wanted * 1000:.2f}")


def _import_mnn() -> Any:
    with _printing_to_stderr():
        return require("MNN", extra="mnn", purpose="computing convolutions in about half of the time")


class _Memory:
    """An anonymous file in memory that is removed with this object, however the process ends."""

    def __init__(self, data: bytes = b"") -> None:
        self.number = os.memfd_create("millrace-mnn")
        weakref.finalize(self, os.close, self.number)
        with open(self.path, "wb") as file:
            file.write(data)

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self.number}"


def _convert(file: str | bytes) -> _Memory:
    """Convert an ONNX file to MNN's format."""
    source = _Memory(file) if isinstance(file, bytes) else None
    target = _Memory()
    arguments = [
        "-f",
        "ONNX",
        "--modelFile",
        str(file) if source is None else source.path,
        "--MNNModel",
        target.path,
    ]
    process = subprocess.run(
        [sys.executable, "-c", CONVERT, *arguments, "--bizCode", "millrace"],
        capture_output=True,
        timeout=600,
        check=False,
        pass_fds=[each.number for each in (source, target) if each is not None],
    )
    if not os.fstat(target.number).st_size:
        last = (process.stdout + process.stderr).decode(errors="replace").strip().splitlines()[-1:]
        raise _NoGain(f"MNN cannot convert it ({' '.join(last)[:200]})")
    return target


def _trial_inputs(specs: Sequence[TensorSpec], rows: int) -> list[Array]:
    """Trial inputs with positive and negative numbers."""
    inputs = []
    for spec in specs:
        shape = (rows, *spec.shape[1:])
        inputs.append(np.sin(np.arange(np.prod(shape)) ** 1.5).astype(np.float32).reshape(shape))
    return inputs


def _check_agreement(alone: OnnxRunner, net: _MnnSession, arrays: list[Array]) -> None:
    for want, got in zip(alone.run(arrays), net.run(arrays), strict=True):
        if want.shape != got.shape or not np.abs(want - got).max() <= TOLERANCE * np.abs(want).max():
            raise _NoGain("MNN gives different results")


def _cpu_seconds(run: Callable[[list[Array]], list[Array]], arrays: list[Array]) -> float:
    """Processor time of this thread, which does not depend on the load of the machine."""
    taken = []
    for _ in range(3):
        began = time.thread_time()
        run(arrays)
        taken.append(time.thread_time() - began)
    return min(taken)


class MnnRunner:
    """Runner of an ONNX file on MNN; batches of fewer than `least` rows per thread run on onnxruntime."""

    platform = "mnn_onnx"

    def __init__(self, usual: OnnxRunner, net: _MnnSession, least: int, threads: int) -> None:
        self.inputs, self.outputs = usual.inputs, usual.outputs
        self.usual, self.least, self.threads = usual, least, threads
        self._free: queue.SimpleQueue[_MnnSession] = queue.SimpleQueue()
        self._free.put(net)
        self._another = net.another
        for _ in range(threads - 1):
            self._free.put(self._another())
        self._pool = ThreadPoolExecutor(available_cores(), thread_name_prefix="millrace-mnn")

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        rows = len(arrays[0])
        if rows < self.least * self.threads:
            return self.usual.run(arrays)
        count = max(self.threads, -(-rows // MOST_ROWS))
        ends = [rows * index // count for index in range(count + 1)]
        parts = [[each[a:b] for each in arrays] for a, b in itertools.pairwise(ends)]
        results = list(self._pool.map(self._part, parts)) if count > 1 else [self._part(parts[0])]
        return [np.concatenate(each) for each in zip(*results, strict=True)] if count > 1 else results[0]

    def _part(self, arrays: Sequence[Array]) -> list[Array]:
        try:
            net = self._free.get_nowait()
        except queue.Empty:  # several batches are computed in parallel
            net = self._another()
        try:
            return net.run(arrays)
        finally:
            self._free.put(net)


class _MnnSession:
    """An MNN session for one thread. Sessions of one interpreter block each other, so each has its own interpreter."""

    def __init__(
        self, mnn: Any, file: _Memory, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> None:
        self.another = functools.partial(_MnnSession, mnn, file, inputs, outputs)
        self._mnn, self._inputs, self._outputs = mnn, inputs, outputs
        with _printing_to_stderr():
            self._net = mnn.Interpreter(file.path)
            self._session = self._net.createSession({"backend": "CPU", "precision": "high", "numThread": 1})
        self._rows = 0

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        net, session = self._net, self._session
        inputs = [net.getSessionInput(session, spec.name) for spec in self._inputs]
        if self._rows != len(arrays[0]):
            self._rows = 0
            for tensor, array in zip(inputs, arrays, strict=True):
                net.resizeTensor(tensor, array.shape)
            net.resizeSession(session)
            self._rows = len(arrays[0])
        for tensor, array in zip(inputs, arrays, strict=True):
            tensor.copyFrom(self._host(array))
        if net.runSession(session):
            raise ServeError("the model failed: MNN could not compute it", 500)
        outputs = []
        for spec in self._outputs:
            tensor = net.getSessionOutput(session, spec.name)
            host = self._host(np.empty(tensor.getShape(), np.float32))
            tensor.copyToHostTensor(host)
            outputs.append(np.array(host.getNumpyData()))
        return outputs

    def _host(self, array: Array) -> Any:
        mnn = self._mnn
        whole = np.ascontiguousarray(array)
        return mnn.Tensor(whole.shape, mnn.Halide_Type_Float, whole, mnn.Tensor_DimensionType_Caffe)


_printing = threading.Lock()


@contextlib.contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Redirect MNN's messages from standard output, which carries the server's address, to standard error."""
    with _printing:
        flush = ctypes.CDLL(None).fflush
        flush(None)
        kept = os.dup(1)
        try:
            os.dup2(2, 1)
            yield
        finally:
            flush(None)
            os.dup2(kept, 1)
            os.close(kept)
