"""Runs calls under real MindSpore: `python play.py todo done`. It imports nothing of ours.

MindSpore's errors may come from an earlier call, since its kernels run behind; a call that fails is tried again, and
only an error that comes twice with the same text counts.
"""

import base64
import json
import pickle
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
    face, _, name = path.rpartition(".")
    args, kwargs = [live(value) for value in args], live(kwargs)
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
    texts = []
    for _ in range(4):
        try:
            if empty(job) and not all(0 in part.shape for part in parts(call(*job))):
                return {"lacking": "MindSpore's kernels skip empty tensors and leave the result unwritten"}
            first, second = encode(call(*job)), encode(call(*job))
            return first if first == second else {"lacking": "results that differ from call to call"}
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
    results = {}
    for name, *job in jobs:
        results[name] = outcome(job)
    with open(done, "w") as file:
        json.dump(results, file)


main(*sys.argv[1:])
