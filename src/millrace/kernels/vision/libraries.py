"""The image libraries, imported when one of their names is first used: importing Millrace stays fast."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Image", "ImageEnhance", "ImageOps", "cv2", "simplejpeg"]


class Lazy:
    """A module that is imported by the first look at one of its names; each name is then kept here.

    >>> Lazy("math").floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        value = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return (Lazy, (self._name,))


# Any: each stands for a module
cv2: Any = Lazy("cv2")
simplejpeg: Any = Lazy("simplejpeg")
Image: Any = Lazy("PIL.Image")
ImageEnhance: Any = Lazy("PIL.ImageEnhance")
ImageOps: Any = Lazy("PIL.ImageOps")
