"""Import an optional library, or say which extra brings it."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import MissingExtra

__all__ = ["require"]


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Return the module, or raise an error that names the extra to install.

    >>> require("json", extra="none", purpose="nothing").__name__
    'json'
    >>> require("no_such_module", extra="torch", purpose="iterators that yield torch tensors")
    Traceback (most recent call last):
    ...
    millrace.core.errors.MissingExtra: iterators that yield torch tensors needs 'no_such_module', which is not \
installed: pip install 'millrace[torch]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        text = f"{purpose} needs '{module}', which is not installed: pip install 'millrace[{extra}]'"
        raise MissingExtra(text) from error
