"""Graph execution: a step is captured for the first arguments of a signature and replayed afterwards."""

from __future__ import annotations

import dataclasses
import functools
import time
import warnings
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import torch

from millrace._src.core.errors import OperationError
from millrace._src.runtime.tensor.backend import execution_mode as modes

from .capture import GraphBreak, GraphCapture
from .program import Program
from .signature import flatten_arguments, flatten_results

__all__ = ["CaptureCache", "capture_cache_of", "run_graph"]

# Maximum number of captures of one function; further signatures run operation by operation.
MAX_CAPTURES = 64


class CachedProgram:
    """A captured program that is ready to run."""

    def __init__(
        self, program: Program, build: Callable[[list[torch.Tensor]], Any], pinned_objects: list[Any]
    ) -> None:
        self.program, self._build, self.pinned_objects = program, build, pinned_objects
        self._run: Callable[[list[torch.Tensor]], list[torch.Tensor]] = program
        self._settled = False

    def __call__(self, tensors: list[torch.Tensor]) -> Any:
        if not self._settled:
            self._settled = True
            if any(tensor.is_cuda for tensor in (*tensors, *self.program.external_tensors)):
                from .cuda_graph import capture_cuda_graph

                self._run = capture_cuda_graph(self.program, tensors)
        return self._build(self._run(tensors))


@dataclasses.dataclass
class CaptureCache:
    """The captures of one function or Cell, and statistics of its calls."""

    name: str
    entries: dict[Hashable, CachedProgram | GraphBreak] = dataclasses.field(default_factory=dict)
    recorded: int = 0
    replayed: int = 0
    eager_calls: int = 0
    seconds: float = 0.0
    generation: int = -1
    state: Hashable = None

    def graph_breaks(self) -> list[GraphBreak]:
        """The reasons of calls that run operation by operation."""
        return [entry for entry in self.entries.values() if isinstance(entry, GraphBreak)]


_caches: weakref.WeakKeyDictionary[Any, CaptureCache] = weakref.WeakKeyDictionary()


def capture_cache_of(owner: Any) -> CaptureCache:
    """The capture cache of a function or Cell."""
    cache = _caches.get(owner)
    if cache is None:
        name = getattr(owner, "__qualname__", None) or type(owner).__name__
        cache = _caches[owner] = CaptureCache(name.rpartition("<locals>.")[2])
    return cache


def all_capture_caches() -> list[CaptureCache]:
    return list(_caches.values())


def run_graph(owner: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function as a graph of its owner."""
    cache = capture_cache_of(owner)
    if cache.generation != modes.capture_version:
        key = getattr(owner, "capture_key", None)
        cache.state, cache.generation = (key() if key is not None else None), modes.capture_version
    flat = flatten_arguments(args, kwargs)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in flat.tensors):
        return function(*args, **kwargs)  # part of a larger step that is being differentiated
    signature = (flat.key, cache.state)
    entry = cache.entries.get(signature)
    if isinstance(entry, CachedProgram):
        cache.replayed += 1
        return entry(flat.tensors)
    if isinstance(entry, GraphBreak):
        cache.eager_calls += 1
        return function(*args, **kwargs)
    if len(cache.entries) >= MAX_CAPTURES:
        if getattr(owner, "_input_signature", None) is None:  # set_inputs declared changing shapes
            _warn_cache_full(cache.name)
        cache.eager_calls += 1
        return function(*args, **kwargs)
    return _capture(
        cache, signature, flat.tensors, flat.pinned_objects, functools.partial(function, *args, **kwargs)
    )


def _capture(
    cache: CaptureCache,
    signature: Hashable,
    tensors: list[torch.Tensor],
    pinned_objects: list[Any],
    call: Callable[[], Any],
) -> Any:
    began = time.perf_counter()
    recorder = GraphCapture(tensors)
    modes.thread_state.capturing = True
    try:
        with recorder:
            result = call()
    finally:
        modes.thread_state.capturing = False
    cache.recorded += 1
    if recorder.graph_break is None:
        results, build = flatten_results(result)
        program = Program(recorder, [recorder.slot_of(tensor) for tensor in results])
        cache.entries[signature] = CachedProgram(program, build, pinned_objects)
    else:
        cache.entries[signature] = recorder.graph_break
        _report_graph_break(cache.name, recorder.graph_break)
    cache.seconds += time.perf_counter() - began
    return result


def _report_graph_break(name: str, leaving: GraphBreak) -> None:
    text = (
        f"{name} runs operation by operation: Python reads {leaving.cause} at "
        f"{leaving.source_line or 'an unknown line'}, and what Python does with it cannot be captured. "
        "Use ops.where, ops.select or a masked sum instead"
    )
    if modes.raise_on_graph_break:
        raise OperationError(text + "; or set_context(jit_syntax_level=1 (LAX))")
    warnings.warn(text, UserWarning, stacklevel=4)


def _warn_cache_full(name: str) -> None:
    warnings.warn(
        f"{name} was called with more than {MAX_CAPTURES} combinations of shapes and values; further ones "
        "run operation by operation. "
        "Pad batches to a few sizes, and pass numbers that change as tensors",
        UserWarning,
        stacklevel=4,
    )


modes.graph_executor = run_graph
