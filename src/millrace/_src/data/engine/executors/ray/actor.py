"""Ray actor that loads the runner once and processes chunks on its node.

Chunks and results are in Millrace's encoding (``data/engine/transport/scatter_gather.py``), errors and reports are
bytes; Ray carries them without interpreting them.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError, PlanError
from millrace._src.core.log import collect_warnings
from millrace._src.core.machine.ray_cluster import missing_paths
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.optional import require
from millrace._src.core.random.rng import reseed_after_fork
from millrace._src.data.engine import thread_limits
from millrace._src.data.engine.executors.base import ChunkFunction
from millrace._src.data.engine.executors.worker_pool import worker_setup
from millrace._src.data.engine.executors.worker_pool.remote_traceback import pack_error
from millrace._src.data.engine.executors.worker_pool.serialization import WorkerPickle, flat_dumps
from millrace._src.data.engine.transport.chunk_codec import encode_chunk
from millrace._src.data.engine.transport.scatter_gather import decode_buffers, split_buffers

__all__ = ["ERROR", "RESULT", "MillraceWorker", "Message", "unreadable_path_error", "read_stack"]

RESULT, ERROR = range(2)

# Byte buffers and their start offsets.
Message = tuple[list[int], list[ByteArray]]

# Arrays inside the runner up to this size are copied for each worker, because a user function may write to them as to a
# buffer. Larger arrays are data: all workers of a node share one read-only copy.
MAX_PRIVATE_BYTES = 64 << 20


class MillraceWorker:
    """One worker. Ray runs it as an actor, so its methods run one after the other."""

    def __init__(self) -> None:
        self.runner: ChunkFunction | None = None
        self.objects = WorkerPickle()

    def load_runner(
        self, world: dict[str, Any], parts: list[ByteArray], paths: list[str], number: int
    ) -> dict[str, Any]:
        """Load the runner. Returns the location of this worker, and the error if loading failed."""
        location = describe_location()
        try:
            faulthandler.enable(file=2)
            collect_warnings()
            reseed_after_fork()
            worker_setup.merge_environment(world)
            thread_limits.limit_process_threads()
            missing = missing_paths(paths, None)
            if missing:
                raise unreadable_path_error(missing[0], location["node"])
            self.runner = worker_setup.unpickle_runner(
                [part if part.nbytes > MAX_PRIVATE_BYTES else part.copy() for part in parts]
            )
            self.runner.init_worker(number)
        except BaseException as error:
            return location | {"error": pack_error(_load_error(error, location["node"]), self.objects)}
        return location | {"error": None}

    def work(self, message: Message) -> tuple[int, list[int], list[ByteArray]]:
        """Process a chunk. Returns the result, or the error, as buffers that Ray copies into its store once each."""
        try:
            return RESULT, *self._work(*message)
        except BaseException as error:
            return ERROR, [0], [np.frombuffer(pack_error(error, self.objects), np.uint8)]

    def _work(self, starts: list[int], runs: list[ByteArray]) -> Message:
        assert self.runner is not None
        if not self.runner.leaves_input_unmodified:
            # the original stays in the store: if this worker is lost, another one must read the same rows
            runs = [run.copy() for run in runs]
        chunk, _ = decode_buffers(starts, runs, self.objects)
        result, report = self.runner(chunk)
        return split_buffers(encode_chunk(result, flat_dumps(self.objects, report), self.objects))

    def close(self) -> None:
        runner, self.runner = self.runner, None
        if runner is not None:
            runner.close()


def describe_location() -> dict[str, Any]:
    """A description of the node, its id, and where this process writes its stacks on request."""
    ray = require("ray", extra="ray", purpose="a worker of a Ray cluster")
    node = ray.get_runtime_context().get_node_id()
    stacks = os.memfd_create("millrace-stacks")
    faulthandler.register(signal.SIGURG, file=stacks, all_threads=True, chain=False)
    return {
        "node": f"{ray.util.get_node_ip_address()} ({node[:8]})",
        "node_id": node,
        "pid": os.getpid(),
        "stacks": stacks,
    }


def read_stack(pid: int, stacks: int) -> str:
    """The stacks of a worker's threads; runs on the worker's node."""
    path = f"/proc/{pid}/fd/{stacks}"
    before = os.path.getsize(path)
    os.kill(pid, signal.SIGURG)
    seen = before
    for _ in range(200):
        time.sleep(0.01)
        now = os.path.getsize(path)
        if now == seen > before:
            break
        seen = now
    with open(path, "rb") as file:
        file.seek(before)
        return file.read().decode(errors="replace")


def unreadable_path_error(path: str, node: str) -> DataError:
    return DataError(
        f"node {node} of the Ray cluster cannot open {path}: sources are opened on the nodes. Store the files where "
        "every node can open them under this name (a shared folder, object storage), or run on this machine with "
        "run_on('processes')",
        file=path,
        node=node,
    )


def _load_error(error: BaseException, node: str) -> BaseException:
    if isinstance(error, DataError):
        return error
    hint = ""
    if isinstance(error, ImportError):
        hint = (
            f" The module {error.name!r} cannot be imported on node {node}: install it there, give ray.init a "
            "runtime_env that brings it, or call cloudpickle.register_pickle_by_value(module)."
        )
    failed = PlanError(
        f"a Ray worker on node {node} cannot load the pipeline: {type(error).__name__}: {error}.{hint}"
    )
    failed.__cause__ = error
    return failed
