"""A fixed set of threads with one shared queue. Threads come first: whatever releases the GIL runs here."""

from __future__ import annotations

import sys
import threading
import traceback
from queue import SimpleQueue

from millrace.core.chunk import Chunk
from millrace.engine import budget

from .base import Runner, Task

__all__ = ["ThreadExecutor"]


class ThreadExecutor:
    kind = "threads"

    def __init__(self, runner: Runner, workers: int, name: str = "millrace") -> None:
        self.runner = runner
        self.slots = workers
        self._queue: SimpleQueue[Task | None] = SimpleQueue()
        self._closed = False
        self._threads: list[threading.Thread] = []
        try:
            for i in range(workers):
                # the loop holds the queue and the runner, never the executor: dropping it can end the threads
                thread = threading.Thread(
                    target=_work, args=(self._queue, runner), name=f"{name}-{i}", daemon=True
                )
                thread.start()
                self._threads.append(thread)
        except RuntimeError as error:
            if not self._threads:
                raise budget.thread_limit_error(wanted=workers, started=0) from error
            budget.warn_fewer_threads(wanted=workers, started=len(self._threads))
            self.slots = len(self._threads)

    def submit(self, chunk: Chunk) -> Task:
        task = Task(chunk)
        self._queue.put(task)
        return task

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
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._threads.clear()
        self.runner.close()


def _work(queue: SimpleQueue[Task | None], runner: Runner) -> None:
    with budget.capped_libraries():
        while (task := queue.get()) is not None:
            task.run(runner)
            del task  # hold no result while waiting for the next
