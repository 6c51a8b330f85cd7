"""How long a device stood idle for want of a batch, told by the device itself.

The host may be far ahead of the device: that it waits says little. So two events go into the stream of the steps: one
when a batch is asked for, which happens when the steps before are done; one when the batch is there. What passed
between them on the device is its idle time; from one batch to the next is all of its time.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import torch

__all__ = ["GpuIdleTimer"]

# Pairs that may be unread: steps that the host is ahead.
MOST = 1024


class GpuIdleTimer:
    """Seconds of one device: ``idle`` of ``whole``, up to the last batch that it got to."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.idle = self.whole = 0.0
        self._request_mark: Any = None
        self._open: deque[tuple[Any, Any]] = deque(maxlen=MOST)
        self._last: Any = None

    def mark_request(self) -> None:
        """A step asks for its batch: what it did before is in the stream."""
        self._request_mark = self._mark()

    def mark_delivery(self) -> None:
        """The stream waits for the batch from here on."""
        if self._request_mark is not None:
            self._open.append((self._request_mark, self._mark()))
        self._read()

    def _mark(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self.device))
        return event

    def _read(self) -> None:
        """Add up what the device has passed."""
        while self._open and self._open[0][1].query():
            request, delivery = self._open.popleft()
            if self._last is not None:  # the first one filled the rings
                self.whole += self._last.elapsed_time(delivery) / 1000
                self.idle += request.elapsed_time(delivery) / 1000
            self._last = delivery

    def to_dict(self) -> dict[str, float]:
        """Both, in seconds."""
        self._read()
        return {"idle": self.idle, "whole": self.whole}
