"""A transform from its JSON, wherever in this package it is written. Nothing else is ever imported or called."""

from __future__ import annotations

import importlib
from typing import Any

from millrace.core.errors import ArgumentTypeError

from .operation import Operation, rebuilt

__all__ = ["restored"]

_TRANSFORMS = "millrace.data.transforms."


def restored(saved: Any) -> Operation:
    """The transform whose ``to_json()`` this is.

    >>> restored({"tensor_op_name": "HWC2CHW", "python_module": "millrace.data.transforms.vision.layout"})
    HWC2CHW()
    """
    if not isinstance(saved, dict):
        raise ArgumentTypeError(f"a transform's JSON is a dict, but got {type(saved)}")
    _load_modules(saved)
    return rebuilt(saved)


def _load_modules(saved: Any) -> None:
    """Load the modules of the transforms inside a transform: they are looked up among the loaded ones."""
    if isinstance(saved, dict):
        module = saved.get("python_module")
        if isinstance(module, str) and module.startswith(_TRANSFORMS):
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise ArgumentTypeError(f"there are no transforms in {module!r}") from error
    for inside in saved.values() if isinstance(saved, dict) else saved if isinstance(saved, list) else ():
        _load_modules(inside)
