"""Balance JPEG decoding between host and device by the fill level of the queues.

At first the device decodes everything, as requested. If batches wait for the device, the host's workers have spare time
and decode a larger share, which frees the device for the step. If steps wait and no batch is ready for the device, the
workers are overloaded and their share shrinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["DecodeBalancer"]

# Batches between two adjustments, and their size: additive up, multiplicative down, so that the share converges.
EVERY, UP, DOWN = 8, 0.08, 0.9
# Waits below this share of the time are ignored.
WAITS = 0.01


class DecodeBalancer:
    """Sets the host's share of the decoding in all workers.

    >>> from millrace._src.core.machine.shared_value import SharedFloat
    >>> share = SharedFloat()
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
        """Update after a batch: whether the host queue is full, and the total wait and step seconds."""
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
