"""Counters of one host-to-device transfer: batches sent, fill levels of the ring buffers, send times."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from millrace._src.core.public import public

__all__ = ["ENDED", "STOPPED", "TransferStatistics", "TransferTiming"]

# The number of entries in MindSpore's status.
LAST = 10
# The reasons why a transfer ended without an error.
ENDED, STOPPED = "the data ended", "it was stopped"


@dataclasses.dataclass
class TransferTiming:
    """Start and end time of the transfer of one batch; end is None while it is in progress."""

    start: float
    end: float | None = None


@public("transfer")
@dataclasses.dataclass
class TransferStatistics:
    """Counters of one device queue. Each field is written by one thread; other threads read the current state.

    >>> statistics = TransferStatistics("train")
    >>> statistics.begin_transfer(host=1)
    >>> statistics.end_transfer(device=1)
    >>> statistics.sent, list(statistics.host_queue), list(statistics.device_queue)
    (1, [1], [1])
    """

    name: str
    device: str = "cpu"
    # batches that the pipeline produced, those that reached the device, and those that steps took
    produced: int = 0
    sent: int = 0
    taken: int = 0
    epochs: int = 0
    sent_bytes: int = 0
    host_queue: deque[int] = dataclasses.field(default_factory=lambda: deque(maxlen=LAST))
    device_queue: deque[int] = dataclasses.field(default_factory=lambda: deque(maxlen=LAST))
    first: TransferTiming | None = None
    last: deque[TransferTiming] = dataclasses.field(default_factory=lambda: deque(maxlen=LAST))
    # seconds: waiting for the pipeline, transferring, waiting for a free slot on the device
    data: float = 0.0
    moving: float = 0.0
    full: float = 0.0
    # seconds that steps waited for a batch, the waits of each step, and the time of the steps themselves
    waited: float = 0.0
    # the wait of the first step, while the ring buffers filled: not part of the others
    first_wait: float = 0.0
    waits: deque[float] = dataclasses.field(default_factory=lambda: deque(maxlen=4096))
    stepping: float = 0.0
    # "", or why nothing more is sent: ENDED, STOPPED, or a description of the error
    ended: str = ""
    error: BaseException | None = None
    # the total number of batches, where it is known; and whether the steps stopped before they had taken all
    total_batches: int | None = None
    stopped_early: bool = False
    # a step has requested a batch after the data ended
    exhausted: bool = False
    # returns the report of the pipeline
    report: Callable[[], Any] | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    # the sending side -------------------------------------------------------------------------------

    def begin_transfer(self, host: int) -> None:
        """Record that a batch leaves the host ring buffer, which then holds `host` batches."""
        push = TransferTiming(time.time())
        with self._lock:
            self.host_queue.append(host)
            self.first = self.first or push
            self.last.append(push)

    def end_transfer(self, device: int, size: int = 0) -> None:
        """Record that the batch has reached the device ring buffer, which then holds `device` batches."""
        with self._lock:
            self.sent += 1
            self.sent_bytes += size
            self.device_queue.append(device)
            self.last[-1].end = time.time()

    def end(self, why: str, error: BaseException | None = None) -> None:
        """Record why nothing more will be sent; the first reason counts."""
        with self._lock:
            if not self.ended:
                self.ended, self.error = why, error

    def leave(self) -> None:
        """Record that steps take no more batches; they stopped early if batches are left."""
        with self._lock:
            self.stopped_early = self.error is None and (self.ended != ENDED or self.taken < self.produced)

    # the taking side --------------------------------------------------------------------------------

    def record_step(self, waited: float, stepped: float) -> None:
        """Record that a step got its batch: the wait for it, and the time of the step before."""
        self.taken += 1
        self.waited += waited
        self.stepping += stepped
        self.waits.append(waited)

    @property
    def wait_share(self) -> float:
        """The fraction of time that steps waited for data, from 0 to 1.

        >>> statistics = TransferStatistics("train")
        >>> statistics.record_step(waited=1.0, stepped=3.0)
        >>> statistics.wait_share
        0.25
        """
        whole = self.waited + self.stepping
        return self.waited / whole if whole else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, times in seconds since 1970."""
        with self._lock:
            first = self.first or TransferTiming(-1, None)
            return {
                "channel_name": self.name,
                "device": self.device,
                "have_sent": self.sent,
                "have_taken": self.taken,
                "host_queue": list(self.host_queue),
                "device_queue": list(self.device_queue),
                "push_first_start_time": first.start,
                "push_first_end_time": -1 if first.end is None else first.end,
                "push_start_time": [push.start for push in self.last],
                "push_end_time": [push.end for push in self.last if push.end is not None],
                "seconds": {
                    "data": self.data,
                    "moving": self.moving,
                    "device_full": self.full,
                    "step_waited": self.waited,
                    "first_wait": self.first_wait,
                    "step": self.stepping,
                },
                "wait_share": self.wait_share,
                "ended": self.ended,
                "error": "" if self.error is None else f"{type(self.error).__name__}: {self.error}",
            }

    def __str__(self) -> str:
        """The status in MindSpore's log format."""
        with self._lock:
            first, done = (self.first.start, self.first.end) if self.first else (None, None)
            lines = [
                f"channel_name: {self.name}",
                f"have_sent: {self.sent};",
                f"host_queue: {', '.join(map(str, self.host_queue))};",
                f"device_queue: {', '.join(map(str, self.device_queue))};",
                f"{'push_first_start_time':>27} -> push_first_end_time",
                f"{_moment(first):>27} -> {_moment(done)}",
                f"{'push_start_time':>27} -> push_end_time",
            ]
            lines += [
                f"{_moment(push.start):>27} -> {'' if push.end is None else _moment(push.end)}"
                for push in self.last
            ]
        return "\n".join(lines)


def _moment(seconds: float | None) -> str:
    if seconds is None:
        return "-1"
    whole, part = divmod(seconds, 1)
    text = f"{part:.6f}"
    return f"{time.strftime('%Y-%m-%d-%H:%M:%S', time.localtime(whole))}.{text[2:5]}.{text[5:8]}"
