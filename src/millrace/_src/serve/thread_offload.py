"""Run blocking work of requests in threads, or in turns with other requests."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar

from .limits import INLINE

__all__ = ["Converters", "Turns", "offload"]

T = TypeVar("T")

# Bodies above this size have a separate thread, so that smaller ones do not wait for them.
_LARGE = 2 << 20


class _Job:
    """A call in the queue of a thread pool. After cancellation it keeps no reference to its arguments."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call: Callable[[], Any] | None = call

    def cancel(self) -> None:
        self._call = None

    def __call__(self) -> Any:
        call = self._call
        return None if call is None else call()


async def offload(pool: Executor, call: Callable[[], T]) -> T:
    """Run `call` in a thread pool. If the request is cancelled first, the queued call is dropped."""
    job = _Job(call)
    try:
        result: T = await asyncio.get_running_loop().run_in_executor(pool, job)
    except asyncio.CancelledError:
        job.cancel()
        raise
    return result


class Turns:
    """At most `most` steps in one iteration of the event loop, in the order in which they were requested.

    Many requests with much work in small steps then delay the others by a few steps, not by one step of each.
    """

    __slots__ = ("_left", "_most", "_scheduled", "_waiting")

    def __init__(self, most: int) -> None:
        self._left = self._most = most
        self._scheduled = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Return when the next step may begin."""
        loop = asyncio.get_running_loop()
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._renew, loop)
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = self._most
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # else the request was cancelled
                turn.set_result(None)
                self._left -= 1
        self._scheduled = self._left < self._most
        if self._scheduled:
            loop.call_soon(self._renew, loop)


class Converters:
    """Threads that decode large bodies and encode large responses: one for the large ones, one for the rest."""

    def __init__(self) -> None:
        self._medium = ThreadPoolExecutor(1, thread_name_prefix="millrace-convert")
        self._large = ThreadPoolExecutor(1, thread_name_prefix="millrace-convert-large")

    def start(self) -> None:
        """Start the threads, so that a server has the same ones from its start to its end."""
        for pool in (self._medium, self._large):
            pool.submit(int).result()

    async def run(self, size: int, call: Callable[[], T]) -> T:
        """Call it in the event loop if `size` is small, else in a thread."""
        if size <= INLINE:
            return call()
        return await offload(self._medium if size <= _LARGE else self._large, call)

    def close(self) -> None:
        """End the threads."""
        self._medium.shutdown(cancel_futures=True)
        self._large.shutdown(cancel_futures=True)
