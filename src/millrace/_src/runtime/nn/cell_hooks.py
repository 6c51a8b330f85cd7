"""Hooks of Cells: functions that are called before and after ``construct``, and when gradients pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.hook_handle import HookHandle, add_hook
from millrace._src.runtime.tensor.storage import host_read_listeners, wrap

__all__ = ["HookHandle", "CellHooks"]


class CellHooks:
    """The hooks of one Cell, by when they are called."""

    def __init__(self) -> None:
        self.hooks_by_stage: dict[str, dict[int, Callable[..., Any]]] = {
            when: {} for when in ("pre", "post", "backward", "backward_pre")
        }

    def add(self, when: str, hook: Callable[..., Any]) -> HookHandle:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, but got {hook!r}")
        return add_hook(self.hooks_by_stage[when], hook)

    def call_with_hooks(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``construct`` with the hooks about it. They are called every time: no recording can hold them."""
        for told in host_read_listeners:
            told("what a hook is given")
        for hook in list(self.hooks_by_stage["pre"].values()):
            answer = hook(cell, args)
            if answer is not None:
                args = answer if isinstance(answer, tuple) else (answer,)
        backward = self.hooks_by_stage["backward"] or self.hooks_by_stage["backward_pre"]
        out = (
            self._call_with_backward_hooks(cell, args, kwargs) if backward else cell._compute(*args, **kwargs)
        )
        for hook in list(self.hooks_by_stage["post"].values()):
            answer = hook(cell, args, out)
            out = out if answer is None else answer
        return out

    def _call_with_backward_hooks(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``construct`` so that gradients on their way back are shown to the hooks."""
        seen: dict[str, tuple[Any, ...]] = {}
        entered = tuple(_alias_input(value) for value in args)
        out = cell._compute(*entered, **kwargs)
        results = out if isinstance(out, tuple) else (out,)
        watched = [each._torch for each in results if isinstance(each, Tensor) and each._torch.requires_grad]
        inside = [each._torch for each in entered if isinstance(each, Tensor) and each._torch.requires_grad]
        if not watched:
            return out

        def arriving(gradient: torch.Tensor) -> torch.Tensor:
            given: tuple[Any, ...] = (wrap(gradient),)
            for hook in list(self.hooks_by_stage["backward_pre"].values()):
                answer = hook(cell, given)
                if answer is not None:
                    given = answer if isinstance(answer, tuple) else (answer,)
            seen["out"] = given
            made: torch.Tensor = given[0]._torch
            return made

        def departing(gradient: torch.Tensor) -> torch.Tensor:
            given: tuple[Any, ...] = (wrap(gradient),)
            for hook in list(self.hooks_by_stage["backward"].values()):
                answer = hook(cell, given, seen.get("out", ()))
                if answer is not None:
                    given = answer if isinstance(answer, tuple) else (answer,)
            made: torch.Tensor = given[0]._torch
            return made

        for each in watched:
            each.register_hook(arriving)
        for each in inside:
            each.register_hook(departing)
        return out


def _alias_input(value: Any) -> Any:
    """An input under a name of its own in the history, so that a hook on it is this Cell's alone."""
    if isinstance(value, Tensor) and value._torch.requires_grad:
        return wrap(value._torch.view_as(value._torch))
    return value
