"""The samples of an operation, through each of its faces; and how results are written down and compared."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib
import json
import pkgutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import millrace
import millrace._src.runtime.ops as operation_modules
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.declare.registry import OP_REGISTRY, OpSpec
from tests.contracts.ops.samples import Sample, Typed, key, load

HERE = Path(__file__).parent
GOLDENS = HERE.parents[1] / "parity" / "runtime" / "ops" / "goldens"
# Relative and absolute difference allowed; what is reduced over many elements is scaled by the suite.
TOLERANCE = {
    "Float64": 1e-9,
    "Float32": 1e-5,
    "Float16": 2e-3,
    "BFloat16": 2e-2,
    "Complex64": 1e-5,
    "Complex128": 1e-9,
}


@dataclass
class Case:
    """One sample through one face: "ops.relu", "Tensor.relu", or "ops.ReLU" with what its constructor takes."""

    path: str
    number: int | str
    sample: Sample
    init: dict[str, Any] | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.path}/{self.number}"


def operations() -> list[OpSpec]:
    """Every operation of the table, families loaded."""
    millrace.Tensor([1.0]).abs()
    for name in ("numpy", "scipy.linalg"):  # families that have no other face
        importlib.import_module(f"millrace.{name}")
    for module in pkgutil.walk_packages(operation_modules.__path__, f"{operation_modules.__name__}."):
        importlib.import_module(module.name)  # also those that only layers call
    return OP_REGISTRY


def cases(spec: OpSpec) -> Iterator[Case]:
    """Every sample through every face."""
    for number, sample in enumerate(load().get(key(spec), [])):
        for face, name in spec.public_names:
            if face != "Tensor" or (sample.args and isinstance(sample.args[0], (np.ndarray, Typed))):
                yield Case(f"{face}.{name}", number, sample, None, sample.args, sample.kwargs)
        for name, options, call in spec.primitives:
            try:
                given = spec.signature.bind(*sample.args, **sample.kwargs).arguments
            except TypeError:
                continue
            if set(given) <= {*options, *call}:
                init = {n: given[n] for n in options if n in given}
                args = tuple(given[n] for n in call if n in given)
                yield Case(f"ops.{name}", number, sample, init, args, {})


@dataclass(frozen=True)
class Store:
    """A folder of answers of MindSpore: a file per family, an entry per operation."""

    folder: Path
    kind: str  # what `run_case.py` does with a case
    cases: Callable[[OpSpec], Iterable[Case]]

    def path(self, family: str) -> Path:
        return self.folder / f"{family}.json"

    def digest(self, spec: OpSpec) -> str:
        """What the samples of an operation are, in a few letters: answers to other samples are stale."""
        text = "".join(
            repr((c.name, plain(c.init), plain(c.args), plain(c.kwargs))) for c in self.cases(spec)
        )
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def read(self, spec: OpSpec) -> dict[str, Any]:
        """What MindSpore makes of an operation's samples: case -> answer; with the digest of the samples."""
        family, _, name = key(spec).partition(".")
        path = self.path(family)
        found = _read(path).get(name, {}) if path.exists() else {}
        return {
            name: found[result["="]] if isinstance(result, dict) and "=" in result else result
            for name, result in found.items()
        }


VALUES = Store(GOLDENS, "value", cases)


def plain(value: Any) -> Any:
    """An argument without anything of ours, for another process: arrays, numbers, and marks for the rest."""
    if isinstance(value, Typed):
        return {"tensor": plain(value.array), "dtype": value.dtype.name}
    if isinstance(value, np.ndarray):
        return {"array": value.tobytes(), "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, DType):
        return {"type": value.name}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(part) for part in value)
    if isinstance(value, dict):
        return {"dict": {name: plain(part) for name, part in value.items()}}
    return value


def tensor(value: Any) -> Any:
    """An argument with its arrays as tensors."""
    if isinstance(value, Typed):
        return millrace.Tensor(value.array, value.dtype)
    if isinstance(value, np.ndarray):
        return millrace.Tensor(value.copy(order="K"))
    if isinstance(value, (list, tuple)):
        return type(value)(tensor(part) for part in value)
    return value


def run(case: Case) -> Any:
    """Call what the case names."""
    return applied(case, tensor(case.args), {each: tensor(value) for each, value in case.kwargs.items()})


def applied(case: Case, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of what the case names, of arguments that are tensors already."""
    face, _, name = case.path.rpartition(".")
    if face == "Tensor":
        return getattr(args[0], name)(*args[1:], **kwargs)
    module = __import__(f"millrace.{face}", fromlist=[name])
    function = getattr(module, name)
    if case.init is not None:
        function = function(**{each: tensor(value) for each, value in case.init.items()})
    return function(*args, **kwargs)


def encode(value: Any) -> Any:
    """A result as JSON. The recorder has the same function for MindSpore's tensors."""
    if isinstance(value, millrace.Tensor):
        array = value.asnumpy()
        if array.dtype.name == "bfloat16":
            array = array.astype(np.float32)
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
        return {"d": str(value.dtype), "s": list(value.shape), "k": array.dtype.str, "v": packed}
    if isinstance(value, (tuple, list)):
        return {"t": [encode(part) for part in value]}
    plainly = value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
    return {"p": plainly.replace("millrace.", "mindspore.") if isinstance(plainly, str) else plainly}


def decode(item: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(item["v"])), item["k"]).reshape(item["s"])


def difference(ours: Any, theirs: Any) -> str:
    """What sets two results apart, or nothing."""
    if "t" in theirs or "t" in ours:
        if len(ours.get("t", ())) != len(theirs.get("t", ())):
            return "a different number of results"
        pairs = zip(ours["t"], theirs["t"], strict=True)
        return "; ".join(filter(None, (difference(a, b) for a, b in pairs)))
    if "p" in theirs or "p" in ours:
        return "" if ours == theirs else f"{ours} instead of {theirs}"
    if (ours["d"], ours["s"]) != (theirs["d"], theirs["s"]):
        return f"{ours['d']}{ours['s']} instead of {theirs['d']}{theirs['s']}"
    a, b = decode(ours), decode(theirs)
    allowed = TOLERANCE.get(theirs["d"], 0)
    if allowed == 0:
        return "" if np.array_equal(a, b) else f"{a.tolist()} instead of {b.tolist()}"
    close = np.isclose(a, b, rtol=allowed, atol=allowed, equal_nan=True)
    return "" if close.all() else f"{a[~close].tolist()} instead of {b[~close].tolist()}"


@functools.cache
def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def gaps() -> dict[str, str]:
    return json.loads((HERE / "gaps.json").read_text())
