"""A few calls per operation, which feed every suite over the table. One file per family, named after its module in src.

::

    @samples(softshrink)
    def _(make):
        yield Call(make(3, 4))
        yield Call(make(0, 2), lambd=0.0)  # empty
        yield Call(make(2, 3).T, lambd=1.5)  # strided
        yield Fails(make(3), lambd=-1.0)  # class and words: recorded

Arguments are numpy arrays (which become tensors), numbers, lists, and element types (`mstype.float16`). What MindSpore
makes of the same calls is recorded by `python -m tests.parity.runtime.ops.record_ops`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.declare.registry import OpSpec

SAMPLES: dict[str, list[Sample]] = {}
# Family of recorded values -> its operations. The family is part of the seed of the samples and the name of the file of
# recorded values: it stays when a module is renamed. Where two operations have one name, the first primitive follows.
_FAMILIES: dict[str, str] = {
    f"{'numpy' if family.startswith('numpy') else 'ops'}.{name}": family
    for family, names in json.loads(Path(__file__).parent.with_name("families.json").read_text()).items()
    for name in names
}

# Operations whose function has another name than when their values were recorded -> the recorded name.
_RECORDED_NAMES: dict[str, str] = json.loads(
    Path(__file__).parent.with_name("recorded_names.json").read_text()
)


class Sample:
    """A call of an operation."""

    fails = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


class Call(Sample):
    """A call that gives a value."""


class Fails(Sample):
    """A call that raises; the class is MindSpore's."""

    fails = True


@dataclass
class Typed:
    """An array that becomes a tensor of an element type that numpy lacks."""

    array: np.ndarray
    dtype: mstype.DType


class Make:
    """Arrays with the same values in every process."""

    def __init__(self, name: str) -> None:
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def __call__(self, *shape: int, dtype: Any = "float32", low: float = -2.0, high: float = 2.0) -> Any:
        if dtype == "bfloat16":
            values = self.random.uniform(low, high, shape).astype(np.float32)
            bits = values.view(np.uint32) if shape else values.reshape(1).view(np.uint32)
            return Typed((bits & np.uint32(0xFFFF0000)).view(np.float32).reshape(shape), mstype.bfloat16)
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return np.asarray(self.random.integers(0, 2, shape), kind)
        if kind.kind in "iu":
            low = max(low, 0) if kind.kind == "u" else low
            return np.asarray(self.random.integers(int(low), int(high) + 1, shape), kind)
        if kind.kind == "c":
            values = self.random.uniform(low, high, (*shape, 2))
            return np.asarray(values[..., 0] + 1j * values[..., 1], kind)
        return np.asarray(self.random.uniform(low, high, shape), kind)


def key(spec: OpSpec) -> str:
    """The name under which samples and recorded values of an operation are kept: "family.operation"."""
    home = "numpy" if ".ops.numpy." in spec.module else "ops"
    primitive = spec.primitives[0][0] if spec.primitives else ""
    recorded = _RECORDED_NAMES.get(f"{home}.{spec.name}", spec.name)
    names = (f"{home}.{recorded}:{primitive}", f"{home}.{recorded}")
    family = next((_FAMILIES[name] for name in names if name in _FAMILIES), spec.module.rpartition(".")[2])
    return f"{family}.{recorded}"


def samples(*operations: Any) -> Callable[[Callable[[Make], Iterator[Sample]]], None]:
    """The calls of one or several operations."""

    def take(function: Callable[[Make], Iterator[Sample]]) -> None:
        for operation in operations:
            name = key(operation.op)
            if name in SAMPLES:
                raise ValueError(f"{name} has samples already")
            SAMPLES[name] = list(function(Make(name)))

    return take


def unary(*operations: Any, low: float = -2.0, high: float = 2.0, **limits: Any) -> None:
    """The usual calls of an operation on one tensor: plain, strided, empty, 0-d, and each type."""

    def calls(make: Make) -> Iterator[Sample]:
        yield Call(make(3, 4, low=low, high=high))
        yield Call(make(2, 3, low=low, high=high).T)
        yield Call(make(0, 3))
        yield Call(make(low=low, high=high))
        yield Call(make(4, dtype="float64", low=low, high=high))
        yield Call(make(4, dtype="float16", low=low, high=high))
        yield Call(make(4, dtype="bfloat16", low=low, high=high))
        yield Call(make(4, dtype="int32", low=low, high=high))
        yield Call(make(4, dtype="bool"))
        yield Fails(3)
        yield Fails("text")

    samples(*operations)(calls)


def binary(*operations: Any, low: float = -2.0, high: float = 2.0, exact: bool = False) -> None:
    """The usual calls of an operation on two tensors: shapes that broadcast or not, numbers, types that meet."""

    def calls(make: Make) -> Iterator[Sample]:
        if not exact:
            yield Call(make(3, 4, low=low, high=high), make(3, 4, low=low, high=high))
            yield Call(make(2, 1, 3, low=low, high=high), make(4, 1, low=low, high=high))
            yield Call(make(2, 3, low=low, high=high).T, make(3, 2, low=low, high=high))
            yield Call(make(0, 3), make(1, 3))
            yield Call(make(low=low, high=high), make(3, low=low, high=high))
            yield Call(make(3, low=low, high=high), 1.5)
            yield Call(make(3, low=low, high=high), 2)
            yield Call(
                make(3, dtype="float16", low=low, high=high), make(3, dtype="float32", low=low, high=high)
            )
        yield Call(make(3, dtype="int32", low=low, high=high), make(3, dtype="int32", low=1, high=high))
        yield Call(make(3, dtype="int32", low=low, high=high), make(3, dtype="int64", low=1, high=high))
        yield Call(make(3, dtype="int32", low=low, high=high), 2)
        yield Call(make(3, dtype="bool"), make(3, dtype="bool"))
        yield Fails(make(2, 3, dtype="int32"), make(4, dtype="int32"))
        yield Fails(make(3, dtype="int32"), "text")

    samples(*operations)(calls)


def load() -> dict[str, list[Sample]]:
    """Every sample: "family.operation" -> its calls."""
    for each in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{each.name}")
    return SAMPLES
