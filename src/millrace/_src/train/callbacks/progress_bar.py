"""Progress bar of a training on a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from millrace._src.core.values.tensor import Tensor

from .callback import Callback, RunContext
from .monitored_value import loss_of

__all__ = ["LiveValueReader", "ProgressBar", "should_show_progress"]

# Seconds between updates: each reads the loss, which synchronizes the device.
EVERY = 0.5


def should_show_progress(callbacks: list[Callback]) -> bool:
    """Whether to show a progress bar: on a terminal, unless a callback prints steps."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    return watched and not any(getattr(each, "prints_steps", False) for each in callbacks)


class ProgressBar(Callback):
    """Epoch, step, rate, loss, and the share of the time in which steps waited for data."""

    def __init__(self, stream: Any = None, every: float = EVERY) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._every = every
        self._last_update = self._since = 0.0
        self._steps = 0
        self._waited = 0.0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._restart(run_context, time.perf_counter())

    def on_train_step_end(self, run_context: RunContext) -> None:
        now = time.perf_counter()
        if now - self._last_update < self._every:
            return
        self._stream.write("\r\x1b[2K" + self.text(run_context, now))
        self._stream.flush()
        self._last_update = now
        if now - self._since > 10 * self._every:  # the rate covers the last seconds only
            self._restart(run_context, now)

    def _restart(self, run_context: RunContext, now: float) -> None:
        params = run_context.original_args()
        self._since, self._steps = now, params.cur_step_num
        self._waited = params.training.feed.wait_seconds

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self._clear()

    def on_train_end(self, run_context: RunContext) -> None:
        self._clear()

    def _clear(self) -> None:
        self._stream.write("\r\x1b[2K")
        self._stream.flush()
        self._last_update = 0.0

    def text(self, run_context: RunContext, now: float) -> str:
        """The current line."""
        params = run_context.original_args()
        took = max(now - self._since, 1e-9)
        step = (params.cur_step_num - 1) % params.batch_num + 1
        share = min(1.0, (params.training.feed.wait_seconds - self._waited) / took)
        return (
            f"epoch {params.cur_epoch_num}/{params.cur_epoch_num - params.training.epoch + params.epoch_num - 1}"
            f"  step {step}/{params.batch_num}  {(params.cur_step_num - self._steps) / took:.1f} steps/s"
            f"  loss {loss_text(params.net_outputs)}  waited for data {share:.0%}"
        )


class LiveValueReader(Callback):
    """Reads loss and learning rate for live displays twice a second, since reading synchronizes the device."""

    def __init__(self, every: float = EVERY) -> None:
        self._every, self._read = every, 0.0

    def on_train_step_end(self, run_context: RunContext) -> None:
        now = time.perf_counter()
        if now - self._read >= self._every:
            self._read = now
            self._look(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        self._look(run_context)  # final values

    def _look(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        params.training.loss = _loss_of(params.get("net_outputs"))
        params.training.learning_rate = _rate_of(params.get("optimizer"))


def _loss_of(outputs: Any) -> float | None:
    """The loss as a number; None for other outputs."""
    loss = loss_of(outputs)
    try:
        return None if loss is None else float(np.mean(loss))
    except (TypeError, ValueError):
        return None


def _rate_of(optimizer: Any) -> float | None:
    """The learning rate of the next step, the first of several; None if unknown."""
    rate = optimizer.get_lr() if hasattr(optimizer, "get_lr") else None
    if isinstance(rate, (tuple, list)):
        rate = rate[0] if rate else None
    return float(rate.asnumpy().item()) if isinstance(rate, Tensor) and rate.size == 1 else None


def loss_text(outputs: Any) -> str:
    """A loss as text; reading it synchronizes the device."""
    first = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    if not isinstance(first, Tensor):
        return "-"
    return f"{float(first.asnumpy().mean()):.4g}"
