"""Path of the package folder, which holds all code of Millrace."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PACKAGE_ROOT"]

# The folder `millrace`. A stack frame with a file below it is not user code.
PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
