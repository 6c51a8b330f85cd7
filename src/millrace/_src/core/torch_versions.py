"""The releases of PyTorch that training and serving were tested with."""

from __future__ import annotations

import re

__all__ = ["BELOW", "OLDEST", "range_text", "status_of"]

# pyproject.toml declares the same range in its extra `train`; tests/e2e/packaging/test_lock.py compares them.
OLDEST = "2.11"
BELOW = "2.16"


def range_text() -> str:
    """The tested range as text."""
    major, minor = _numbers(BELOW)
    return f"{OLDEST} to {major}.{minor - 1}"


def status_of(version: str) -> str:
    """Whether a release is "tested", "older" or "newer" than the tested range.

    >>> status_of("2.13.0+cpu"), status_of("2.2.1"), status_of("3.0")
    ('tested', 'older', 'newer')
    """
    numbers = _numbers(version)
    if numbers < _numbers(OLDEST):
        return "older"
    return "newer" if numbers >= _numbers(BELOW) else "tested"


def _numbers(version: str) -> tuple[int, int]:
    major, minor = [*re.findall(r"\d+", version.partition("+")[0]), "0", "0"][:2]
    return int(major), int(minor)
