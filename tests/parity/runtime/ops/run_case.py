"""Runs calls under real MindSpore: `python run_case.py todo done`. It imports nothing of ours.

Each line of `done` is the answer to a job: what the call gives, or its gradient. A line is written as soon as it is
known, since some calls end MindSpore's process, or hang.
"""

import base64
import json
import pickle
import signal
import sys
import zlib

import mindspore
import numpy as np
from mindspore import Tensor, mint, ops  # noqa: F401

# A kernel that this build has not got is no statement about the operation.
LACKING = (
    "Select CPU operator", "Kernel select failed", "unregistered", "Not found op", "Framework Unexpected Exception",
    "not supported on CPU", "kernel is not", "Unsupported op", "KernelMod Init Failed",
    "Create device context failed", "Ascend only", "not supported on this device",
    "Create kernelmod for op", "Not implement exception",
)  # fmt: skip
COMPLEX = (mindspore.complex64, mindspore.complex128)
FLOATS = (mindspore.float16, mindspore.bfloat16, mindspore.float32, mindspore.float64)


def live(value):
    if isinstance(value, dict):
        if "tensor" in value:
            return Tensor(live(value["tensor"]).asnumpy(), getattr(mindspore, value["dtype"]))
        if "array" in value:
            return Tensor(np.frombuffer(value["array"], value["dtype"]).reshape(value["shape"]).copy())
        if "type" in value:
            name = value["type"]
            return getattr(mindspore, "bool_" if name == "bool" else name)
        return {name: live(part) for name, part in value["dict"].items()}
    if isinstance(value, (list, tuple)):
        return type(value)(live(part) for part in value)
    return value


def encode(value):
    if isinstance(value, Tensor):
        array = value.float().asnumpy() if value.dtype == mindspore.bfloat16 else value.asnumpy()
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
        return {"d": str(value.dtype), "s": list(value.shape), "k": array.dtype.str, "v": packed}
    if isinstance(value, (tuple, list)):
        return {"t": [encode(part) for part in value]}
    return {"p": value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)}


def call(path, init, args, kwargs):
    return applied(path, init, [live(value) for value in args], live(kwargs))


def applied(path, init, args, kwargs):
    """The result of what a path names, of arguments that are MindSpore's already."""
    face, _, name = path.rpartition(".")
    if face == "Tensor":
        return getattr(args[0], name)(*args[1:], **kwargs)
    module = mindspore
    for part in face.split("."):
        module = (
            getattr(module, part)
            if hasattr(module, part)
            else __import__(f"mindspore.{face}", fromlist=["x"])
        )
    function = getattr(module, name)
    if init is not None:
        function = function(**live(init))
    return function(*args, **kwargs)


def flush():
    """Let errors of kernels that ran behind come out here, not in the next call."""
    for _ in range(5):
        try:
            mindspore.runtime.synchronize()
            (Tensor([1.0]) + 1).asnumpy()
            return
        except Exception:
            continue


def empty(value):
    """Whether an argument is an array without elements."""
    if isinstance(value, dict):
        return 0 in value.get("shape", ()) or any(empty(part) for part in value.values())
    return isinstance(value, (list, tuple)) and any(empty(part) for part in value)


def parts(value):
    """The tensors of a result."""
    return [value] if isinstance(value, Tensor) else [p for p in value if isinstance(p, Tensor)]


def outcome(job):
    if empty(job) and not all(0 in part.shape for part in parts(call(*job))):
        return {"lacking": "MindSpore's kernels skip empty tensors and leave the result unwritten"}
    first, second = encode(call(*job)), encode(call(*job))
    return first if first == second else {"lacking": "results that differ from call to call"}


def floats(value):
    """The marks of floating tensors in arguments, in order."""
    if isinstance(value, dict):
        if "tensor" in value:
            return [value] if value["dtype"] == "bfloat16" else []
        if "array" in value:
            return [value] if np.dtype(value["dtype"]).kind == "f" else []
        return [mark for part in value.get("dict", {}).values() for mark in floats(part)]
    return [mark for part in value for mark in floats(part)] if isinstance(value, (list, tuple)) else []


def filled(value, tensors):
    """Arguments with the next of `tensors` in the place of each mark of a floating tensor."""
    if isinstance(value, dict):
        if floats(value) and "dict" not in value:
            return next(tensors)
        if "dict" in value:
            return {name: filled(part, tensors) for name, part in value["dict"].items()}
        return live(value)
    return type(value)(filled(part, tensors) for part in value) if isinstance(value, (list, tuple)) else value


def weighted(value):
    """The sum of the elements of a result, each times a weight: cos(1), cos(2) ..."""
    total = 0
    for part in parts(value):
        for real in (ops.real(part), ops.imag(part)) if part.dtype in COMPLEX else (part,):
            if real.dtype in FLOATS:
                wide = real if real.dtype == mindspore.float64 else real.astype(mindspore.float32)
                weight = np.cos(np.arange(1, real.size + 1)).reshape(real.shape)
                total = total + (wide * Tensor(weight, wide.dtype)).sum()
    return total


def gradient(job):
    """The gradient of the weighted sum by each floating tensor."""
    path, init, args, kwargs = job
    tensors = [live(mark) for mark in floats([args, kwargs])]

    def function(*given):
        given = iter(given)
        args_now, kwargs_now = filled(args, given), filled(kwargs, given)
        return weighted(applied(path, init, args_now, kwargs_now))

    def once():
        made = mindspore.grad(function, tuple(range(len(tensors))))(*tensors)
        return [packed(part) for part in (made if isinstance(made, tuple) else (made,))]

    first, second = once(), once()
    return {"g": first} if first == second else {"lacking": "gradients that differ from call to call"}


def packed(tensor):
    array = np.ascontiguousarray(tensor.astype(mindspore.float32).asnumpy())
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()


def answer(kind, job):
    """What a job gives. An error may come from an earlier call: only one that comes twice counts."""
    texts = []
    for _ in range(4):
        try:
            return gradient(job) if kind == "gradient" else outcome(job)
        except Exception as error:
            text = str(error)
            if text in texts:
                flush()
                if not text.strip() or any(words in text for words in LACKING):
                    return {"lacking": text.split("\n\n")[0][:80] or "an error without words"}
                return {"e": type(error).__name__, "m": text.split("\n---")[0].strip()[:160]}
            texts.append(text)
            flush()
    return {"lacking": "errors that differ from call to call"}


def main(todo, done):
    with open(todo, "rb") as file:
        jobs = pickle.load(file)
    with open(done, "a") as file:
        for name, kind, *job in jobs:
            signal.alarm(20)  # a call that never comes back ends the process, too
            file.write(json.dumps([name, answer(kind, job)]) + "\n")
            file.flush()


main(*sys.argv[1:])
