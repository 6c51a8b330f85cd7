"""Rollback: run code for its side effects on caches only, and undo its writes and random numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from .rng_state import get_rng_states, set_rng_states

__all__ = ["rollback"]


@contextmanager
def rollback(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """Undo the writes of the block to these tensors, and restore the states of the random number generators.

    >>> weight = torch.ones(2)
    >>> with rollback([weight]):
    ...     _ = weight.mul_(torch.rand(2))
    >>> weight.tolist()
    [1.0, 1.0]
    """
    # calls do not write to a tensor whose elements share memory (an expanded one)
    snapshots = [(tensor, tensor.detach().clone()) for tensor in tensors if not _overlaps(tensor)]
    rng_states = get_rng_states()
    try:
        yield
    finally:
        set_rng_states(rng_states)
        with torch.no_grad():
            for tensor, values in snapshots:
                tensor.copy_(values)


def _overlaps(tensor: torch.Tensor) -> bool:
    return any(not stride and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))
