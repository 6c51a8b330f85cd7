"""Runs cases of layers, under Millrace or MindSpore; `python -m tests.parity.nn.play family done` is the latter.

It imports nothing of ours but the cases.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from typing import Any

import numpy as np

from tests.parity.nn.layers import Layer, cases

FLOATS = ("float16", "float32", "float64")


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
    cell = case.build(ms)
    if case.options.get("weights", True):
        fill(cell, ms.Tensor)
    cell.set_train(case.options.get("train", False))
    args = [live(ms, value) for value in case.args]
    made = cell(*args)
    found: dict[str, Any] = {
        "parameters": {
            path: [p.name, list(p.shape), str(p.dtype)] for path, p in cell.parameters_and_names()
        },
        "results": [encode(t) for t in tensors(ms, made)],
    }
    if case.options.get("grads", True):
        found["gradients"] = [encode(t) for t in tensors(ms, gradients(ms, cell, args))]
    if case.options.get("train", False):
        found["after"] = [encode(p) for p in cell.untrainable_params()]
    return found


def gradients(ms: Any, cell: Any, args: list[Any]) -> Any:
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
        i for i, arg in enumerate(args) if isinstance(arg, ms.Tensor) and "Float" in str(arg.dtype)
    )
    weights = cell.trainable_params()
    if weights:
        return ms.grad(total, places or None, weights)(*args)
    return ms.grad(total, places)(*args) if places else ()


def main(family: str, done: str) -> None:
    import mindspore

    results = {}
    for name, case in cases(family).items():
        try:
            results[name] = play(mindspore, case)
        except Exception as error:
            results[name] = {"e": type(error).__name__, "m": str(error).split("\n---")[0].strip()[:160]}
    with open(done, "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
