"""Lazy imports: public names that load their module on first access, and import of all modules of a package."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .optional import missing_extra_error

__all__ = ["LAZY_NAMES", "import_all", "lazy"]

# All registered lazy names, with the module that defines each.
LAZY_NAMES: dict[str, str] = {}


def lazy(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Create a module's ``__getattr__``: each name is loaded from the module in ``names``, or is that module.

    >>> find = lazy("millrace._src.core.lazy", {"sqrt": "math"})
    >>> find("sqrt")(9.0)
    3.0
    >>> find("nothing")
    Traceback (most recent call last):
    ...
    AttributeError: module 'millrace._src.core.lazy' has no attribute 'nothing'
    """

    LAZY_NAMES.update(names)

    def find(name: str) -> Any:
        module_name = names.get(name)
        if module_name is None:
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}{_suggestion(module, name, names)}"
            )
        try:
            imported = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise missing_extra_error(error, "train", f"{module}.{name}") from error
        value = (
            imported
            if module_name.endswith(f".{name}") and not hasattr(imported, name)
            else getattr(imported, name)
        )
        setattr(sys.modules[module], name, value)  # the next lookup does not call this function
        return value

    return find


def _suggestion(module: str, name: str, names: Iterable[str]) -> str:
    """Suggest a similar name; Python itself does not know names that are not loaded yet."""
    if name.startswith("_"):  # libraries probe for these, and expect a plain error
        return ""
    import difflib

    known = {*names, *vars(sys.modules.get(module, object))}
    close = difflib.get_close_matches(
        name, [candidate for candidate in known if not candidate.startswith("_")], 1, 0.75
    )
    return f"; did you mean {close[0]!r}?" if close else ""


def import_all(package: str, path: Iterable[str]) -> None:
    """Import every module of a package, so that each registers its definitions.

    >>> import millrace._src.core as package
    >>> import_all(package.__name__, package.__path__)
    """
    for module_info in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module_info.name}")
