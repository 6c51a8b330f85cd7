"""Prefetch stage: runs its upstream in a background thread with a bounded queue."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.shutdown import join_thread
from millrace._src.data.engine.thread_limits import MemoryBudget, thread_limit_error

from .base import END_OF_DATA, Signal, Stage, StageOutput, State

__all__ = ["PrefetchStage"]


class PrefetchStage(Stage):
    """Runs everything upstream in a thread; ``restore`` must come before the thread starts."""

    def __init__(
        self, upstream: Stage, depth: int, budget: MemoryBudget, wait: Callable[..., None], name: str
    ) -> None:
        self.upstream, self.depth, self.budget, self.name = upstream, depth, budget, name
        self.stats = upstream.stats
        self._wait = wait
        self._queue: deque[tuple[StageOutput | BaseException, State, int]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stop = False
        # whether the thread has ended; whether it has to close the upstream stages itself
        self._thread_ended = False
        self._detached = False
        # epochs are counted on both sides, so that a request to skip one epoch never affects the next
        self._epochs_pushed = 0
        self._epochs_taken = 0
        self._epoch_to_skip = -1
        self._state = upstream.state()

    # prefetch thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._work()
        finally:
            with self._changed:
                self._thread_ended = True
                detached = self._detached
            if detached:
                self._release()

    def _work(self) -> None:
        cpu = time.thread_time()
        while True:
            with self._changed:
                # the queue has space, but the memory budget does not
                self.stats.refused += len(self._queue) < self.depth and not self._can_add()
                while not (self._stop or self._epoch_to_skip == self._epochs_pushed or self._can_add()):
                    began = time.perf_counter()
                    self._changed.wait()
                    self.stats.wait_out += time.perf_counter() - began
                if self._stop:
                    return
                skip = self._epoch_to_skip == self._epochs_pushed
            got: StageOutput | BaseException
            try:
                if skip:
                    self.upstream.skip_epoch()
                    got = Signal.END
                else:
                    got = self.upstream.pull()
            except BaseException as error:
                got = error
            self._put(got)
            before, cpu = cpu, time.thread_time()
            self.stats.dispatch_cpu += cpu - before
            if got is END_OF_DATA or isinstance(got, BaseException):
                return

    def _can_add(self) -> bool:
        if len(self._queue) >= self.depth:
            return False
        return not self._queue or self.budget.used < self.budget.limit

    def _put(self, got: StageOutput | BaseException) -> None:
        size = got.nbytes if isinstance(got, Chunk) else 0
        self.budget.try_reserve(size, must=True)
        state = None if isinstance(got, BaseException) else self.upstream.state()
        with self._changed:
            self._queue.append((got, state, size))
            self._epochs_pushed += got is Signal.END
            self._changed.notify_all()

    # consumer ------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"millrace-pump-{self.name}", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:
                self._thread = None
                raise thread_limit_error(wanted=1, started=0) from error

    def pull(self) -> StageOutput:
        self._start()
        with self._changed:
            if not self._queue:
                began = time.perf_counter()
                while not self._queue:
                    self.raise_if_interrupted()
                    self._wait(self._changed, self)
                self.stats.wait_in += time.perf_counter() - began
            self.stats.fill.append(len(self._queue) / self.depth)
            got, state, size = self._queue[0]
            if got is not END_OF_DATA and not isinstance(got, BaseException):
                self._queue.popleft()
            self._epochs_taken += got is Signal.END
            self._changed.notify_all()
        self.budget.release(size)
        if isinstance(got, BaseException):
            raise got
        self._state = state
        return got

    def is_ready(self) -> bool:
        self._start()
        return bool(self._queue)

    def set_depth(self, depth: int) -> None:
        """Change the queue depth; safe from any thread."""
        with self._changed:
            self.depth = depth
            self._changed.notify_all()

    def skip_epoch(self) -> None:
        if self._thread is None:
            self.upstream.skip_epoch()
            self._state = self.upstream.state()
            return
        with self._changed:
            self._epoch_to_skip = self._epochs_taken
            self._changed.notify_all()
            while True:
                while self._queue:
                    got, state, size = self._queue[0]
                    if got is END_OF_DATA or isinstance(got, BaseException):
                        return
                    self._queue.popleft()
                    self.budget.release(size)
                    if isinstance(got, Signal):
                        self._state = state
                        self._epochs_taken += 1
                        self._changed.notify_all()
                        return
                self.raise_if_interrupted()
                self._wait(self._changed, self)

    def skip(self, rows: int) -> int:
        if self._thread is not None:
            return 0
        skipped = self.upstream.skip(rows)
        self._state = self.upstream.state()
        return skipped

    def state(self) -> State:
        return self._state

    def restore(self, state: State) -> None:
        self.upstream.restore(state)
        self._state = state

    def interrupt(self) -> None:
        super().interrupt()
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        self.upstream.interrupt()

    def close(self) -> None:
        self.interrupt()
        if self._thread is not None and not join_thread(self._thread):
            with self._changed:
                self._detached = not self._thread_ended
            if self._detached:
                return  # it is inside user code, which cannot be interrupted
        self._thread = None
        self._release()

    def _release(self) -> None:
        for _, _, size in self._queue:
            self.budget.release(size)
        self._queue.clear()
        self.upstream.close()
