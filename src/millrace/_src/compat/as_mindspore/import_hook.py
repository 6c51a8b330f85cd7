"""Import hook: a finder for ``mindspore`` and its proxy modules."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

from millrace._src.data.engine.executors.worker_pool.worker_setup import prelude

from .module_map import MODULE_MAP, UNSUPPORTED_REASONS, VERSION

__all__ = [
    "NOTHING",
    "ProxyModule",
    "MindSporeAlreadyImportedError",
    "UnsupportedModuleError",
    "exists",
    "install",
    "installed",
    "lookup_name",
]

ROOT = "mindspore"


class MindSporeAlreadyImportedError(ImportError):
    """MindSpore, or a part of it, is already imported in this process; both cannot be used in one process."""


class UnsupportedModuleError(ModuleNotFoundError):
    """A module of MindSpore that Millrace does not have."""


class ProxyModule(types.ModuleType):
    """A module with MindSpore's name that looks up names in Millrace's modules on each access.

    Targets are searched in order. A sub-module is imported, as ``import mindspore`` does.
    """

    def __init__(self, name: str, targets: list[types.ModuleType]) -> None:
        super().__init__(name, targets[0].__doc__)
        self._targets = targets

    def __getattr__(self, name: str) -> Any:
        value = lookup_name(vars(self)["_targets"], name)
        if not isinstance(value, types.ModuleType):
            return value
        child = f"{self.__name__}.{name}"
        if child in MODULE_MAP:
            try:
                return importlib.import_module(child)
            except UnsupportedModuleError as error:
                raise AttributeError(str(error), name=name, obj=self) from None
        if value is not NOTHING:
            return value
        raise AttributeError(_missing_attribute_error(self.__name__, name), name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        # the import system sets sub-modules as attributes of their package; functions of the same name take precedence
        hides = isinstance(value, ProxyModule) and not isinstance(
            lookup_name(vars(self)["_targets"], name), types.ModuleType
        )
        if not hides:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        children = [
            name.rpartition(".")[2] for name in MODULE_MAP if name.rpartition(".")[0] == self.__name__
        ]
        names = {name for target in self._targets for name in getattr(target, "__all__", dir(target))}
        return sorted(names.union(children))

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)

    def __repr__(self) -> str:
        behind = ", ".join(target.__name__ for target in self._targets)
        return f"<module {self.__name__!r}: Millrace ({behind})>"


NOTHING = types.ModuleType("nothing")


def lookup_name(targets: Sequence[types.ModuleType], name: str) -> Any:
    """Look up a name in modules in order; ``NOTHING`` if none has it.

    Only names in a module's ``__all__`` count, not its imports such as "json", "np" or PyTorch's Tensor. Names that
    begin with ``_`` are in no such list.
    """
    for target in targets:
        listed = getattr(target, "__all__", None)
        if listed is not None and name not in listed and not name.startswith("_"):
            continue
        value = getattr(target, name, NOTHING)
        if value is not NOTHING and (not isinstance(value, types.ModuleType) or name in (listed or ())):
            return value
    return NOTHING


def _missing_attribute_error(module: str, name: str) -> str:
    why = UNSUPPORTED_REASONS.get(f"{module}.{name}")
    return (
        f"module {module!r} has no attribute {name!r}: Millrace stands in for MindSpore here (millrace.as_mindspore), "
        f"and {name!r} is not in Millrace" + (f": {why}" if why else " yet")
    )


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder and loader of the proxy modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != ROOT and not fullname.startswith(ROOT + "."):
            return None
        behind = MODULE_MAP.get(fullname)
        if not behind or not exists(behind[0]):
            # The error has Millrace's name: with MindSpore's, "from mindspore import nn" would hide this text.
            missing = behind[0] if behind else fullname.replace(ROOT, "millrace", 1)
            why = UNSUPPORTED_REASONS.get(fullname)
            raise UnsupportedModuleError(
                f"No module named {fullname!r}: Millrace stands in for MindSpore here (millrace.as_mindspore), and "
                f"{fullname!r} is not in Millrace" + (f": {why}" if why else " yet"),
                name=missing,
            )
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        targets = [importlib.import_module(name) for name in MODULE_MAP[spec.name] if exists(name)]
        module = ProxyModule(spec.name, targets)
        if spec.name == ROOT:
            module.__version__ = VERSION
        module.__file__ = targets[0].__file__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to execute: a proxy has no code."""


_finder = Finder()


def exists(name: str) -> bool:
    """Whether a module of Millrace exists; a folder without ``__init__.py`` does not count."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return False
    return spec is not None and spec.origin is not None


def install() -> None:
    """Make ``import mindspore`` load Millrace, here and in worker processes; a second call has no effect.

    Raises MindSporeAlreadyImportedError if real MindSpore, or a part of it, has been imported in this process.
    """
    loaded: list[tuple[str, types.ModuleType | None]] = list(sys.modules.items())
    for name, module in loaded:
        if name != ROOT and not name.startswith(ROOT + "."):
            continue
        if module is None:  # the import is blocked
            del sys.modules[name]
        elif not isinstance(module, ProxyModule):
            raise MindSporeAlreadyImportedError(_already_imported_error(name, module), name=ROOT)
    if not installed():
        sys.meta_path.insert(0, _finder)
    if "millrace.as_mindspore" not in prelude:
        prelude.append("millrace.as_mindspore")


def installed() -> bool:
    """Whether ``import mindspore`` loads Millrace."""
    return _finder in sys.meta_path


def _already_imported_error(name: str, module: types.ModuleType) -> str:
    where = getattr(module, "__file__", None) or "an unknown place"
    if ROOT in sys.modules:
        what = f"MindSpore is already imported in this process (from {where})"
    else:
        what = f"a part of MindSpore is already loaded in this process ({name}, from {where})"
    return (
        f"{what}: objects of the two would be mixed. Import millrace.as_mindspore before anything that imports "
        "mindspore, or run the script with: python -m millrace.as_mindspore script.py"
    )
