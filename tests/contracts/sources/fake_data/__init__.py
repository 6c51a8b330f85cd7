"""Small data sets in the layout of the real ones, for the suite that every file source passes.

Each module here holds one family: a dictionary ``FAKES`` from a class name (with ``": variant"`` behind it where
a class has several layouts) to a Fake. Adding an entry is all it takes to bring a class under the suite.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import millrace._src.data.sources
import millrace.dataset

from .damage import Damage


@dataclass(frozen=True)
class Fake:
    """One small data set: how it is written, and what must come out of it.

    ``write(folder)`` writes the files and returns the arguments of the class (without ``shuffle``). ``rows`` are
    the rows in the order of ``shuffle=False``: per column a str, a number, an array, or a function of the value
    (for images that are lossy, say) that returns True when it is right. ``types`` gives the numpy type of each
    column, "str" for text. ``damage`` lists ways to break a file of the folder, at least one: each must end in an
    error that names the file. ``shapes`` gives the shape of columns where it must be checked by itself. ``shards``:
    "rows" (the default: each shard gets its part of the rows, padded to equal length), "files", or "none" where
    this data set cannot be cut in two.
    """

    write: Callable[[Path], dict[str, Any]]
    rows: list[dict[str, Any]]
    types: dict[str, str]
    damage: list[Damage]
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    shards: str = "rows"
    # class index of each class name, where the class has get_class_indexing()
    classes: dict[str, Any] | None = None


def find(name: str) -> Any:
    """The class, from the public face or, before it is exported there, from the modules of the sources."""
    name = name.partition(":")[0]
    if hasattr(millrace.dataset, name):
        return getattr(millrace.dataset, name)
    for module in pkgutil.walk_packages(millrace._src.data.sources.__path__, "millrace._src.data.sources."):
        found = getattr(importlib.import_module(module.name), name, None)
        if found is not None:
            return found
    raise LookupError(f"there is no class {name} in millrace.dataset or millrace._src.data.sources")


def everything() -> dict[str, Fake]:
    """The entries of all families."""
    made: dict[str, Fake] = {}
    for module in pkgutil.iter_modules(__path__):
        made |= getattr(importlib.import_module(f"{__name__}.{module.name}"), "FAKES", {})
    return made
