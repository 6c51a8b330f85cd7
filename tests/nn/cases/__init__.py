"""Layers to build and call, here and under MindSpore: ``case("Conv2d", [array(1, 3, 8, 8)], 3, 4, 3, stride=2)``.

A file of this folder is a family: it lists its cases by calling `case`, and its goldens are `../goldens/<family>.json`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import millrace
from millrace.core.dtype import DType
from millrace.tensor import initializer

HERE = Path(__file__).parent
GOLDENS = HERE.parent / "goldens"


@dataclass
class Init:
    """An initialiser as an argument."""

    name: str
    args: tuple[Any, ...] = ()


@dataclass
class Made:
    """A layer as an argument."""

    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass
class Case:
    """A layer, what it is made with, and what it is called with."""

    name: str
    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: list[Any]
    train: bool
    gradient: bool
    differs: str = field(default="")  # why a result is not MindSpore's
    random: bool = False

    def job(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "args": plain(self.args),
            "kwargs": {name: plain(value) for name, value in self.kwargs.items()},
            "inputs": plain(self.inputs),
            "train": self.train,
            "gradient": self.gradient,
        }

    def digest(self) -> str:
        return hashlib.sha256(repr(self.job()).encode()).hexdigest()[:12]

    def make(self) -> Any:
        return build(self.path, self.args, self.kwargs)


def build(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    module, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(f"millrace.{module}"), name)
    return kind(*[live(a) for a in args], **{n: live(v) for n, v in kwargs.items()})


def live(value: Any) -> Any:
    """An argument as our side takes it."""
    if isinstance(value, np.ndarray):
        return millrace.Tensor(value.copy())
    if isinstance(value, Init):
        return getattr(initializer, value.name)(*value.args)
    if isinstance(value, Made):
        return build(value.path, value.args, value.kwargs)
    if isinstance(value, (list, tuple)):
        return type(value)(live(part) for part in value)
    return value


def plain(value: Any) -> Any:
    """An argument without anything of ours, for another process."""
    if isinstance(value, np.ndarray):
        return {"array": value.tobytes(), "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, DType):
        return {"type": value.name}
    if isinstance(value, Init):
        return {"init": value.name, "args": value.args}
    if isinstance(value, Made):
        return {"cell": value.path, "args": plain(value.args), "kwargs": value.kwargs}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(part) for part in value)
    if isinstance(value, dict):
        return {"dict": {name: plain(part) for name, part in value.items()}}
    return value


def array(*shape: int, dtype: str = "float32", low: float = -2, high: float = 2, seed: int = 0) -> np.ndarray:
    """Numbers that depend on the arguments alone."""
    draw = np.random.default_rng(zlib.crc32(f"{shape} {seed}".encode()))
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        return draw.integers(low, high, shape).astype(dtype)
    return draw.uniform(low, high, shape).astype(dtype)


_LISTED: list[Case] = []


def made(path: str, *args: Any, **kwargs: Any) -> Made:
    return Made(path if "." in path else f"nn.{path}", args, kwargs)


def case(
    name: str,
    inputs: list[Any],
    *args: Any,
    train: bool = False,
    gradient: bool = True,
    differs: str = "",
    random: bool = False,
    **kwargs: Any,
) -> None:
    """List a layer."""
    path = name if "." in name else f"nn.{name}"
    number = sum(each.path == path for each in _LISTED)
    _LISTED.append(
        Case(f"{path}/{number}", path, args, kwargs, inputs, train, gradient and not random, differs, random)
    )


@functools.cache
def families() -> dict[str, list[Case]]:
    """Family -> its cases."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        if path.stem != "__init__":
            _LISTED.clear()
            importlib.import_module(f"tests.nn.cases.{path.stem}")
            found[path.stem] = list(_LISTED)
    return found


@functools.cache
def golden(family: str) -> dict[str, Any]:
    return json.loads((GOLDENS / f"{family}.json").read_text())
