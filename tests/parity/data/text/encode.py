"""Results as JSON, with all their values; errors as class and words."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import numpy as np

from tests.parity.data.text.inputs import FILES

_BANNER = re.compile(r"Dataset Pipeline Error Message: [\s-]*(?:\[ERROR\])?(.*?)\s*-{20}", re.DOTALL)


def encode(value: Any) -> Any:
    """A result as JSON; equal results have equal JSON. Text is kept by its kind (U, S), numbers by their type."""
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [encode(v) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    if isinstance(value, (np.ndarray, np.generic)):
        data = np.asarray(value)
        made: dict[str, Any] = {"dtype": data.dtype.name if data.dtype.kind not in "US" else data.dtype.kind}
        if isinstance(value, np.generic):
            made["scalar"] = True
        flat = [v.decode("latin-1") if isinstance(v, bytes) else v for v in data.ravel().tolist()]
        if len(flat) > 5000:
            return made | {"shape": list(data.shape), "sha": _digest(flat)}
        if data.size == 1 and isinstance(flat[0], str) and len(flat[0]) > 5000:
            return made | {"shape": list(data.shape), "sha": _digest(flat)}
        return made | {"shape": list(data.shape), "values": flat}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    return {"made": type(value).__name__}


def _digest(flat: list[Any]) -> str:
    return hashlib.sha1(json.dumps(flat).encode()).hexdigest()


def encode_error(error: BaseException) -> dict[str, Any]:
    """The class and the words: of MindSpore's run-time errors, those between the banner and the call stack."""
    text = str(error)
    found = _BANNER.search(text)
    text = found[1] if found else text
    text = re.sub(r"^(\w+?)Op:", r"\1:", text.strip())
    text = re.sub(r"\s+", " ", text.replace(f"{FILES}/", "FILES/"))[:400]
    text = re.sub(r"<class '(?:mindspore|millrace)\.(?:\w+\.)*(\w+)'>", r"<class '\1'>", text)
    text = re.sub(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]+>", r"<\1>", text)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = text.encode("utf-8", "backslashreplace").decode()
    built_in = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return {"error": built_in, "message": text}
