"""Lazy imports of the image libraries: importing Millrace stays fast."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Image", "ImageEnhance", "ImageOps", "cv2", "simplejpeg"]


class LazyModule:
    """A module that is imported when one of its names is first used; each name is then cached.

    >>> LazyModule("math").floor(2.5)
    2
    """

    def __init__(self, name: str, after: str = "") -> None:
        self.__dict__.update(_name=name, _after=after)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if self._after:
            importlib.import_module(self._after)
        value = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return (LazyModule, (self._name, self._after))


# Any: each is a proxy of a module
cv2: Any = LazyModule("cv2")
# Importing OpenCV sets an environment variable, libjpeg-turbo reads some in each new thread, and C's environment is not
# safe for threads: decoding while another thread imports OpenCV can crash. So OpenCV comes first.
simplejpeg: Any = LazyModule("simplejpeg", after="cv2")
Image: Any = LazyModule("PIL.Image")
ImageEnhance: Any = LazyModule("PIL.ImageEnhance")
ImageOps: Any = LazyModule("PIL.ImageOps")
