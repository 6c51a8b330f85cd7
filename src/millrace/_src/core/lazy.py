"""Lazy public modules: a name is imported when it is first used."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .public import definition_module

__all__ = ["NAMES", "attach", "import_all"]

# Public module -> public name -> (module, attribute). The attribute of a submodule is empty.
NAMES: dict[str, dict[str, tuple[str, str]]] = {}


def attach(
    module: str, listed: Mapping[str, str], unlisted: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a lazy module.

    Args:
        module: the name of the lazy module.
        listed: defining module -> its public names, separated by blanks; ``name=attribute`` where the two differ. The
            key ``""`` lists submodules, ``name=module`` where the module is not ``<module>.<name>``.
        unlisted: the same for names that are in no ``__all__``.

    >>> find, names, listed = attach(__name__, {__name__: "import_every=import_all"})
    >>> find("import_every") is import_all, listed
    (True, ['import_every'])
    >>> find("import_eve")
    Traceback (most recent call last):
    ...
    AttributeError: module 'millrace._src.core.lazy' has no attribute 'import_eve'; did you mean 'import_every'?
    """
    names = _parse(module, listed)
    public = sorted(names)
    names.update(_parse(module, unlisted or {}))
    NAMES[module] = names
    this = sys.modules[module]
    if type(this) is types.ModuleType:
        this.__class__ = _PublicModule

    def find(name: str) -> Any:
        place = names.get(name)
        if place is None:
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}{_suggestion(module, name, names)}",
                name=name,
                obj=this,
            )
        source, attribute = place
        try:
            value = importlib.import_module(source)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            from .optional import (
                missing_extra_error,  # loads the errors, which are declared public themselves
            )

            raise missing_extra_error(error, "train", f"{module}.{name}") from error
        if attribute:
            value = getattr(value, attribute)
        setattr(this, name, value)  # the next look-up does not come here
        return value

    def directory() -> list[str]:
        shown = (name for name in vars(this) if name[0] != "_" or name.startswith("__"))
        return sorted({*names, *shown})

    return find, directory, public


def _parse(module: str, table: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Public name -> (module, attribute)."""
    found = {}
    for source, words in table.items():
        for word in words.split():
            name, _, other = word.partition("=")
            found[name] = (source, other or name) if source else (other or f"{module}.{name}", "")
    return found


def _suggestion(module: str, name: str, known: Iterable[str]) -> str:
    """The public name that was probably meant; Python does not know names that are not loaded yet."""
    if name.startswith("_"):  # libraries probe for these and expect no suggestion
        return ""
    import difflib

    candidates = [other for other in {*known, *vars(sys.modules[module])} if not other.startswith("_")]
    close = difflib.get_close_matches(name, candidates, 1, 0.75)
    return f"; did you mean {close[0]!r}?" if close else ""


class _PublicModule(types.ModuleType):
    """A public module. ``inspect`` looks up the source of a class in the file of the module that ``__module__`` names:
    for a class of this module that is the file that defines it."""

    @property
    def __file__(self) -> str | None:
        file: str | None = vars(self).get("__file__")
        caller = sys._getframe(1)
        # not compared with `inspect.getfile`, which PyTorch replaces by a function that calls the original
        if caller.f_code.co_name != "getfile" or caller.f_globals.get("__name__") != "inspect":
            return file
        definition = caller.f_locals.get("object")
        if not isinstance(definition, type):
            return file
        source = sys.modules.get(definition_module(definition))
        return file if source is None or source is self else source.__file__

    @__file__.setter
    def __file__(self, file: str | None) -> None:
        vars(self)["__file__"] = file

    def __reduce__(self) -> tuple[Callable[[str], types.ModuleType], tuple[str]]:
        """By name, as cloudpickle does with modules of the type itself: functions for workers refer to modules."""
        return importlib.import_module, (self.__name__,)


def import_all(package: str, path: Iterable[str]) -> None:
    """Import every module of a package: each registers its definitions.

    >>> import millrace._src.core as core
    >>> import_all(core.__name__, core.__path__)
    """
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")
