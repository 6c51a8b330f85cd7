"""Running a step only to record it: afterwards everything is as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from millrace.tensor.generator import get_rng_state, set_rng_state

if TYPE_CHECKING:
    from .cell import Cell

__all__ = ["recorded_only"]


@contextmanager
def recorded_only(cell: Cell) -> Iterator[None]:
    """What the block writes to the parameters and buffers of a Cell is put back; so are random numbers."""
    places = [each._torch for each in (*cell.get_parameters(), *cell.buffers())]
    before = [(place, place.detach().clone()) for place in places]
    draws = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(draws)
        with torch.no_grad():
            for place, values in before:
                place.copy_(values)
