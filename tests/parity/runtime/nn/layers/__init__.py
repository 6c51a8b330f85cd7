"""Cases of layers, by family. They run under Millrace and under MindSpore, so they import neither: `ms` is which.

::

    @layer("Dense", make(4, 3))  # its name, and what it is called with: arrays, or any other values
    def _(ms):
        return ms.nn.Dense(3, 5)

Weights are filled by name, the same on both sides. Compared are names and shapes of parameters, results, gradients by
weights and by floating inputs. Where a layer is tried with many arguments, right and wrong ones::

    case = cases_of(__name__)
    case("Conv2d", [make(2, 4, 8, 7)], 4, 6, 3, stride=2)

numbers the cases, and compares printing and the values that weights begin with as well.
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
    ``by`` (the inputs that gradients are compared for, where not all),
    ``weights`` (False: as the layer made them), ``tolerance``, ``better`` (why MindSpore's answer is not ours),
    ``random`` (results are drawn: only their shapes are compared), ``whole`` (printing and first values as well),
    ``text`` (False: printing is not compared),
    ``graph`` (MindSpore can do it in graph mode only)."""

    def declare(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        family = build.__module__.rpartition(".")[2]
        known = _all.setdefault(family, {})
        if name in known:
            raise ValueError(f"two cases are called {name!r}")
        known[name] = Layer(name, build, args, options)
        return build

    return declare


@dataclass
class Later:
    """An argument that is made of what `ms` is: ``Later("float16")``, or a call: ``Later("nn.GELU", ())``."""

    path: str
    args: tuple[Any, ...] | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)

    def of(self, ms: Any) -> Any:
        module, _, name = self.path.rpartition(".")
        found = getattr(importlib.import_module(f"{ms.__name__}.{module}") if module else ms, name)
        return found if self.args is None else found(*self.args, **self.kwargs)


def made(name: str, *args: Any, **kwargs: Any) -> Later:
    """A layer or an initialiser as an argument."""
    return Later(name, args, kwargs)


def given(ms: Any, value: Any) -> Any:
    """An argument of a constructor as one side takes it."""
    if isinstance(value, Later):
        return value.of(ms)
    return ms.Tensor(value.copy()) if isinstance(value, np.ndarray) else value


def cases_of(module: str) -> Callable[..., None]:
    """What declares numbered cases of a family."""
    family = module.rpartition(".")[2]

    def case(
        name: str, inputs: list[Any], *args: Any, options: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        path = name if "." in name else f"nn.{name}"
        known = _all.setdefault(family, {})
        number = sum(other.rpartition("/")[0] == name for other in known)

        def build(ms: Any) -> Any:
            kind = Later(path).of(ms)
            return kind(*[given(ms, a) for a in args], **{n: given(ms, v) for n, v in kwargs.items()})

        label = f"{name}/{number}"
        known[label] = Layer(label, build, tuple(inputs), {"whole": True, **(options or {})})

    return case


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
