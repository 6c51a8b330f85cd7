"""Hooks of Cells: functions that are called before and after ``construct``, and in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.hook_handle import HookHandle, add_hook
from millrace._src.runtime.tensor.storage import host_read_listeners, wrap

__all__ = ["HookHandle", "CellHooks"]


class CellHooks:
    """The hooks of one Cell by stage."""

    def __init__(self) -> None:
        self.hooks_by_stage: dict[str, dict[int, Callable[..., Any]]] = {
            when: {} for when in ("pre", "post", "backward", "backward_pre")
        }

    def add(self, stage: str, hook: Callable[..., Any]) -> HookHandle:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, but got {hook!r}")
        return add_hook(self.hooks_by_stage[stage], hook)

    def call_with_hooks(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``construct`` with its hooks. They run in every call: no capture can contain them."""
        for listener in host_read_listeners:
            listener("the arguments of a hook")
        for hook in list(self.hooks_by_stage["pre"].values()):
            replacement = hook(cell, args)
            if replacement is not None:
                args = replacement if isinstance(replacement, tuple) else (replacement,)
        backward = self.hooks_by_stage["backward"] or self.hooks_by_stage["backward_pre"]
        out = (
            self._call_with_backward_hooks(cell, args, kwargs)
            if backward
            else cell._call_construct(*args, **kwargs)
        )
        for hook in list(self.hooks_by_stage["post"].values()):
            replacement = hook(cell, args, out)
            out = out if replacement is None else replacement
        return out

    def _call_with_backward_hooks(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``construct`` with backward hooks."""
        recorded: dict[str, tuple[Any, ...]] = {}
        aliased_args = tuple(_alias_input(value) for value in args)
        out = cell._call_construct(*aliased_args, **kwargs)
        results = out if isinstance(out, tuple) else (out,)
        output_tensors = [
            tensor._torch for tensor in results if isinstance(tensor, Tensor) and tensor._torch.requires_grad
        ]
        input_tensors = [
            tensor._torch
            for tensor in aliased_args
            if isinstance(tensor, Tensor) and tensor._torch.requires_grad
        ]
        if not output_tensors:
            return out

        def on_output_gradient(gradient: torch.Tensor) -> torch.Tensor:
            gradients: tuple[Any, ...] = (wrap(gradient),)
            for hook in list(self.hooks_by_stage["backward_pre"].values()):
                replacement = hook(cell, gradients)
                if replacement is not None:
                    gradients = replacement if isinstance(replacement, tuple) else (replacement,)
            recorded["out"] = gradients
            first_gradient: torch.Tensor = gradients[0]._torch
            return first_gradient

        def on_input_gradient(gradient: torch.Tensor) -> torch.Tensor:
            gradients: tuple[Any, ...] = (wrap(gradient),)
            for hook in list(self.hooks_by_stage["backward"].values()):
                replacement = hook(cell, gradients, recorded.get("out", ()))
                if replacement is not None:
                    gradients = replacement if isinstance(replacement, tuple) else (replacement,)
            first_gradient: torch.Tensor = gradients[0]._torch
            return first_gradient

        for tensor in output_tensors:
            tensor.register_hook(on_output_gradient)
        for tensor in input_tensors:
            tensor.register_hook(on_input_gradient)
        return out


def _alias_input(value: Any) -> Any:
    """A view of an input in the autograd history, so that a hook on it belongs to this Cell alone."""
    if isinstance(value, Tensor) and value._torch.requires_grad:
        return wrap(value._torch.view_as(value._torch))
    return value
