"""``recompute``: intermediate results of a Cell are recomputed in the backward pass instead of stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.runtime.tensor.backend import execution_mode as modes

__all__ = ["call_with_recompute", "recompute"]


def call_with_recompute(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function without storing intermediate results; the backward pass recomputes them."""
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)

    def run() -> Any:
        with modes.differentiating():  # also when the backward pass recomputes it
            return function(*args, **kwargs)

    return checkpoint(run, use_reentrant=False)


@public("millrace")
def recompute(block: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a Cell so that the backward pass recomputes its intermediate results: less memory, more time.

    >>> from millrace import Tensor, grad, nn
    >>> grad(lambda x: recompute(nn.ReLU(), x).sum())(Tensor([1.0, -1.0])).asnumpy().tolist()
    [1.0, 0.0]
    """
    if not hasattr(block, "construct"):
        raise ArgumentTypeError("Recompute function now only support block which inherited from Cell!")
    return call_with_recompute(block, args, kwargs)
