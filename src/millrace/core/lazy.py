"""Names that are loaded when they are first asked for, so that an import stays fast; and rooms loaded whole."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .optional import missing

__all__ = ["PLACES", "import_all", "lazy"]

# Every name that was ever promised, with the module that has it.
PLACES: dict[str, str] = {}


def lazy(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__``: each name comes from the module that ``places`` gives for it, or is that module.

    >>> find = lazy("millrace.core.lazy", {"sqrt": "math"})
    >>> find("sqrt")(9.0)
    3.0
    >>> find("nothing")
    Traceback (most recent call last):
    ...
    AttributeError: module 'millrace.core.lazy' has no attribute 'nothing'
    """

    PLACES.update(places)

    def find(name: str) -> Any:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            found = importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise missing(error, "train", f"{module}.{name}") from error
        value = found if place.endswith(f".{name}") and not hasattr(found, name) else getattr(found, name)
        setattr(sys.modules[module], name, value)  # the next look-up does not come here
        return value

    return find


def import_all(package: str, path: Iterable[str]) -> None:
    """Import every module of a package: each enters what it has into the table of its room.

    >>> import millrace.core as room
    >>> import_all(room.__name__, room.__path__)
    """
    for each in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{each.name}")
