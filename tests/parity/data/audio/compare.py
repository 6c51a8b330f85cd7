"""Results as JSON, how far two of them are apart, and the rules of where Millrace differs from MindSpore.

Without a rule a result has MindSpore's type and shape, its NaNs and infinities at the same places, and values within
1e-5 (float64: 1e-9; integers: 0) of the largest magnitude that MindSpore gives; an error has its class and words.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

WITHIN = {"float16": 1e-3, "float32": 1e-5, "float64": 1e-9}


class Near(NamedTuple):
    """Farther apart than it should be: by how much of the largest magnitude, and the reason."""

    pattern: str
    within: float
    reason: str


class Drawn(NamedTuple):
    """A random result: only type and shape are compared."""

    pattern: str
    reason: str = "random"


class Better(NamedTuple):
    """Something else on purpose: an error with these words, or (without words) a value."""

    pattern: str
    reason: str
    raises: str = ""


Rule = Near | Drawn | Better


def rule_for(rules: Iterable[Rule], name: str) -> Rule | None:
    """The first rule whose pattern is found in a case's name, "call(inputs)"."""
    return next((rule for rule in rules if re.search(rule.pattern, name)), None)


def encode(value: Any) -> dict[str, Any]:
    """A result as JSON: all values, packed."""
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [encode(v) for v in value]}
    if not isinstance(value, np.ndarray):
        return {"value": repr(value)}
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 9)).decode()
    return {"dtype": value.dtype.name, "shape": list(value.shape), "data": data}


def decode(golden: dict[str, Any]) -> np.ndarray:
    """The array that `encode` was given."""
    values = np.frombuffer(zlib.decompress(base64.b64decode(golden["data"])), golden["dtype"])
    return values.reshape(golden["shape"])


def how_far(value: Any, golden: dict[str, Any]) -> float | str:
    """The largest difference, as a share of MindSpore's largest magnitude; or what differs, in words."""
    if "tuple" in golden or "list" in golden:
        [parts] = golden.values()
        if type(value) is not tuple or len(value) != len(parts):
            return f"gives {type(value)}, not {len(parts)} values"
        far = [how_far(v, g) for v, g in zip(value, parts, strict=True)]
        words = [one for one in far if isinstance(one, str)]
        return words[0] if words else max(one for one in far if not isinstance(one, str))
    if "value" in golden:
        return 0.0 if repr(value) == golden["value"] else f"gives {value!r}, not {golden['value']}"
    return _far(value, decode(golden))


def _far(value: Any, wanted: np.ndarray) -> float | str:
    if not isinstance(value, np.ndarray):
        return f"gives {type(value)}, not an array"
    if (value.dtype, value.shape) != (wanted.dtype, wanted.shape):
        return f"gives {value.dtype}{value.shape}, not {wanted.dtype}{wanted.shape}"
    left, right = value.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(right)
    if (
        not np.array_equal(left[~finite], right[~finite], equal_nan=True)
        or not np.isfinite(left[finite]).all()
    ):
        return "has NaNs or infinities at other places"
    scale = np.abs(right[finite]).max(initial=0.0)
    far = np.abs(left[finite] - right[finite]).max(initial=0.0)
    return float(far / scale) if scale else float(far)


def allowed(value: Any, rule: Rule | None) -> float:
    """How far a result may be from MindSpore's."""
    if isinstance(rule, Near):
        return rule.within
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return max(WITHIN.get(str(getattr(part, "dtype", "")), 0.0) for part in parts)
