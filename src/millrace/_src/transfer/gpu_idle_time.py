"""Measure the idle time of a GPU between steps with CUDA events.

The host may be far ahead of the device, so its wait time is not meaningful. Two events are recorded in the stream of
the steps: one when a batch is requested, after the previous steps; one when the batch has arrived. The time between
them is idle time; the time from one batch to the next is the total.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import torch

__all__ = ["GpuIdleTimer"]

# Maximum pending event pairs: steps that the host is ahead.
MOST = 1024


class GpuIdleTimer:
    """Idle and total seconds of a device (``idle`` of ``whole``), up to its last batch."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.idle = self.whole = 0.0
        self._request_mark: Any = None
        self._open: deque[tuple[Any, Any]] = deque(maxlen=MOST)
        self._last: Any = None

    def mark_request(self) -> None:
        """Record the request of a batch; the previous step is already in the stream."""
        self._request_mark = self._mark()

    def mark_delivery(self) -> None:
        """Record the arrival of the batch in the stream."""
        if self._request_mark is not None:
            self._open.append((self._request_mark, self._mark()))
        self._read()

    def _mark(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self.device))
        return event

    def _read(self) -> None:
        """Add the times of the events that the device has passed."""
        while self._open and self._open[0][1].query():
            request, delivery = self._open.popleft()
            if self._last is not None:  # the first batch includes filling the rings
                self.whole += self._last.elapsed_time(delivery) / 1000
                self.idle += request.elapsed_time(delivery) / 1000
            self._last = delivery

    def to_dict(self) -> dict[str, float]:
        """Idle and total time in seconds."""
        self._read()
        return {"idle": self.idle, "whole": self.whole}
