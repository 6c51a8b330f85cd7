"""Ray launcher: starts actors for a segment and detects lost actors and nodes."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from millrace._src.core.errors import ResourceError
from millrace._src.core.log import get_logger
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.base import ChunkFunction
from millrace._src.data.engine.executors.worker_pool import worker_setup
from millrace._src.data.engine.executors.worker_pool.pool import WorkerResult
from millrace._src.data.engine.executors.worker_pool.remote_traceback import unpack_error
from millrace._src.data.engine.executors.worker_pool.serialization import PickleByValue, flat_loads
from millrace._src.data.engine.transport.chunk_codec import encode_chunk
from millrace._src.data.engine.transport.scatter_gather import decode_buffers, split_buffers

from .actor import RESULT, Message, MillraceWorker, read_stack
from .cluster import RayCluster

__all__ = ["RayLauncher", "RayWorker"]

log = get_logger(__name__)

# Seconds that a worker waits for a CPU before one is started without a CPU claim.
CPU_WAIT_SECONDS = 20.0


class RayLauncher:
    """Starts actors for one runner. The runner is stored once in the object store, for all of them."""

    workers = "Ray workers"
    max_worker_deaths = 3

    def __init__(self, runner: ChunkFunction, instance: RayCluster, workers: int, cpus: float) -> None:
        self.instance = instance
        self._cpus = cpus
        # CPUs that each worker claims
        self._claims: dict[int, float] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._started_count = 0
        try:
            parts = [np.frombuffer(part, np.uint8) for part in worker_setup.pickle_runner(runner)]
            self._paths = runner.paths()
            instance.check(self._paths)
            self._environment = worker_setup.capture_environment() | {"environ": {}}
            self._setup_ref = instance.ray.put(parts)
            self._make = instance.ray.remote(MillraceWorker)
            self._claims = dict(enumerate(instance.claim(workers, cpus)))
        except BaseException:
            self.close()
            raise

    @property
    def slots(self) -> int:
        return len(self._claims)

    def start(self, name: str, number: int) -> RayWorker:
        ray = self.instance.ray
        if not ray.is_initialized():
            raise ResourceError("ray.shutdown() was called while a pipeline ran on Ray")
        if number not in self._claims:  # beyond the initial number of workers
            self._claims[number] = self.instance.claim(1, self._cpus, must=False)[0]
        actor = self._make.options(
            num_cpus=self._claims[number],
            scheduling_strategy="SPREAD",
            max_restarts=0,
            max_task_retries=0,
        ).remote()
        info_ref = actor.load_runner.remote(self._environment, self._setup_ref, self._paths, number)
        return RayWorker(self, actor, info_ref, number)

    def retired(self, number: int) -> None:
        with self._lock:
            if not self._closed:
                self.instance.give_back(self._claims.pop(number, 0.0))

    def record_start(self) -> None:
        with self._lock:
            self._started_count += 1

    def drop_cpu_claim(self, number: int) -> bool:
        """Drop the CPU claim of worker 0 if no worker has started yet; it then runs without a CPU claim."""
        with self._lock:
            if self._started_count or number != 0 or not self._claims[number]:
                return False
            self.instance.give_back(self._claims[number])
            self._claims[number] = 0.0
        log.warning(
            "no CPU of the Ray cluster at %s became free in %g s: one worker continues without a CPU claim",
            self.instance.address,
            CPU_WAIT_SECONDS,
        )
        return True

    def refused(self, wanted: int, started: int, error: BaseException) -> ResourceError:
        return ResourceError(f"cannot start Ray workers: wanted {wanted}, started {started}: {error}")

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._setup_ref = None
            self.instance.give_back(sum(self._claims.values()))
        self.instance.release()


class RayWorker:
    """Handle on one actor, which may still be waiting for a node."""

    def __init__(self, launcher: RayLauncher, actor: Any, info_ref: Any, number: int) -> None:
        self._launcher, self._instance, self._ray = launcher, launcher.instance, launcher.instance.ray
        self._actor, self._info_ref, self._number = actor, info_ref, number
        self._in_flight: deque[Any] = deque()
        self._worker_info: dict[str, Any] = {}
        self._objects = PickleByValue()
        self._waited = 0.0
        self._close_ref: Any = None
        self._end_reason: str | None = None
        self._interrupted = False
        self.location = "waiting for a CPU of the cluster"

    def ready(self, timeout: float) -> bool:
        try:
            self._worker_info = self._get(self._info_ref, timeout)
        except TimeoutError:
            self._waited += timeout
            if self._waited >= CPU_WAIT_SECONDS and self._launcher.drop_cpu_claim(self._number):
                self._end_reason = "waited for a CPU"
            return False
        if not self._worker_info:
            return False
        self.location = f"process {self._worker_info['pid']} on node {self._worker_info['node']}"
        self._launcher.record_start()
        return True

    def _get(self, ref: Any, timeout: float) -> Any:
        """The actor's result; None when it is lost, with the reason stored."""
        errors = self._ray.exceptions
        if not self._ray.is_initialized():
            self._end_reason = self._end_reason or "ended with ray.shutdown()"
            return None
        try:
            return self._ray.get(ref, timeout=timeout)
        except errors.GetTimeoutError:
            raise TimeoutError from None
        except errors.RayTaskError as error:  # raised by Millrace's code on the node, or by Ray around it
            raise ValueError(f"a Ray worker on {self.location} failed: {error}") from error
        except errors.RayError as error:
            self._end_reason = self._end_reason or self._describe_loss(error)
            return None

    def _describe_loss(self, error: BaseException) -> str:
        node = self._worker_info.get("node")
        if node is None:
            return f"was lost before it had a node ({_first_line(error)})"
        if not self._instance.node_lives(self._worker_info["node_id"]):
            return f"was lost with its node {node}"
        return f"died on node {node} ({_first_line(error)})"

    def encode(self, chunk: Chunk) -> Message:
        return split_buffers(encode_chunk(chunk, b"", self._objects))

    def send(self, copied: Message) -> None:
        try:
            self._in_flight.append(self._actor.work.remote(copied))
        except self._ray.exceptions.RayError as error:
            self._end_reason = self._end_reason or self._describe_loss(error)
            raise BrokenPipeError(str(error)) from error

    def receive(self, timeout: float) -> WorkerResult | None:
        if self._worker_info.get("error") is not None:
            return WorkerResult(
                None, unpack_error(self._worker_info.pop("error"), self._objects), unloadable=True
            )
        if self._end_reason is not None or self._interrupted:
            return None
        if not self._in_flight:
            if self._close_ref is not None:
                self._get(self._close_ref, timeout)
            return None
        message = self._get(self._in_flight[0], timeout)
        if message is None:
            return None
        self._in_flight.popleft()
        status, starts, runs = message
        del message
        try:
            if status == RESULT:
                runs = [self._instance.store.writable_view(run) for run in runs]
                chunk, extra = decode_buffers(starts, runs, self._objects)
                return WorkerResult((chunk, flat_loads(self._objects, extra)))
            return WorkerResult(None, unpack_error(runs[0], self._objects))
        except Exception as error:
            return WorkerResult(None, error)

    def ended(self) -> bool:
        return self._end_reason is not None or self._interrupted

    def close_input(self) -> None:
        if (
            self._close_ref is None
            and self._end_reason is None
            and self._worker_info
            and self._ray.is_initialized()
        ):
            self._close_ref = self._actor.close.remote()
        elif not self._worker_info:
            self.kill()

    def terminate(self) -> None:
        self.kill()

    def kill(self) -> None:
        if self._ray.is_initialized():
            self._ray.kill(self._actor, no_restart=True)

    def interrupt(self) -> None:
        self._interrupted = True

    def reap(self) -> tuple[bool, str]:
        self.kill()
        self._in_flight.clear()
        return self._end_reason is not None, self._end_reason or "vanished"

    def stack(self) -> str:
        if not self._worker_info:
            return "  (not started)\n"
        stack_task = self._instance.on_node(
            read_stack, self._worker_info["node_id"], name="millrace: read worker stacks"
        )
        try:
            text: str = self._ray.get(
                stack_task.remote(self._worker_info["pid"], self._worker_info["stacks"]), timeout=10
            )
        except self._ray.exceptions.RayError as error:
            return f"  (no response: {_first_line(error)})\n"
        return text or "  (no response: starting, stopped, or blocked in the kernel)\n"


def _first_line(error: BaseException) -> str:
    """Ray's error in one line. The first line of the error is generic; a later line states the reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    why = next((line for line in lines if line.startswith("The actor died") or "exit" in line.lower()), None)
    return (why or (lines[0] if lines else type(error).__name__))[:200]
