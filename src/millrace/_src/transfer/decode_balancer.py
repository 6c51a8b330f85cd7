"""Which share of the decoding is the host's and which the card's: found by where batches pile up.

All of it is the card's at first, since that was asked for. Where batches wait for the card, the host's workers have
time left and take a larger share, whether steps wait or not: what the card need not decode, it has for the step. Where
steps wait and nothing lies before the card, the workers have too much, and give some back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["DecodeBalancer"]

# Batches between two looks, and how much changes at a time: up by steps, down by a part, so that it comes to rest.
EVERY, UP, DOWN = 8, 0.08, 0.9
# A wait below this share of the time is none.
WAITS = 0.01


class DecodeBalancer:
    """Sets the host's share of the decoding, in all workers.

    >>> from millrace._src.core.machine.shared_value import Share
    >>> share = Share()
    >>> split = DecodeBalancer([share])
    >>> for _ in range(32):
    ...     split.update(full=True, waited=0.0, stepped=1.0)
    >>> share.get()
    0.32
    """

    def __init__(self, shares: Sequence[Any]) -> None:
        self.shares = list(shares)
        self.share = 0.0
        self._batches = 0
        self._full = 0
        self._before = (0.0, 0.0)

    def update(self, full: bool, waited: float, stepped: float) -> None:
        """After each batch: whether the host had more ready, and how long steps have waited and worked up to now."""
        self._batches += 1
        self._full += full
        if self._batches % EVERY:
            return
        new_waited, new_stepped = waited - self._before[0], stepped - self._before[1]
        self._before = waited, stepped
        waits = new_waited > WAITS * max(new_waited + new_stepped, 1e-9)
        if self._full > EVERY // 2:
            self._set(min(1.0, self.share + UP))
        elif waits:
            self._set(self.share * DOWN)
        self._full = 0

    def _set(self, share: float) -> None:
        self.share = round(share, 6)
        for each in self.shares:
            each.set(self.share)
