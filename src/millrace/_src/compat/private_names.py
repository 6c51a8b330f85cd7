"""Names of MindSpore's inner modules that scripts import, over what Millrace has for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millrace._src.core.log import get_logger
from millrace._src.runtime.tensor.hook_handle import HookHandle as HookHandle

__all__ = ["HookHandle", "cell_attr_register", "logger", "opt_init_args_register"]

F = TypeVar("F", bound=Callable[..., Any])

logger = get_logger("millrace.script")


def opt_init_args_register(fn: F) -> F:
    """Written above the constructor of an optimizer of one's own: nothing has to be noted here."""
    return fn


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """Written above the constructor of a Cell of one's own: nothing has to be noted here."""
    return (lambda function: function) if fn is None else fn


def __getattr__(name: str) -> Any:
    """What is loaded only for those who ask: the parameters that a loop of one's own hands to callbacks."""
    if name == "_InternalCallbackParam":
        from millrace._src.train.callbacks.callback import CallbackParams

        return CallbackParams
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
