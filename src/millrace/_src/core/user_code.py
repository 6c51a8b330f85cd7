"""Whose code a file holds: Python's, an installed package's or Millrace's own; or the user's."""

from __future__ import annotations

import functools
import os

from .package import PACKAGE_ROOT

__all__ = ["is_installed"]


def is_installed(file: str) -> bool:
    """Whether a file of Python code came with Python, with a package or with Millrace; else the user wrote it.

    What a module is called says nothing: a user may have a ``test.py`` or a ``code.py``, as Python has.

    >>> is_installed(os.__file__), is_installed(__file__), is_installed("/home/me/project/test.py")
    (True, True, False)
    """
    return _holds_installed(os.path.dirname(file))


@functools.lru_cache(maxsize=4096)
def _holds_installed(folder: str) -> bool:
    folder = os.path.realpath(folder) + os.sep
    # packages of any environment lie in folders of these names
    parts = folder.split(os.sep)
    return folder.startswith(_folders()) or "site-packages" in parts or "dist-packages" in parts


@functools.lru_cache(maxsize=1)
def _folders() -> tuple[str, ...]:
    # Not from `sysconfig`: its tables take two milliseconds to load, and a first batch waits for this.
    return tuple(os.path.realpath(path) + os.sep for path in (os.path.dirname(os.__file__), PACKAGE_ROOT))
