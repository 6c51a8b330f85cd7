"""Distinguish user code from installed code: Python, installed packages and Millrace."""

from __future__ import annotations

import functools
import os

from .package import PACKAGE_ROOT

__all__ = ["is_installed"]


def is_installed(file: str) -> bool:
    """Whether a Python file belongs to Python, to an installed package or to Millrace; otherwise it is user code.

    The name of a module is not sufficient: a user may have a ``test.py`` or a ``code.py``, as Python has.

    >>> is_installed(os.__file__), is_installed(__file__), is_installed("/home/me/project/test.py")
    (True, True, False)
    """
    return _holds_installed(os.path.dirname(file))


@functools.lru_cache(maxsize=4096)
def _holds_installed(folder: str) -> bool:
    folder = os.path.realpath(folder) + os.sep
    # packages of any environment are in folders with these names
    parts = folder.split(os.sep)
    return folder.startswith(_folders()) or "site-packages" in parts or "dist-packages" in parts


@functools.lru_cache(maxsize=1)
def _folders() -> tuple[str, ...]:
    # Not from `sysconfig`: loading its tables takes two milliseconds, which would delay the first batch.
    return tuple(os.path.realpath(path) + os.sep for path in (os.path.dirname(os.__file__), PACKAGE_ROOT))
