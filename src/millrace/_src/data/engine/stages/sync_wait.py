"""Synchronization stage for `sync_wait`: lets batches through as the training loop requests them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from millrace._src.core.errors import PlanError
from millrace._src.core.log import get_logger
from millrace._src.core.statistics import StageStats
from millrace._src.data.plan.nodes import order_ops as ops

from .base import Stage, StageOutput, State, UnaryStage
from .rebatch import RowBuffer
from .stage_registry import StageContext, register_stage

__all__ = ["SyncGate", "SyncWaitStage", "gates"]

log = get_logger(__name__)

# token of a SyncWait node -> its gate; the dataset that created the node keeps the gate alive
gates: WeakValueDictionary[str, SyncGate] = WeakValueDictionary()


class SyncGate:
    """Counts the batches let through; ``update`` lets more through and passes data to the user's callback."""

    def __init__(self, num_batch: int, callback: Callable[..., Any] | None) -> None:
        self.num_batch, self.callback = num_batch, callback
        self.allowed = num_batch
        self.off = False
        self._changed = threading.Condition()

    def reset(self) -> None:
        with self._changed:
            self.allowed, self.off = self.num_batch, False

    def update(self, batches: int | None, data: Any) -> None:
        with self._changed:
            self.allowed += self.num_batch if batches is None else batches
            if self.callback is not None:
                self.callback(data)
            self._changed.notify_all()

    def disable(self) -> None:
        with self._changed:
            self.off = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake waiting threads so that they check whether their run is still open."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout: float, check: Callable[[], None]) -> None:
        """Wait until a batch may pass; after the timeout the gate opens permanently, with a warning."""
        with self._changed:
            until = time.monotonic() + timeout
            while self.allowed <= 0 and not self.off:
                check()
                left = until - time.monotonic()
                if left <= 0:
                    log.warning(
                        "sync_wait timed out after %s seconds: no sync_update was called; continuing", timeout
                    )
                    self.off = True
                    return
                self._changed.wait(left)
            self.allowed -= 1


class SyncWaitStage(UnaryStage):
    """Passes the rows of one batch per update, so that the callback's data applies to exactly those rows."""

    def __init__(
        self, upstream: Stage, stats: StageStats, gate: SyncGate, batch_rows: int, timeout: float
    ) -> None:
        super().__init__(upstream, stats)
        self.rows = RowBuffer(upstream)
        self.gate, self.batch_rows, self.timeout = gate, batch_rows, timeout
        self._passed = 0
        gate.reset()

    def pull(self) -> StageOutput:
        signal = self.rows.fill(1)
        if signal is not None:
            self.rows.take_signal()
            self._passed = 0
            return signal
        if self._passed % self.batch_rows == 0:
            self.gate.wait(self.timeout, self.raise_if_interrupted)
        chunk = self.rows.take(min(self.rows.num_rows, self.batch_rows - self._passed % self.batch_rows))
        self._passed += len(chunk)
        return chunk

    def interrupt(self) -> None:
        super().interrupt()
        self.gate.wake()

    def is_ready(self) -> bool:
        return False  # whether a row may pass depends on the training loop

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self._passed = 0

    def state(self) -> State:
        return {"rows": self.rows.state(), "passed": self._passed}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self._passed = state["passed"]


@register_stage(ops.SyncWait)
def _sync_wait(context: StageContext) -> Stage:
    node = context.node
    gate = gates.get(node.gate_id)
    if gate is None:
        raise PlanError(
            f"sync_wait({node.condition_name!r}): the dataset that created this gate no longer exists"
        )
    return SyncWaitStage(
        context.upstream, context.stats, gate, node.batch_rows, context.settings.callback_timeout
    )
