"""Lists of cases, one file per family."""

from __future__ import annotations

import importlib
import pkgutil

from tests.parity.text.cases.case import Case


def load() -> dict[str, list[Case]]:
    """Every case, by the name of its file: each module here with a list CASES."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        cases = getattr(importlib.import_module(f"{__name__}.{module.name}"), "CASES", None)
        if cases is not None:
            found[module.name] = cases
    return found
