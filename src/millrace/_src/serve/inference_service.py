"""Inference service of all protocols: models, versions, and the execution of requests."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from millrace._src.core.errors import ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.machine.cores import available_cores

from .batching import Batcher
from .batching_decision import decide_batching
from .config import Config
from .limits import MAX_TURNS, ByteBudget, Lease
from .metrics import Metrics
from .repository import find_versions
from .servable import LoadedModel
from .tensor_codec import Array
from .thread_offload import Converters, Turns, offload

__all__ = ["InferenceService", "ModelVersion"]

log = get_logger(__name__)

T = TypeVar("T")


class ModelVersion:
    """One loaded version of a model."""

    __slots__ = ("inputs", "loaded", "model", "number", "outputs", "seen", "takes_bytes")

    def __init__(
        self, model: str, number: int, loaded: LoadedModel, seen: Callable[[int, int, float], None]
    ) -> None:
        self.model, self.number, self.loaded, self.seen = model, number, loaded, seen
        self.inputs, self.outputs = loaded.inputs, loaded.outputs
        # whether an input has datatype BYTES, which takes time to decode
        self.takes_bytes = any(spec.datatype == "BYTES" for spec in self.inputs)


class InferenceService:
    """The models of a server. Its methods belong to one event loop; `close` stops its threads."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.models: dict[str, dict[int, ModelVersion]] = {}
        # draining: requests are still served, readiness is off; stopping: requests are refused
        self.draining = self.stopping = False
        self._batcher = Batcher(config.max_queue, config.timeout, config.workers)
        self.metrics = Metrics(lambda: self._batcher.waiting)
        # transforms run in parallel with the model; models are loaded in a separate thread
        self._rows = ThreadPoolExecutor(max(1, available_cores() - 1), thread_name_prefix="millrace-rows")
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="millrace-load")
        self._converters = Converters()
        self.turns = Turns(MAX_TURNS)
        self.bodies = ByteBudget(config.body_budget, "request bodies")
        self.responses = ByteBudget(config.response_budget, "responses")
        self._wait = None if config.max_wait_ms is None else config.max_wait_ms / 1000
        shared = available_cores() // config.workers if config.workers > 1 else 0
        self._threads = config.threads or (max(1, shared) if config.workers > 1 else 0)

    async def start(self) -> None:
        """Load every model; a failed load aborts the start. A second call has no effect."""
        if self.models:
            return
        self._batcher.start()
        self._converters.start()
        if self._threads:
            import torch

            torch.set_num_threads(self._threads)
        for name in self.config.models:
            await self.reload(name)

    @property
    def ready(self) -> bool:
        """Whether the server is ready for requests."""
        return not self.draining and len(self.models) == len(self.config.models)

    @property
    def is_live(self) -> bool:
        """Whether the worker threads are running."""
        return self._batcher.is_alive

    def close(self) -> None:
        """Compute the waiting requests, then stop the threads."""
        self.draining = self.stopping = True
        self._batcher.close()
        self._rows.shutdown()
        self._converters.close()
        self._loader.shutdown()

    # --- models -----------------------------------------------------------------------------------------

    async def reload(self, name: str) -> list[int]:
        """Reload the versions of a model while the current ones serve, then replace them.

        Running requests finish on the version that they started with; no request waits for the load.
        """
        if name not in self.config.models:
            raise self._unknown(name)
        loop = asyncio.get_running_loop()
        try:
            versions = await loop.run_in_executor(self._loader, self._load, name)
        except Exception:
            self.metrics.loaded(name, False)
            raise
        self.models[name] = versions
        self.metrics.loaded(name, True)
        log.info("model '%s' serves with versions %s", name, sorted(versions))
        return sorted(versions)

    def _load(self, name: str) -> dict[int, ModelVersion]:
        versions = {}
        for number, source in find_versions(self.config.models[name]).items():
            loaded = source.load(self._threads, self.config.runtime)
            loaded.batching = decide_batching(
                name, loaded.runner, loaded.takes_rows, self.config.batching, self.config.max_batch
            )
            versions[number] = ModelVersion(name, number, loaded, self.metrics.batch(name, str(number)))
        return versions

    def find(self, name: str, version: str | int = "") -> ModelVersion:
        """Find a version of a model; the highest if none is named."""
        versions = self.models.get(name)
        if versions is None:
            raise self._unknown(name)
        if version in ("", 0):
            return versions[max(versions)]
        model_version = (
            versions.get(int(version)) if str(version).isdecimal() and len(str(version)) < 19 else None
        )
        if model_version is None:
            known = ", ".join(map(str, sorted(versions)))
            raise ServeError(f"model '{name}' has no version {str(version)[:40]!r}; there are {known}", 404)
        return model_version

    def _unknown(self, name: str) -> ServeError:
        if name in self.config.models:
            return ServeError(f"model '{name}' is not loaded yet", 503)
        return ServeError(f"there is no model {name[:80]!r}; there are {', '.join(self.config.models)}", 404)

    # --- requests ---------------------------------------------------------------------------------------

    async def infer(self, version: ModelVersion, arrays: list[Array]) -> list[Array]:
        """Compute the outputs of a version for checked arrays in the order of its inputs."""
        if self.stopping:
            raise ServeError("the server is stopping", 503)
        loaded = version.loaded
        rows = self._rows_of(version, arrays)
        if loaded.pre:
            arrays = await offload(self._rows, functools.partial(loaded.preprocess, arrays))
        if loaded.batching.on:
            key = (id(loaded), *((each.shape[1:], each.dtype) for each in arrays))
            most, wait = self.config.max_batch, self._wait
        else:
            key, most, wait = (id(loaded), id(arrays)), 1, 0.0
        outputs = await self._batcher.submit(key, loaded.runner.run, arrays, rows, most, wait, version.seen)
        if loaded.post:
            outputs = await offload(self._rows, functools.partial(loaded.postprocess, outputs))
        return outputs

    async def convert(self, size: int, call: Callable[[], T]) -> T:
        """Decode or encode `size` bytes: in the event loop, or in a thread if they are many."""
        return await self._converters.run(size, call)

    def lease_response(self, size: int) -> Lease:
        """Reserve the bytes of a response before it is encoded."""
        if size > self.config.max_response:
            raise self.too_large(size)
        return self.responses.lease(size)

    def too_large(self, size: int) -> ServeError:
        """The error of a response that is larger than the limit."""
        return ServeError(
            f"the response: expected at most {self.config.max_response} bytes, got up to {size}. "
            "Request fewer rows or outputs, or binary tensors",
            413,
        )

    def _rows_of(self, version: ModelVersion, arrays: Sequence[Array]) -> int:
        if not version.loaded.takes_rows:
            return 1
        row_counts = {spec.name: len(each) for spec, each in zip(version.inputs, arrays, strict=True)}
        if len(set(row_counts.values())) > 1:
            raise ServeError(f"the inputs have different numbers of rows: {row_counts}")
        rows = next(iter(row_counts.values()))
        if rows == 0:
            raise ServeError("the request has no rows: the first length of its inputs is 0")
        return rows

    def record_request(self, version: ModelVersion | None, protocol: str, status: int, began: float) -> None:
        """Count a request; without a known model it is counted without a name."""
        model, number = ("", "") if version is None else (version.model, str(version.number))
        self.metrics.request(model, number, protocol, status, time.perf_counter() - began)


def select_outputs(outputs: Sequence[Any], wanted: Sequence[str]) -> list[int]:
    """Indexes of the requested outputs; of all outputs if the request names none."""
    names = [spec.name for spec in outputs]
    if not wanted:
        return list(range(len(names)))
    indexes: list[int] = []
    for name in wanted:
        if name not in names:
            raise ServeError(f"there is no output {name[:80]!r}; there are {', '.join(names)}")
        index = names.index(name)
        if index in indexes:
            raise ServeError(
                f"outputs: expected each output once, got {name[:80]!r} twice. Remove one of them"
            )
        indexes.append(index)
    return indexes
