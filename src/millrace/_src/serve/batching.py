"""Dynamic batching: a worker thread combines waiting requests into batches and splits the results.

Requests that arrive during a computation form the next batch, so batches fill under load. If the worker is idle, a
request waits for others: for the configured time, or, without one, until as many requests wait as were recently
concurrent, and for `DEFAULT_MAX_WAIT_SECONDS` at most. A single client is served without waiting.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import ServeError
from millrace._src.core.log import get_logger

from .tensor_codec import Array

__all__ = ["Batcher", "PendingRequest"]

log = get_logger(__name__)

Run = Callable[[list[Array]], list[Array]]

# Maximum seconds that a request waits for clients that were recently concurrent.
DEFAULT_MAX_WAIT_SECONDS = 0.001


class PendingRequest:
    """A pending request: its arrays, and the future of its result."""

    __slots__ = ("arrays", "began", "came", "future", "is_cancelled", "rows")

    def __init__(self, arrays: list[Array], rows: int, future: asyncio.Future[list[Array]]) -> None:
        self.arrays, self.rows, self.future = arrays, rows, future
        self.came = time.perf_counter()
        self.began = 0.0
        self.is_cancelled = False


class _BatchQueue:
    """Queue of requests that may form a batch: same model, shapes and types."""

    __slots__ = ("eager", "most", "rows", "run", "seen", "wait", "waiting")

    def __init__(
        self, run: Run, most: int, wait: float | None, seen: Callable[[int, int, float], None]
    ) -> None:
        self.run, self.most, self.seen = run, most, seen
        self.eager, self.wait = wait is None, DEFAULT_MAX_WAIT_SECONDS if wait is None else wait
        self.waiting: deque[PendingRequest] = deque()
        self.rows = 0

    @property
    def full(self) -> bool:
        return self.rows >= self.most

    def late(self, now: float) -> bool:
        """Whether the first request has waited long enough for others."""
        return now - self.waiting[0].came >= self.wait

    def take(self) -> list[PendingRequest]:
        taken: list[PendingRequest] = []
        rows = 0
        while self.waiting and (not taken or rows + self.waiting[0].rows <= self.most):
            one = self.waiting.popleft()
            self.rows -= one.rows
            if not one.is_cancelled:
                taken.append(one)
                rows += one.rows
        return taken


class Batcher:
    """The batch queues of all models of a server, and the worker threads."""

    def __init__(self, max_queue: int, timeout: float, workers: int = 1) -> None:
        self.max_queue, self.timeout, self.workers = max_queue, timeout, workers
        self._lines: dict[Hashable, _BatchQueue] = {}
        self._changed = threading.Condition()
        self._closing = False
        self.waiting = 0
        # recent number of concurrent requests, expected again
        self._expected = 1
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the worker threads; a second call has no effect."""
        if not self._threads:
            named = [f"millrace-serve-{number}" for number in range(self.workers)]
            self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for name in named]
            for each in self._threads:
                each.start()

    @property
    def is_alive(self) -> bool:
        """Whether all worker threads are running."""
        return bool(self._threads) and all(each.is_alive() for each in self._threads)

    async def submit(
        self,
        key: Hashable,
        run: Run,
        arrays: list[Array],
        rows: int,
        most: int,
        wait: float | None,
        seen: Callable[[int, int, float], None],
    ) -> list[Array]:
        """Compute the results of these arrays. Requests with the same `key` may be computed together.

        `wait` is the time in seconds to wait for others; None: adaptive.
        """
        if self.waiting >= self.max_queue:
            raise ServeError(f"{self.waiting} requests are waiting, which is the limit. Try again later", 429)
        loop = asyncio.get_running_loop()
        one = PendingRequest(arrays, rows, loop.create_future())
        with self._changed:
            if self._closing:
                raise ServeError("the server is stopping", 503)
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = _BatchQueue(run, most, wait, seen)
            line.waiting.append(one)
            line.rows += rows
            self.waiting += 1
            self._changed.notify()
        timer = loop.call_later(self.timeout, _time_out_request, one, self.timeout)
        try:
            return await one.future
        finally:
            timer.cancel()
            one.is_cancelled = True
            self.waiting -= 1
            if not one.began:
                self._forget(key, line, one)

    def _forget(self, key: Hashable, line: _BatchQueue, one: PendingRequest) -> None:
        """Drop a cancelled request, so that its arrays are released at once."""
        with self._changed:
            if one in line.waiting:
                line.waiting.remove(one)
                line.rows -= one.rows
                if not line.waiting and self._lines.get(key) is line:
                    del self._lines[key]

    def close(self) -> None:
        """Compute the waiting requests, then stop the threads."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for each in self._threads:
            each.join()

    def _next(self) -> tuple[_BatchQueue, list[PendingRequest]] | None:
        """The batch with the oldest first request; None after `close`."""
        with self._changed:
            while True:
                now = time.perf_counter()
                lines = sorted(self._lines.items(), key=lambda item: item[1].waiting[0].came)
                queued = sum(len(line.waiting) for _, line in lines)
                for key, line in lines:
                    late = line.late(now)
                    if self._closing or line.full or late or (line.eager and queued >= self._expected):
                        # expect as many concurrent requests next time as are waiting now
                        self._expected = max(queued if late else self._expected, self.waiting)
                        taken = line.take()
                        if not line.waiting:
                            del self._lines[key]  # unused shapes and models keep no queue
                        if taken:
                            return line, taken
                        break
                else:
                    if self._closing and not lines:
                        return None
                    soonest = min((line.waiting[0].came + line.wait for _, line in lines), default=None)
                    self._changed.wait(None if soonest is None else max(0.0, soonest - now))

    def _work(self) -> None:
        while (job := self._next()) is not None:
            line, batch = job
            began = time.perf_counter()
            for one in batch:
                one.began = began
            results = _compute(line.run, batch)
            line.seen(len(batch), sum(one.rows for one in batch), time.perf_counter() - began)
            loop = batch[0].future.get_loop()
            try:
                loop.call_soon_threadsafe(_deliver, batch, results)
            except RuntimeError:  # the event loop has ended, and with it the waiting requests
                log.debug("results of %d requests were ready after the event loop had ended", len(batch))


def _time_out_request(one: PendingRequest, seconds: float) -> None:
    one.is_cancelled = True
    if not one.future.done():
        what = "computed" if one.began else "waited for its turn"
        one.future.set_exception(ServeError(f"the request {what} for {seconds:g} s, the limit", 504))


def _deliver(batch: list[PendingRequest], results: Sequence[list[Array] | Exception]) -> None:
    for one, result in zip(batch, results, strict=True):
        if one.future.done():
            continue
        if isinstance(result, Exception):
            one.future.set_exception(result)
        else:
            one.future.set_result(result)


def _compute(run: Run, batch: list[PendingRequest]) -> Sequence[list[Array] | Exception]:
    """Compute a result per request. If the batch fails, each request is computed alone, so that only bad ones fail."""
    if len(batch) == 1:
        return [_compute_single(run, batch[0])]
    rows = sum(one.rows for one in batch)
    try:
        outputs = run([np.concatenate(parts) for parts in zip(*(one.arrays for one in batch), strict=True)])
        for each in outputs:
            if each.shape[:1] != (rows,):
                raise ServeError(f"the model returned {each.shape[:1]} rows, expected {rows}", 500)
    except Exception:
        return [_compute_single(run, one) for one in batch]
    results, at = [], 0
    for one in batch:
        results.append([each[at : at + one.rows] for each in outputs])
        at += one.rows
    return results


def _compute_single(run: Run, one: PendingRequest) -> list[Array] | Exception:
    try:
        return run(one.arrays)
    except ServeError as error:
        return error
    except Exception as error:
        log.warning("a request failed in the model: %s: %s", type(error).__name__, error)
        return ServeError(f"the model failed: {type(error).__name__}: {_shorten_error(error)}", 500)


def _shorten_error(error: Any) -> str:
    text = str(error).strip()
    return text if len(text) < 500 else f"{text[:500]} ..."
