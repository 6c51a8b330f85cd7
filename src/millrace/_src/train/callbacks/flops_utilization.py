"""``FlopsUtilizationCollector``: utilization of the hardware's peak FLOPS."""

from __future__ import annotations

import time
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_bool, check_positive_int

from .callback import Callback, RunContext

__all__ = ["FlopsUtilizationCollector"]


@public("train", "millrace")
class FlopsUtilizationCollector(Callback):
    """Prints the floating-point operations of a step, their rate, and the share of the peak every `data_size` steps.

    `computility` is the peak performance of the hardware in TFLOPS. Operations (matrix products, convolutions,
    attention, forward and backward) are counted once, in the first step. `full_flops` and `enable_ma_collector` are
    accepted and ignored: there is one device, and recomputation is counted.

    >>> FlopsUtilizationCollector(100, computility=60).computility
    60
    """

    def __init__(
        self,
        data_size: int,
        computility: float = 1,
        full_flops: bool = True,
        enable_ma_collector: bool = False,
    ) -> None:
        owner = "FlopsUtilizationCollector"
        self.step_size = check_positive_int(data_size, "data_size", owner)
        check_argument_type(computility, "computility", owner, int, float)
        if computility <= 0:
            raise ArgumentValueError(f"For '{owner}', 'computility' must be above 0, but got {computility}.")
        self.computility = computility
        self.full_flops = check_bool(full_flops, "full_flops", owner)
        self.enable_ma_collector = check_bool(enable_ma_collector, "enable_ma_collector", owner)
        # FLOPs of one step; None before the first step
        self.flops: int | None = None
        self._counter: Any = None
        self._began, self._steps = 0.0, 0

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Count the first step."""
        if self.flops is None:
            from torch.utils.flop_counter import FlopCounterMode

            self._counter = FlopCounterMode(display=False)
            self._counter.__enter__()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Print if it is due."""
        if self._counter is not None:
            self._counter.__exit__(None, None, None)
            self.flops, self._counter = int(self._counter.get_total_flops()), None
            self._began, self._steps = time.perf_counter(), 0
            return
        self._steps += 1
        if self._steps < self.step_size or self.flops is None:
            return
        took = time.perf_counter() - self._began
        rate = self.flops * self._steps / took / 1e12
        print(  # noqa: T201
            f"model flops of a step: {self.flops}, {rate:.6g} TFLOPS, utilization {rate / self.computility:.4%}",
            flush=True,
        )
        self._began, self._steps = time.perf_counter(), 0

    def __exit__(self, *err: object) -> None:
        if self._counter is not None:  # the first step failed
            self._counter.__exit__(None, None, None)
            self._counter = None
