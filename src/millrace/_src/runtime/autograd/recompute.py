"""``recompute``: results inside of a Cell are not kept for the backward, but computed again there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.runtime.tensor.backend import execution_mode as modes

__all__ = ["call_with_recompute", "recompute"]


def call_with_recompute(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function without keeping what it computes on the way; a gradient computes it again."""
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)

    def run() -> Any:
        with modes.differentiating():  # also when it runs again, in the backward
            return function(*args, **kwargs)

    return checkpoint(run, use_reentrant=False)


def recompute(block: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a Cell so that its inner results are computed again in the backward: less memory, more time.

    >>> from millrace import Tensor, grad, nn
    >>> grad(lambda x: recompute(nn.ReLU(), x).sum())(Tensor([1.0, -1.0])).asnumpy().tolist()
    [1.0, 0.0]
    """
    if not hasattr(block, "construct"):
        raise ArgumentTypeError("Recompute function now only support block which inherited from Cell!")
    return call_with_recompute(block, args, kwargs)
