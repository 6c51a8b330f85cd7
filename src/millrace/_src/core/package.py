"""Where the package lies: the folder that holds all of Millrace's code."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PACKAGE_ROOT"]

# The folder `millrace`. A frame whose file lies below it is no line of the user's.
PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
