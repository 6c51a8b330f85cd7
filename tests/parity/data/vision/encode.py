"""Results as JSON: kind, dtype, shape and a digest of the bytes; the values too where they are needed."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from typing import Any

import numpy as np

from tests.parity.data.vision.inputs import FILES

SMALL = 12
SAMPLES = 3000


def encode(value: Any, keep: bool = False) -> dict[str, Any]:
    """A result as JSON; equal results have equal JSON."""
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [encode(v, keep) for v in value]}
    mode = getattr(value, "mode", None)
    if isinstance(mode, str):
        return {"pil": mode} | encode(np.asarray(value), keep)
    if not isinstance(value, np.ndarray):
        return {"value": repr(value)}
    data = np.ascontiguousarray(value)
    if data.dtype.kind in "US":
        words = [v if isinstance(v, str) else v.decode("latin-1") for v in data.ravel().tolist()]
        return {"dtype": data.dtype.kind, "shape": list(value.shape), "values": words}
    made: dict[str, Any] = {"dtype": data.dtype.name, "shape": list(value.shape)}
    if data.dtype.kind == "f":  # one bit pattern for all not-a-numbers
        data = np.where(np.isnan(data), np.array(np.nan, data.dtype), data)
    made["sha"] = hashlib.sha1(data.tobytes()).hexdigest()[:16]
    if keep:
        made["data"] = base64.b64encode(zlib.compress(sample(data).tobytes(), 9)).decode()
    elif data.size <= SMALL and data.dtype.kind in "biu":
        made["values"] = data.tolist()
    return made


def sample(data: np.ndarray) -> np.ndarray:
    """All values of a small array, some thousands of a large one."""
    return np.ascontiguousarray(data.ravel()[:: max(1, data.size // SAMPLES)])


def decode_values(golden: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(golden["data"])), golden["dtype"])


def encode_error(error: BaseException) -> dict[str, Any]:
    # where the files lie is nobody's business
    text = re.sub(r"\s+", " ", str(error).replace(f"{FILES}/", "FILES/"))[:400]
    text = re.sub(r"<class '(?:mindspore|millrace)\.(?:\w+\.)*(\w+)'>", r"<class '\1'>", text)
    text = re.sub(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]+>", r"<\1>", text)
    text = re.sub(r"object at 0x[0-9a-f]+", "object", text)
    built_in = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return {"error": built_in, "message": text}
