"""Gradients: ``grad``, ``value_and_grad``, ``GradOperation``.

MindSpore's ``grad`` is a function, and this room has its name: so the room can be called.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any


class _Grad(types.ModuleType):
    def __call__(
        self,
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...] | None = 0,
        weights: Any = None,
        has_aux: bool = False,
        return_ids: bool = False,
    ) -> Callable[..., Any]:
        from .functions import grad

        return grad(fn, grad_position, weights, has_aux, return_ids)


sys.modules[__name__].__class__ = _Grad
