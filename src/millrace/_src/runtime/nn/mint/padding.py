"""Padding layers with PyTorch signatures."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.padding import _ConstantPadNd

__all__ = ["ZeroPad1d", "ZeroPad3d"]


@public("mint.nn")
class ZeroPad1d(_ConstantPadNd):
    """Zero padding of the last axis."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


@public("mint.nn")
class ZeroPad3d(_ConstantPadNd):
    """Zero padding of the last three axes."""

    count = 3

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)
