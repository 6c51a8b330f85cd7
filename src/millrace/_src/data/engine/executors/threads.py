"""Thread executor: a fixed set of worker threads with one shared queue.

It is the default: code that releases the GIL runs here.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback
from queue import SimpleQueue

from millrace._src.core.log import get_logger
from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine import thread_limits
from millrace._src.data.engine.shutdown import join_thread

from .base import ChunkFunction, Executor, Task

__all__ = ["ThreadExecutor", "make"]

log = get_logger(__name__)


class ThreadExecutor(Executor):
    name = "threads"

    def __init__(self, runner: ChunkFunction, workers: int, name: str = "millrace") -> None:
        self.runner = runner
        self.num_workers = workers
        self.thread_name = name
        self._queue: SimpleQueue[Task | None] = SimpleQueue()
        self._gate = _WorkerGate(workers)
        self._closed = False
        self._threads: list[threading.Thread] = []

    def submit(self, chunk: Chunk) -> Task:
        # start one thread for the first chunk, all active threads for the second: no wait for threads that are not
        # needed yet
        self._start(self._wanted if self._threads else 1)
        task = Task(chunk)
        self._queue.put(task)
        return task

    @property
    def _wanted(self) -> int:
        return self.num_workers if self.workers_requested else min(self.num_workers, self._gate.open_count)

    def _start(self, wanted: int) -> None:
        if wanted <= len(self._threads) or self._closed:
            return
        try:
            for i in range(len(self._threads), wanted):
                # the loop refers to the queue and the runner, not to the executor: dropping the executor can end the
                # threads
                thread = threading.Thread(
                    target=_run_worker,
                    args=(self._queue, self.runner, self._gate, i),
                    name=f"{self.thread_name}-{i}",
                    daemon=True,
                )
                self._gate.add_worker()
                try:
                    thread.start()
                except BaseException:
                    self._gate.remove_worker()
                    raise
                self._threads.append(thread)
        except RuntimeError as error:
            if not self._threads:
                raise thread_limits.thread_limit_error(wanted=self.num_workers, started=0) from error
            thread_limits.warn_fewer_threads(wanted=self.num_workers, started=len(self._threads))
            self.num_workers = len(self._threads)

    def set_active_workers(self, workers: int) -> None:
        """Let only this many workers take tasks; the others are idle. Results do not depend on it."""
        self._gate.set_open_count(workers)
        if self._threads:  # chunks in flight may depend on a worker taking the next ones
            self._start(self._wanted)

    def resize(self, workers: int) -> int:
        """Change the number of workers. New threads start with the next task; surplus threads stay idle."""
        self.num_workers = workers
        self._gate.set_open_count(workers)
        return workers

    def stacks(self) -> str:
        frames = sys._current_frames()
        parts = []
        for thread in self._threads:
            frame = frames.get(thread.ident or -1)
            if frame is not None:
                parts.append(f"{thread.name}:\n" + "".join(traceback.format_stack(frame)))
        return "\n".join(parts)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._gate.set_open_count(len(self._threads))
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            join_thread(thread)
        self._threads.clear()
        if self._gate.all_ended():
            self.runner.close()


def make(runner: ChunkFunction, workers: int, name: str, settings: Settings) -> Executor:
    return ThreadExecutor(runner, workers, name=name)


class _WorkerGate:
    """Workers numbered below ``open_count`` take tasks, the others wait; also counts the workers that are left at the
    end.
    """

    def __init__(self, workers: int) -> None:
        self.open_count = workers
        self.changed = threading.Condition()
        self.working = 0
        # close() no longer waits for the workers: the last one to end closes the runner
        self.detached = False

    def all_ended(self) -> bool:
        """Whether all workers have ended; if not, the last one closes the runner."""
        with self.changed:
            self.detached = self.working > 0
            return not self.detached

    def add_worker(self) -> None:
        with self.changed:
            self.working += 1

    def remove_worker(self) -> bool:
        """Record the end of a worker; True when it has to close the runner."""
        with self.changed:
            self.working -= 1
            return self.detached and not self.working

    def set_open_count(self, workers: int) -> None:
        with self.changed:
            self.open_count = workers
            self.changed.notify_all()

    def wait(self, number: int) -> None:
        with self.changed:
            while number >= self.open_count:
                self.changed.wait()


def _limit_threads(stack: contextlib.ExitStack, tasks: int) -> None:
    """Limit library threads before each task of a worker. Failures are logged and ignored.

    The first two tasks, one row to learn its size and the rest of the first batch, do not wait for the full library
    search.
    """
    try:
        if tasks == 0:
            stack.enter_context(thread_limits.limit_library_threads())
        elif tasks == 2:
            thread_limits.limit_loaded_libraries()
        else:
            thread_limits.limit_new_libraries()
    except Exception as error:
        log.warning("the threads of libraries inside workers could not be limited: %s", error)


def _run_worker(
    queue: SimpleQueue[Task | None], runner: ChunkFunction, gate: _WorkerGate, number: int
) -> None:
    try:
        with contextlib.ExitStack() as stack:
            tasks = 0
            while True:
                if number >= gate.open_count:
                    gate.wait(number)
                task = queue.get()
                if task is None:
                    return
                _limit_threads(stack, tasks)
                tasks += 1
                task.run(runner)
                del task  # release the result while waiting for the next task
    finally:
        if gate.remove_worker():
            runner.close()
