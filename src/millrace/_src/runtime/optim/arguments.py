"""What an optimizer was made with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["record_init_arguments"]


def record_init_arguments(make: Callable[..., None]) -> Callable[..., None]:
    """An ``__init__`` that keeps its arguments as ``init_params``, ``init_learning_rate`` and ``init_args``.

    Of a class and its bases the outermost counts.
    """
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        if "init_args" not in self.__dict__:
            try:
                bound = signature.bind(self, *args, **kwargs)
            except TypeError:
                return make(self, *args, **kwargs)  # which says what is wrong
            bound.apply_defaults()
            given = dict(list(bound.arguments.items())[1:])
            others = given.pop("kwargs", {})
            params = given.pop("params", given.pop("parameters", None))
            self.__dict__["init_params"] = {"params": list(params) if _many(params) else params}
            self.__dict__["init_learning_rate"] = given.pop("learning_rate", None)
            given.pop("optimizer", None)
            self.__dict__["init_args"] = {**given, **others}
        return make(self, *args, **kwargs)

    return made


def _many(params: Any) -> bool:
    return params is not None and hasattr(params, "__len__")
