"""Nets of the zoo, each with its loss and a batch. They run under Millrace and under MindSpore: `ms` is which."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Net:
    """A net: `build` gives a Cell that computes the loss of a batch, `optimizer` what changes its parameters."""

    name: str
    build: Callable[[Any], Any]
    batch: tuple[Any, ...]
    optimizer: Callable[[Any, Any], Any]


def momentum(rate: float) -> Callable[[Any, Any], Any]:
    return lambda nn, parameters: nn.Momentum(parameters, rate, 0.9, weight_decay=1e-3)


def adam(rate: float, kind: str = "Adam") -> Callable[[Any, Any], Any]:
    """With a large epsilon: a gradient that is nothing but rounding must not become a step of full length."""
    return lambda nn, parameters: getattr(nn, kind)(parameters, rate, eps=1e-2)


NETS: dict[str, Net] = {}


def net(
    name: str, *batch: Any, rate: float = 0.05, by: Callable[[float], Any] = momentum
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Declare a net, with the batch that it learns, how far a step goes, and by which optimizer."""

    def declare(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        NETS[name] = Net(name, build, batch, by(rate))
        return build

    return declare


def nets() -> dict[str, Net]:
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        importlib.import_module(f"{__name__}.{path.stem}")
    return NETS
