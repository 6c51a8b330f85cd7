"""Every case, by file: each module here has one list, CASES."""

from __future__ import annotations

import importlib
import pkgutil

from tests.parity.case import Case


def load() -> dict[str, list[Case]]:
    """Return file name -> cases; names must not repeat within a file."""
    found: dict[str, list[Case]] = {}
    for info in pkgutil.iter_modules(__path__):
        cases: list[Case] = importlib.import_module(f"{__name__}.{info.name}").CASES
        names = [case.name for case in cases]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"cases/{info.name}.py has two cases of one name: {sorted(twice)}")
        found[info.name] = cases
    return found
