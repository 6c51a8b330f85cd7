"""``no_init_parameters``: deferred parameter initialization for loading checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millrace._src.core.public import public
from millrace._src.runtime.tensor.backend import execution_mode as modes

__all__ = ["no_init_parameters"]


@public("nn")
@contextmanager
def no_init_parameters() -> Iterator[None]:
    """Defer the initialization of parameters that are created inside the block to their first use.

    A checkpoint that is loaded before sets their values, and no initializer runs.

    >>> from millrace import nn
    >>> with no_init_parameters():
    ...     net = nn.Dense(2, 3)
    >>> net.weight.has_init
    True
    >>> net(nn.Dense(2, 2).weight).shape, net.weight.has_init
    ((2, 3), False)
    """
    outer, modes.thread_state.defer_initialization = modes.thread_state.defer_initialization, True
    try:
        yield
    finally:
        modes.thread_state.defer_initialization = outer
