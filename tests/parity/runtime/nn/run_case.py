"""Runs cases of layers, under Millrace or MindSpore; `python -m tests.parity.runtime.nn.run_case family done`
is the latter.

It imports nothing of ours but the cases.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from typing import Any

import numpy as np

from tests.parity.runtime.nn.layers import Layer, cases

FLOATS = ("float16", "float32", "float64")
# A kernel that this build has not got is no statement about the layer.
LACKING = (
    "Select CPU operator", "Kernel select failed", "unregistered", "Not found op", "Framework Unexpected Exception",
    "not supported on CPU", "KernelMod Init Failed", "Create kernelmod", "Not implement exception",
)  # fmt: skip


def fill(cell: Any, tensor: Any) -> None:
    """Give every parameter values that depend on its name and shape alone."""
    for path, parameter in cell.parameters_and_names():
        shape = tuple(parameter.shape)
        draw = np.random.RandomState(zlib.crc32(f"{path}{shape}".encode()))
        values = draw.uniform(-1, 1, shape)
        if "variance" in path:
            values = 1 + 0.5 * np.abs(values)
        elif path.endswith("gamma"):
            values = 1 + 0.2 * values
        elif len(shape) > 1:
            values = values * np.sqrt(3 / max(np.prod(shape[1:]), 1))
        else:
            values = values * 0.2
        if "Float" in str(parameter.dtype):
            parameter.set_data(tensor(values.astype(np.float32)).astype(parameter.dtype))


def encode(tensor: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(tensor.asnumpy())
    packed = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
    return {"d": str(tensor.dtype), "s": list(array.shape), "k": array.dtype.str, "v": packed}


def decode(item: dict[str, Any]) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(item["v"])), item["k"]).reshape(item["s"])


def tensors(ms: Any, value: Any) -> list[Any]:
    """The tensors of a result, one after the other."""
    if isinstance(value, ms.Tensor):
        return [value]
    return [t for part in value for t in tensors(ms, part)] if isinstance(value, (tuple, list)) else []


def live(ms: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ms.Tensor(value.copy())
    return type(value)(live(ms, part) for part in value) if isinstance(value, (tuple, list)) else value


def play(ms: Any, case: Layer) -> dict[str, Any]:
    """What a case gives: parameters, results, gradients."""
    if case.options.get("graph") and ms.__name__ == "mindspore":
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            return _played(ms, case)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    return _played(ms, case)


def _played(ms: Any, case: Layer) -> dict[str, Any]:
    cell = case.build(ms)
    form = form_of(cell) if case.options.get("whole") else {}
    if case.options.get("weights", True):
        fill(cell, ms.Tensor)
    cell.set_train(case.options.get("train", False))
    args = [live(ms, value) for value in case.args]
    made = cell(*args)
    found: dict[str, Any] = {
        "parameters": parameters_of(cell),
        "results": [encode(t) for t in tensors(ms, made)],
        **form,
    }
    if case.options.get("grads", True):
        found["gradients"] = [
            encode(t) for t in tensors(ms, gradients(ms, cell, args, case.options.get("by")))
        ]
    if case.options.get("train", False):
        found["after"] = [encode(p) for p in cell.untrainable_params()]
    return found


def parameters_of(cell: Any) -> dict[str, Any]:
    return {path: [p.name, list(p.shape), str(p.dtype)] for path, p in cell.parameters_and_names()}


def form_of(cell: Any) -> dict[str, Any]:
    """How a layer prints, without the places of objects in memory, and between which values its weights begin."""
    text = re.sub(r"<[\w.]+\.(\w+) object at 0x\w+>", r"\1()", str(cell))
    begin = {}
    for path, parameter in cell.parameters_and_names():
        array = parameter.asnumpy().astype(np.float64)
        begin[path] = [float(f(array)) for f in (np.min, np.max, np.std)] if array.size else []
    return {"text": text, "begin": begin, "trained": [p.name for p in cell.trainable_params()]}


def gradients(ms: Any, cell: Any, args: list[Any], by: Any = None) -> Any:
    """By floating inputs and weights, of a sum of all floating results in which each element has its own part."""

    def total(*given: Any) -> Any:
        found = 0.0
        for result in tensors(ms, cell(*given)):
            if "Float" in str(result.dtype):
                size = int(np.prod(result.shape))
                parts = np.cos(np.arange(size)).reshape(result.shape).astype(np.float32)
                found = found + (result * ms.Tensor(parts).astype(result.dtype)).sum()
        return found

    places = tuple(
        i
        for i, arg in enumerate(args)
        if isinstance(arg, ms.Tensor) and "Float" in str(arg.dtype) and (by is None or i in by)
    )
    weights = cell.trainable_params()
    if weights:
        return ms.grad(total, places or None, weights)(*args)
    return ms.grad(total, places)(*args) if places else ()


def flush(ms: Any) -> None:
    """Let errors of kernels that ran behind come out here, not in the next case."""
    for _ in range(5):
        try:
            ms.runtime.synchronize()
            (ms.Tensor([1.0]) + 1).asnumpy()
            return
        except Exception:
            continue


def main(family: str, done: str) -> None:
    import mindspore

    results = {}
    for name, case in cases(family).items():
        try:
            results[name] = play(mindspore, case)
        except Exception as error:
            text = str(error)
            if any(words in text for words in LACKING):
                results[name] = {"lacking": text.strip("-\n ")[:40]}
                flush(mindspore)
                if case.options.get("whole"):
                    cell = case.build(mindspore)
                    results[name] |= {"parameters": parameters_of(cell), **form_of(cell)}
            else:
                results[name] = {"e": type(error).__name__, "m": text.split("\n---")[0].strip()[:160]}
            flush(mindspore)
    with open(done, "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
