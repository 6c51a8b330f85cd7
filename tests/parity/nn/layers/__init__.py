"""Cases of layers, by family. They run under Millrace and under MindSpore, so they import neither: `ms` is which.

::

    @layer("Dense", make(4, 3))  # its name, and what it is called with: arrays, or any other values
    def _(ms):
        return ms.nn.Dense(3, 5)

Weights are filled by name, the same on both sides. Compared are names and shapes of parameters, results, gradients by
weights and by floating inputs.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


@dataclass
class Layer:
    """One layer, called once."""

    name: str
    build: Callable[[Any], Any]
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)


_all: dict[str, dict[str, Layer]] = {}


def layer(name: str, *args: Any, **options: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Declare a case. Options: ``train`` (the layer is in training), ``grads`` (False: none are compared),
    ``weights`` (False: as the layer made them), ``tolerance``, ``better`` (why MindSpore's answer is not ours)."""

    def declare(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        family = build.__module__.rpartition(".")[2]
        known = _all.setdefault(family, {})
        if name in known:
            raise ValueError(f"two cases are called {name!r}")
        known[name] = Layer(name, build, args, options)
        return build

    return declare


def make(*shape: int, low: float = -1.0, high: float = 1.0, dtype: str = "float32", seed: int = 0) -> Any:
    """An array of numbers that depend on its shape and `seed` alone."""
    draw = np.random.RandomState(zlib.crc32(repr((shape, dtype, seed)).encode()))
    if dtype.startswith(("int", "uint")):
        return draw.randint(int(low), int(high), shape).astype(dtype)
    if dtype == "bool":
        return draw.rand(*shape) < 0.5
    return np.asarray(low + (high - low) * draw.rand(*shape)).astype(dtype)


def families() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != "__init__")


def cases(family: str) -> dict[str, Layer]:
    importlib.import_module(f"{__name__}.{family}")
    return _all.get(family, {})
