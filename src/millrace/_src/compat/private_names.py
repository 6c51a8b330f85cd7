"""Private names of MindSpore that scripts import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millrace._src.core.log import get_logger
from millrace._src.runtime.tensor.hook_handle import HookHandle as HookHandle

__all__ = ["HookHandle", "cell_attr_register", "logger", "opt_init_args_register"]

F = TypeVar("F", bound=Callable[..., Any])

logger = get_logger("millrace.script")


def opt_init_args_register(fn: F) -> F:
    """Decorator of a custom optimizer's constructor: returns it unchanged."""
    return fn


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """Decorator of a custom Cell's constructor: returns it unchanged."""
    return (lambda function: function) if fn is None else fn


def __getattr__(name: str) -> Any:
    """Lazily imported names: the callback parameters for custom loops."""
    if name == "_InternalCallbackParam":
        from millrace._src.train.callbacks.callback import CallbackParams

        return CallbackParams
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
