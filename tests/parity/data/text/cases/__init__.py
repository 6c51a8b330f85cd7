"""Lists of cases, one file per family."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from tests.parity.data.text.cases.case import Better, Case


def load() -> dict[str, list[Case]]:
    """Every case, by the name of its file: each module here with a list CASES."""
    return _lists("CASES")


def load_better() -> dict[str, list[Better]]:
    """What may differ, by the name of the file."""
    return _lists("BETTER")


def _lists(name: str) -> dict[str, Any]:
    found = {}
    for module in pkgutil.iter_modules(__path__):
        listed = getattr(importlib.import_module(f"{__name__}.{module.name}"), name, None)
        if listed is not None:
            found[module.name] = listed
    return found
