"""Gradient hooks of tensors: functions that observe or replace a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.hook_handle import HookHandle, add_hook
from millrace._src.runtime.tensor.storage import host_read_listeners, wrap

__all__ = ["register_hook"]


@public("Tensor")
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> HookHandle:
    """Register ``hook(gradient)`` for this tensor's gradient; a result other than None replaces the gradient."""
    if not callable(hook):
        raise ArgumentTypeError(
            f"When using 'register_hook', the type of 'hook' must be python function, but got {type(hook)}."
        )
    table: dict[int, Callable[..., Any]] = self.__dict__.setdefault("_gradient_hooks", {})
    handle = add_hook(table, hook)
    data = self._torch
    if data.requires_grad and data.grad_fn is not None:  # inside a call that is being differentiated
        for listener in host_read_listeners:
            listener("the gradient that a hook gets")
        if len(table) == 1:
            data.register_hook(lambda gradient: apply_gradient_hooks(table, gradient))
    return handle


def apply_gradient_hooks(table: dict[int, Callable[..., Any]], gradient: torch.Tensor) -> torch.Tensor:
    """Apply all hooks of a table to a gradient."""
    for listener in host_read_listeners:
        listener("the gradient that a hook gets")
    for hook in list(table.values()):
        replacement = hook(wrap(gradient))
        if replacement is not None:
            gradient = replacement._torch
    return gradient
