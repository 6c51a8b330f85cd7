"""Constructor arguments and public names of optimizers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["public_name", "record_init_arguments"]

T = TypeVar("T", bound=type)


def public_name(name: str) -> Callable[[T], T]:
    """Class decorator: the name that users import, for reprs and error texts. Several modules export an `Adam`."""

    def rename(cls: T) -> T:
        cls.__name__ = name
        return cls

    return rename


def record_init_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap an ``__init__`` to store its arguments as ``init_params``, ``init_learning_rate`` and
    ``init_args``.

    The most derived class takes precedence.
    """
    signature = inspect.signature(init)

    @functools.wraps(init)
    def recording_init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "init_args" not in self.__dict__:
            try:
                bound = signature.bind(self, *args, **kwargs)
            except TypeError:
                return init(self, *args, **kwargs)  # raises the error
            bound.apply_defaults()
            arguments = dict(list(bound.arguments.items())[1:])
            extra = arguments.pop("kwargs", {})
            params = arguments.pop("params", arguments.pop("parameters", None))
            self.__dict__["init_params"] = {"params": list(params) if _has_length(params) else params}
            self.__dict__["init_learning_rate"] = arguments.pop("learning_rate", None)
            arguments.pop("optimizer", None)
            self.__dict__["init_args"] = {**arguments, **extra}
        return init(self, *args, **kwargs)

    return recording_init


def _has_length(params: Any) -> bool:
    return params is not None and hasattr(params, "__len__")
