"""Worker supervisor: parent thread that sends chunks to one worker, delivers its results, restarts it when it dies."""

from __future__ import annotations

import threading
import time
from collections import deque
from queue import Empty

from millrace._src.core.errors import ResourceError, WorkerDiedError

from .pool import PendingTask, WorkerHandle, WorkerPool, WorkerResult, describe_rows

__all__ = ["WorkerSupervisor"]

# A second chunk is queued in the worker's socket while the worker processes the first, unless another worker is idle.
# With long chunks another worker may become idle soon, so this is done only while chunks take less than this many
# seconds: more than the 40 ms that chunks should take, because otherwise a worker would wait for each of them.
DEPTH = 2
SHORT_CHUNK_SECONDS = 0.1
# Interval in seconds at which a wait checks whether the worker has died without closing its channel.
LIVENESS_SECONDS = 5.0


class WorkerSupervisor:
    """Supervises one worker. ``waiting`` is True while the thread is idle."""

    def __init__(self, pool: WorkerPool, name: str, number: int) -> None:
        self.pool, self.name, self.number = pool, name, number
        self.waiting = False
        # it has delivered a result
        self.has_result = False
        self.worker: WorkerHandle | None = pool.launcher.start(name, number)
        self._ready = False
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._in_flight: deque[PendingTask] = deque()
        self._chunk_seconds = SHORT_CHUNK_SECONDS  # of the last chunks, smoothed
        self._exiting = False

    def start(self) -> None:
        """Start the thread. RuntimeError if the system refuses."""
        try:
            self.thread.start()
        except BaseException:
            worker, self.worker = self.worker, None
            if worker is not None:
                worker.reap()
            raise

    # ---- called by other threads ---------------------------------------------------------------------

    def request_exit(self) -> None:
        """Request the worker to exit after its pending chunks."""
        with self.pool.lock:
            if self.worker is not None:
                self.worker.close_input()

    def terminate(self) -> None:
        with self.pool.lock:
            if self.worker is not None:
                self.worker.terminate()

    def kill(self) -> None:
        with self.pool.lock:
            if self.worker is not None:
                self.worker.kill()

    def cut(self) -> None:
        with self.pool.lock:
            if self.worker is not None:
                self.worker.interrupt()

    @property
    def is_starting(self) -> bool:
        """Whether the worker is still starting: it has work and has never delivered a result."""
        return not self.has_result and not (self.waiting and self.pool.queue.empty())

    def stack(self) -> str:
        """The worker's stack; the lock keeps its descriptors open meanwhile."""
        with self.pool.lock:
            if self.worker is None:
                return ""
            try:
                task = self._in_flight[0].task if self._in_flight else None
            except IndexError:
                task = None
            doing = "waiting for work" if task is None else f"working on {describe_rows(task.chunk)}"
            return f"{self.name} ({self.worker.location}), {doing}:\n{self.worker.stack()}"

    # ---- the thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            while self._wait_until_ready() and (self._send_tasks() or self._in_flight):
                if self._in_flight:
                    self._deliver_result()
        except (OSError, ResourceError) as refused:  # no replacement can be started
            error = refused
        except BaseException as bug:  # never leave a task without an outcome
            self.pool.fail(bug)
        finally:
            for job in self._in_flight:
                self.pool.put(job)
            self._in_flight.clear()
            self._retire()
            self.pool.remove_supervisor(self, error)

    def _wait_until_ready(self) -> bool:
        """Wait until the worker is ready: no chunk is taken before. False when the pool was closed or has failed."""
        while not self._ready:
            if self.worker is None or self.pool.closed or self.pool.failure is not None:
                return False
            self._ready = self.worker.ready(LIVENESS_SECONDS)
            if not self._ready and self.worker.ended():
                self._replace(head_ran=False)
        return True

    def _send_tasks(self) -> bool:
        """Send tasks to the worker up to its queue depth; False when the executor is closing and nothing is left."""
        while self._ready and len(self._in_flight) < DEPTH and not self._exiting:
            if not self._in_flight:
                self.waiting = True
                job = self.pool.queue.get()
                self.waiting = False
            elif self._chunk_seconds > SHORT_CHUNK_SECONDS or self.pool.has_idle_worker():
                break
            else:
                try:
                    job = self.pool.queue.get_nowait()
                except Empty:
                    break
            if job is None:
                self._exiting = self.pool.confirm_exit(self)
            elif self.pool.closed or self.pool.failure is not None:
                self.pool.refuse(job)
            elif job.task.cancelled:
                job.task.finish(None)
            else:
                self._send(job)
            del job  # release the result while waiting for the next task
        return not self._exiting

    def _send(self, job: PendingTask) -> None:
        assert self.worker is not None
        assert job.task.chunk is not None
        try:
            copied = self.worker.encode(job.task.chunk)
        except Exception as error:  # caused by the chunk, or out of memory: the worker is not affected
            job.task.finish(None, error)
            return
        self._in_flight.append(job)
        try:
            self.worker.send(copied)
        except OSError:
            self._replace(head_ran=len(self._in_flight) > 1)

    def _deliver_result(self) -> None:
        """Wait for the result of the oldest chunk and deliver it."""
        assert self.worker is not None
        began = time.perf_counter()
        try:
            result = self._receive(self.worker)
        except (ResourceError, ValueError) as error:  # its memory cannot be mapped here: restart it
            self._in_flight.popleft().task.finish(None, error)
            self._replace(head_ran=False)
            return
        if result is None:
            self._replace(head_ran=True)
            return
        self._chunk_seconds += 0.25 * (time.perf_counter() - began - self._chunk_seconds)
        if result.unloadable:
            assert result.error is not None
            self.pool.fail(result.error)
            self._replace(head_ran=False)
            return
        task = self._in_flight.popleft().task
        self.pool.reset_deaths()
        self.has_result = True
        task.finish(result.result, result.error)

    def _receive(self, worker: WorkerHandle) -> WorkerResult | None:
        while True:
            try:
                return worker.receive(LIVENESS_SECONDS)
            except TimeoutError:
                if worker.ended():
                    return None

    def _replace(self, *, head_ran: bool) -> None:
        """Replace a dead worker. Raises if none can be started.

        Its chunks return to the queue; the death is recorded for the chunk that it was processing.
        """
        assert self.worker is not None
        pool = self.pool
        with pool.lock:
            worker, self.worker = self.worker, None
        self._ready = False
        known, death = worker.reap()
        jobs = list(self._in_flight)
        self._in_flight.clear()
        if jobs and head_ran and known and not pool.closed:
            head = jobs[0]
            head.deaths.append(death)
            if len(head.deaths) >= pool.launcher.max_worker_deaths:
                head.task.finish(None, self._worker_died_error(head))
                jobs.pop(0)
        for job in jobs:
            pool.put(job)
        if pool.closed:
            self._exiting = True
            return
        pool.record_worker_death(death)
        if pool.failure is not None:
            self._exiting = True  # the remaining tasks are failed by other supervisors or by put()
            return
        fresh = pool.launcher.start(self.name, self.number)
        with pool.lock:
            self.worker = fresh
            if self._is_closing():  # exit was requested while it was starting
                fresh.close_input()

    def _is_closing(self) -> bool:
        return self.pool.closed  # another thread may have closed it in the meantime

    def _worker_died_error(self, job: PendingTask) -> WorkerDiedError:
        ends = job.deaths[0] if len(set(job.deaths)) == 1 else " and ".join(job.deaths)
        rows = describe_rows(job.task.chunk)
        ids = [] if job.task.chunk is None else [int(i) for i in job.task.chunk.ids[:8]]
        return WorkerDiedError(
            f"{len(job.deaths)} {self.pool.launcher.workers} running {self.pool.runner.describe()} on the same {rows} "
            f"(ids {', '.join(map(str, ids))}{' ...' if len(ids) == 8 else ''}) each {ends}"
        )

    def _retire(self) -> None:
        """Let the worker finish; the thread that closes the executor limits how long this takes."""
        worker = self.worker
        if worker is None:
            return
        worker.close_input()
        if self.pool.failure is not None and not self.pool.closed:
            worker.terminate()  # close() may never be called
        try:
            while self._receive(worker) is not None:
                pass
        except (ResourceError, ValueError, OSError):
            pass
        with self.pool.lock:
            self.worker = None
        worker.reap()
