"""Nets of the zoo, each with its loss and a batch. They run under Millrace and under MindSpore: `ms` is which."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Net:
    """A net: `build` gives a Cell that computes the loss of a batch."""

    name: str
    build: Callable[[Any], Any]
    batch: tuple[Any, ...]
    rate: float


NETS: dict[str, Net] = {}


def net(name: str, *batch: Any, rate: float = 0.05) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Declare a net, with the batch that it learns and how far a step goes."""

    def declare(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        NETS[name] = Net(name, build, batch, rate)
        return build

    return declare


def nets() -> dict[str, Net]:
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        importlib.import_module(f"{__name__}.{path.stem}")
    return NETS
