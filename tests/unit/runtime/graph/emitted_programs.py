"""Programs that the exporter emits: of the networks of the zoo, the cases of layers and the samples of operations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

import millrace
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.graph.capture import GraphCapture
from millrace._src.runtime.graph.program_export import UNINITIALISED, qualified_name
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.storage import unwrap_all
from tests.contracts.ops.sample_cases import cases, operations, tensor
from tests.contracts.ops.test_modes import arrays, function_of
from tests.e2e.networks.families import nets
from tests.parity.runtime.nn.layers import cases as layer_cases
from tests.parity.runtime.nn.layers import families
from tests.parity.runtime.nn.run_case import fill, live


class Emitter(NamedTuple):
    """Something that computes when it predicts: a function without arguments, and the tensors that are its inputs."""

    name: str
    call: Callable[[], Any]
    inputs: list[Tensor]


def zoo() -> Iterator[Emitter]:
    for name, case in nets().items():
        cell = case.build(millrace)
        fill(cell, millrace.Tensor)
        cell.set_train(False)
        batch = [millrace.Tensor(array.copy()) for array in case.batch]
        yield Emitter(f"zoo: {name}", lambda cell=cell, batch=batch: cell(*batch), batch)


def layers() -> Iterator[Emitter]:
    for family in families():
        for name, case in layer_cases(family).items():
            try:
                cell = case.build(millrace)
                cell.set_train(False)
                args = [live(millrace, value) for value in case.args]
            except Exception:  # a case of wrong arguments
                continue
            inputs = [value for value in args if isinstance(value, Tensor)]
            yield Emitter(f"{family}.{name}", lambda cell=cell, args=args: cell(*args), inputs)


def samples(every: int = 1) -> Iterator[Emitter]:
    """Samples of operations: all of them, or one in `every`."""
    chosen = (case for spec in operations() for case in cases(spec) if not case.sample.fails)
    for number, case in enumerate(chosen):
        if number % every:
            continue
        try:
            inputs = [tensor(array) for array in arrays([case.args, case.kwargs])]
        except Exception:  # a sample of wrong arguments
            continue
        function = function_of(case)
        yield Emitter(case.name, lambda function=function, inputs=inputs: function(*inputs), inputs)


def raw(value: Any) -> Any:
    """Results as tensors of PyTorch."""
    return value._torch if isinstance(value, Tensor) else unwrap_all(value)


def in_recording(action: Callable[[], Any]) -> Any:
    """Run something as the exporter does."""
    mode = modes.mode
    modes.set_mode(modes.PYNATIVE_MODE)
    modes.thread_state.capturing = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()
    finally:
        modes.thread_state.capturing = False
        modes.set_mode(mode)


def emitted_names(emitter: Emitter) -> set[str] | None:
    """The operators that it calls; None where it cannot be exported for another reason than an operator."""
    recorder = GraphCapture([given._torch for given in emitter.inputs])

    def record() -> Any:
        with torch.no_grad(), recorder:
            return raw(emitter.call())

    try:
        in_recording(record)
    except Exception:  # a sample of wrong arguments
        return None
    if recorder.graph_break is not None:
        return None
    names = {qualified_name(call.func) for call in recorder.calls}
    return {qualified_name(UNINITIALISED[name]) if name in UNINITIALISED else name for name in names}
