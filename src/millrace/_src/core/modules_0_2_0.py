"""Import modules of version 0.2.0 under their old names, so that its pickles load.

A pickle names the modules of its classes. The table ``modules_0_2_0.json`` is frozen: old name -> new name, both
relative to the package. It is read when an import names a module of that version.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import json
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["install"]

ROOT = "millrace"
# Packages of version 0.2.0 that moved as a whole, and those that stay as public modules.
MOVED = ("core", "data", "grad", "graph", "sink", "tensor")
PACKAGES = (*MOVED, "nn", "ops", "parallel", "train")
# In version 0.2.0 these packages were functions as well.
FUNCTIONS = {
    f"{ROOT}.tensor": (f"{ROOT}._src.runtime.tensor.creation", "tensor"),
    f"{ROOT}.grad": (f"{ROOT}._src.runtime.autograd.grad", "grad"),
}


_RENAMED = Path(__file__).with_name("names_0_2_0.json")


@functools.cache
def new_names() -> dict[str, str]:
    """Old module -> new module, with the name of the package."""
    table = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return {f"{ROOT}.{old}": f"{ROOT}.{new}" for old, new in table.items()}


class _CallablePackage(types.ModuleType):
    """A package that is also the public function of its name: importing it must not hide the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, name = FUNCTIONS[self.__name__]
        return getattr(importlib.import_module(module), name)(*args, **kwargs)


@functools.cache
def renamed_definitions() -> dict[str, dict[str, str]]:
    """Old module -> old name -> new name, or ``module:name`` where the definition is in another module now."""
    table: dict[str, dict[str, str]] = json.loads(_RENAMED.read_text(encoding="utf-8"))
    return table


class _OldModule(types.ModuleType):
    """A module of version 0.2.0 of which classes or functions have other names now."""

    def __init__(self, name: str, current: types.ModuleType, renamed: dict[str, str]) -> None:
        super().__init__(name, current.__doc__)
        self.__dict__.update(_current=current, _renamed=renamed)

    def __getattr__(self, name: str) -> Any:
        target = self.__dict__["_renamed"].get(name)
        if target is None:
            return getattr(self.__dict__["_current"], name)
        module, _, attribute = target.rpartition(":")
        source = importlib.import_module(f"{ROOT}.{module}") if module else self.__dict__["_current"]
        return getattr(source, attribute)


class _Loader(importlib.abc.Loader):
    """Loads the module with the new name in place of the old one."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return _CallablePackage(spec.name) if spec.name in FUNCTIONS else None

    def exec_module(self, module: types.ModuleType) -> None:
        if isinstance(module, _CallablePackage):
            return
        current = importlib.import_module(new_names()[module.__name__])
        renamed = renamed_definitions().get(module.__name__.removeprefix(f"{ROOT}."), {})
        sys.modules[module.__name__] = _OldModule(module.__name__, current, renamed) if renamed else current


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules of version 0.2.0. It is the first finder: a new package may have a file with an old name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, inner = fullname.partition(".")
        package, _, rest = inner.partition(".")
        if root != ROOT or package not in (PACKAGES if rest else MOVED) or fullname not in new_names():
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=fullname in FUNCTIONS)


def install() -> None:
    """Let imports find the modules of version 0.2.0."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
