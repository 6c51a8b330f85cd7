"""One thread of the parent and the worker it serves: send, wait, deliver; and start another when it dies."""

from __future__ import annotations

import threading
import time
from collections import deque
from queue import Empty

from millrace._src.core.errors import ResourceError, WorkerDiedError

from .pool import PendingTask, WorkerHandle, WorkerPool, WorkerResult, describe_rows

__all__ = ["WorkerSupervisor"]

# A second chunk lies ready in the worker's socket while it works on the first, unless another worker is idle. With very
# long chunks one may be soon, so it is done while chunks take less than this many seconds: more than the 40 ms they
# should take, or a worker would wait for each of them.
DEPTH = 2
SHORT_CHUNK_SECONDS = 0.1
# How often a wait looks whether the worker is dead without its line being cut.
LIVENESS_SECONDS = 5.0


class WorkerSupervisor:
    """``waiting`` is True while the thread has nothing to do."""

    def __init__(self, pool: WorkerPool, name: str, number: int) -> None:
        self.pool, self.name, self.number = pool, name, number
        self.waiting = False
        # it has brought a result
        self.has_result = False
        self.worker: WorkerHandle | None = pool.launcher.start(name, number)
        self._ready = False
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._in_flight: deque[PendingTask] = deque()
        self._chunk_seconds = SHORT_CHUNK_SECONDS  # of the last chunks, smoothed
        self._exiting = False

    def start(self) -> None:
        """Raises RuntimeError when the system gives no thread."""
        try:
            self.thread.start()
        except BaseException:
            worker, self.worker = self.worker, None
            if worker is not None:
                worker.reap()
            raise

    # ---- what other threads may call -----------------------------------------------------------------

    def request_exit(self) -> None:
        """The worker finishes what it has and ends."""
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
        """Its worker has work and has not brought a result yet, ever: it is still starting."""
        return not self.has_result and not (self.waiting and self.pool.queue.empty())

    def stack(self) -> str:
        """Where the worker is; the lock keeps its descriptors from being closed meanwhile."""
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
        except (OSError, ResourceError) as refused:  # no new worker can be started
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
        """Wait until the worker can work: it takes no chunk before. False when nobody waits for it any more."""
        while not self._ready:
            if self.worker is None or self.pool.closed or self.pool.failure is not None:
                return False
            self._ready = self.worker.ready(LIVENESS_SECONDS)
            if not self._ready and self.worker.ended():
                self._replace(head_ran=False)
        return True

    def _send_tasks(self) -> bool:
        """Give the worker what it may have; False when the executor is closing and nothing is left to do."""
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
            del job  # hold no result while waiting for the next
        return not self._exiting

    def _send(self, job: PendingTask) -> None:
        assert self.worker is not None
        assert job.task.chunk is not None
        try:
            copied = self.worker.encode(job.task.chunk)
        except Exception as error:  # the chunk's own fault, or no memory: the worker is not concerned
            job.task.finish(None, error)
            return
        self._in_flight.append(job)
        try:
            self.worker.send(copied)
        except OSError:
            self._replace(head_ran=len(self._in_flight) > 1)

    def _deliver_result(self) -> None:
        """Wait for the answer to the oldest chunk and hand it over."""
        assert self.worker is not None
        began = time.perf_counter()
        try:
            result = self._receive(self.worker)
        except (ResourceError, ValueError) as error:  # its memory cannot be mapped here: start afresh
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
        """The worker is dead. Its chunks go back to the queue, the one it had in hand marked, and another
        worker takes its place. Raises when none can be started.
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
            self._exiting = True  # all else is refused by whoever is left, or by put itself
            return
        fresh = pool.launcher.start(self.name, self.number)
        with pool.lock:
            self.worker = fresh
            if self._is_closing():  # it was asked before we had it
                fresh.close_input()

    def _is_closing(self) -> bool:
        return self.pool.closed  # another thread may have closed since the last look

    def _worker_died_error(self, job: PendingTask) -> WorkerDiedError:
        ends = job.deaths[0] if len(set(job.deaths)) == 1 else " and ".join(job.deaths)
        rows = describe_rows(job.task.chunk)
        ids = [] if job.task.chunk is None else [int(i) for i in job.task.chunk.ids[:8]]
        return WorkerDiedError(
            f"{len(job.deaths)} {self.pool.launcher.workers} running {self.pool.runner.describe()} on the same {rows} "
            f"(ids {', '.join(map(str, ids))}{' ...' if len(ids) == 8 else ''}) each {ends}"
        )

    def _retire(self) -> None:
        """Let the worker end in its own time; whoever closes the executor sees that this does not last."""
        worker = self.worker
        if worker is None:
            return
        worker.close_input()
        if self.pool.failure is not None and not self.pool.closed:
            worker.terminate()  # nobody may come to close
        try:
            while self._receive(worker) is not None:
                pass
        except (ResourceError, ValueError, OSError):
            pass
        with self.pool.lock:
            self.worker = None
        worker.reap()
