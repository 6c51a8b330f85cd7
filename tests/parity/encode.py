"""Results and errors as JSON values that can be compared exactly: dtype, shape and every value are kept."""

from __future__ import annotations

import enum
import json
import math
import re
from typing import Any

import numpy as np


def encode(value: Any) -> Any:
    """Turn a result into JSON; two results are the same exactly when these are equal."""
    if value is None or (isinstance(value, (bool, str)) and not isinstance(value, (enum.Enum, np.str_))):
        return value
    if isinstance(value, enum.Enum):
        return {"enum": f"{type(value).__name__}.{value.name}"}
    if isinstance(value, np.ndarray):
        return {"nd": value.dtype.str, "shape": list(value.shape), "values": _plain(value.tolist())}
    if isinstance(value, np.generic):
        return {"scalar": value.dtype.str, "values": _plain(value.item())}
    if isinstance(value, (int, float, bytes)):
        return _plain(value)
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [encode(item) for item in value]}
    if hasattr(value, "asnumpy"):
        return {"tensor": encode(np.asarray(value.asnumpy()))}
    return {"object": _family(value)}


def encode_error(error: BaseException) -> dict[str, Any]:
    """Turn an error into JSON: the built-in class it belongs to, and what it says."""
    text = str(error)
    flowing = text.startswith(("Exception thrown from", "Syntax error."))
    return {
        "error": next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"),
        "message": _heart(text) if flowing else same_names(text),
        "flowing": flowing,
    }


def same(left: Any, right: Any) -> bool:
    return json.dumps(left) == json.dumps(right)


def same_names(text: str) -> str:
    """Take out what differs between two libraries and two runs: module paths and addresses."""
    text = re.sub(r"<class '(?:mindspore|millrace)\.(?:\w+\.)*(\w+)'>", r"<class '\1'>", text)
    text = re.sub(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]+>", r"<\1>", text)
    return text.replace("mindspore.dataset", "dataset").replace("millrace.dataset", "dataset")


def _heart(text: str) -> str:
    """Return the sentence of an error while rows flow, without frames and call stacks."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and set(line) != {"-"}]
    if "- Python Call Stack:" in lines:
        start, stop = (
            lines.index("- Python Call Stack:") + 1,
            lines.index("- Dataset Pipeline Error Message:"),
        )
        return lines[stop - 1] if stop > start else ""
    found = [line for line in lines if line.startswith("[ERROR]")]
    return found[0].removeprefix("[ERROR]").strip() if found else lines[0]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _family(value: Any) -> str:
    """Return the kind of thing, by the public base class it has in both libraries."""
    bases = [kind.__name__ for kind in type(value).__mro__]
    known = [
        name for name in ("Dataset", "BuiltinSampler", "DSCallback", "Schema", "Iterator") if name in bases
    ]
    return known[0] if known else bases[0]
