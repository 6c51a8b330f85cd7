"""Hooks on tensors: functions that see a gradient when it passes, and may put another in its place."""

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
    """Have ``hook(gradient)`` called when this tensor's gradient is known; its answer takes the gradient's place."""
    if not callable(hook):
        raise ArgumentTypeError(
            f"When using 'register_hook', the type of 'hook' must be python function, but got {type(hook)}."
        )
    table: dict[int, Callable[..., Any]] = self.__dict__.setdefault("_gradient_hooks", {})
    handle = add_hook(table, hook)
    data = self._torch
    if data.requires_grad and data.grad_fn is not None:  # a step of a call that is being differentiated
        for told in host_read_listeners:
            told("what a hook is given")
        if len(table) == 1:
            data.register_hook(lambda gradient: apply_gradient_hooks(table, gradient))
    return handle


def apply_gradient_hooks(table: dict[int, Callable[..., Any]], gradient: torch.Tensor) -> torch.Tensor:
    """A gradient after all hooks of a table."""
    for told in host_read_listeners:
        told("what a hook is given")
    for hook in list(table.values()):
        answer = hook(wrap(gradient))
        if answer is not None:
            gradient = answer._torch
    return gradient
