"""Lists of cases, one file per family: `CASES`, and `RULES` where results differ."""

from __future__ import annotations

import importlib
import pkgutil

from tests.parity.calls import Case
from tests.parity.data.audio.compare import Rule


def load() -> dict[str, list[Case]]:
    """Every case, by the name of its file."""
    return {name: importlib.import_module(f"{__name__}.{name}").CASES for name in families()}


def rules(family: str) -> list[Rule]:
    """The rules of a family."""
    return getattr(importlib.import_module(f"{__name__}.{family}"), "RULES", [])


def families() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
