"""Callbacks of ``map``: user code that runs when epochs and rows begin and end, and may wait for training."""

from __future__ import annotations

import dataclasses
import threading
from typing import Annotated, Any, ClassVar

from millrace._src.core.args import INT32_MAX, Range, checked
from millrace._src.core.errors import StallError
from millrace._src.core.public import public
from millrace._src.core.settings import current

__all__ = ["CallbackParam", "DSCallback", "WaitedDSCallback"]


@dataclasses.dataclass(frozen=True, slots=True)
class CallbackParam:
    """The position of a map. Epochs and steps count from 1; a step is a row of the map.

    >>> CallbackParam(1, 3, 3).cur_step_num
    3
    """

    cur_epoch_num: int
    cur_step_num: int
    cur_step_num_in_epoch: int


@public("dataset")
class DSCallback:
    """Base of the callbacks of a map: override the methods that you need.

    ``ds_step_begin`` and ``ds_step_end`` run for every ``step_size``-th row of an epoch, from the first on.

    >>> class Count(DSCallback):
    ...     def ds_step_begin(self, ds_run_context):
    ...         print("row", ds_run_context.cur_step_num)
    >>> Count().ds_step_begin(CallbackParam(1, 1, 1))
    row 1
    """

    _HOOKS: ClassVar[tuple[str, ...]] = (
        "ds_begin",
        "ds_epoch_begin",
        "ds_epoch_end",
        "ds_step_begin",
        "ds_step_end",
    )

    @checked
    def __init__(self, step_size: Annotated[int, Range(1, INT32_MAX)] = 1) -> None:
        self.step_size = step_size

    def ds_begin(self, ds_run_context: CallbackParam) -> None:
        """Called before the first row of all.

        >>> DSCallback().ds_begin(CallbackParam(0, 0, 0))
        """

    def ds_epoch_begin(self, ds_run_context: CallbackParam) -> None:
        """Called before the first row of an epoch.

        >>> DSCallback().ds_epoch_begin(CallbackParam(1, 0, 0))
        """

    def ds_epoch_end(self, ds_run_context: CallbackParam) -> None:
        """Called after the last row of an epoch.

        >>> DSCallback().ds_epoch_end(CallbackParam(1, 5, 5))
        """

    def ds_step_begin(self, ds_run_context: CallbackParam) -> None:
        """Called before a row.

        >>> DSCallback().ds_step_begin(CallbackParam(1, 1, 1))
        """

    def ds_step_end(self, ds_run_context: CallbackParam) -> None:
        """Called after a row.

        >>> DSCallback().ds_step_end(CallbackParam(1, 1, 1))
        """

    def hooks(self) -> frozenset[str]:
        """The methods that this class overrides; the engine calls only these.

        >>> DSCallback().hooks()
        Traceback (most recent call last):
        ...
        AttributeError: Inheriting Callback class without overriding any methods, check the usage of user \
defined Callback.
        """
        overridden = frozenset(
            name for name in self._HOOKS if getattr(type(self), name) is not getattr(DSCallback, name)
        )
        if not overridden:
            raise AttributeError(
                "Inheriting Callback class without overriding any methods, "
                "check the usage of user defined Callback."
            )
        return overridden

    def create_runtime_obj(self) -> DSCallback:
        """Return this object after checking that a method is overridden; the engine calls this.

        >>> class Count(DSCallback):
        ...     def ds_begin(self, ds_run_context):
        ...         pass
        >>> count = Count()
        >>> count.create_runtime_obj() is count
        True
        """
        self.hooks()
        return self


class _TrainingCallback:
    """The methods by which a training loop reports its progress (MindSpore's ``train.Callback``)."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *err: object) -> None:
        return None

    def begin(self, run_context: Any) -> None:
        """Called when training begins."""

    def epoch_begin(self, run_context: Any) -> None:
        """Called when a training epoch begins."""

    def epoch_end(self, run_context: Any) -> None:
        """Called when a training epoch ends."""

    def step_begin(self, run_context: Any) -> None:
        """Called when a training step begins."""

    def step_end(self, run_context: Any) -> None:
        """Called when a training step ends."""

    def end(self, run_context: Any) -> None:
        """Called when training ends."""

    def on_train_begin(self, run_context: Any) -> None:
        """Called when training begins."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: Any) -> None:
        """Called when a training epoch begins."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Called when a training epoch ends."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: Any) -> None:
        """Called when a training step begins."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: Any) -> None:
        """Called when a training step ends."""
        self.step_end(run_context)

    def on_train_end(self, run_context: Any) -> None:
        """Called when training ends."""
        self.end(run_context)

    def on_eval_begin(self, run_context: Any) -> None:
        """Called when evaluation begins."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: Any) -> None:
        """Called when an evaluation epoch begins."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: Any) -> None:
        """Called when an evaluation epoch ends."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: Any) -> None:
        """Called when an evaluation step begins."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: Any) -> None:
        """Called when an evaluation step ends."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: Any) -> None:
        """Called when evaluation ends."""
        self.end(run_context)


@public("dataset")
class WaitedDSCallback(_TrainingCallback, DSCallback):
    """A callback that delays the map until training has reached the same step.

    Pass it both to ``map(callbacks=...)`` and to the training loop. From the second epoch on, an epoch of the
    map waits for the end of a training epoch and then calls ``sync_epoch_begin``; after the first
    ``step_size`` rows, a row waits for the end of a training step and then calls ``sync_step_begin``.

    >>> class Schedule(WaitedDSCallback):
    ...     def sync_step_begin(self, train_run_context, ds_run_context):
    ...         print("after", train_run_context)
    >>> schedule = Schedule()
    >>> schedule.step_end("train step 1")
    >>> schedule.ds_step_begin(CallbackParam(1, 2, 2))
    after train step 1
    """

    def __init__(self, step_size: int = 1) -> None:
        # not DSCallback's: MindSpore takes any step_size here
        self.step_size = step_size
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        # the newest report of the training loop by event, until a waiter takes it
        self._reports: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._ended = False
        self._interrupted = False

    def __getstate__(self) -> dict[str, Any]:
        transient = ("_changed", "_reports", "_last", "_ended", "_interrupted")
        return {name: value for name, value in self.__dict__.items() if name not in transient}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._reset()
        self.__dict__.update(state)

    # --- for the user to override -------------------------------------------------------------------------

    def sync_epoch_begin(self, train_run_context: Any, ds_run_context: CallbackParam) -> None:
        """Called before an epoch of the map, after a training epoch has ended.

        >>> WaitedDSCallback().sync_epoch_begin(None, CallbackParam(2, 5, 0))
        """

    def sync_step_begin(self, train_run_context: Any, ds_run_context: CallbackParam) -> None:
        """Called before a row of the map, after a training step has ended.

        >>> WaitedDSCallback().sync_step_begin(None, CallbackParam(1, 2, 2))
        """

    # --- the map's side -----------------------------------------------------------------------------------

    def ds_begin(self, ds_run_context: CallbackParam) -> None:
        """Forget what earlier runs reported: a new pipeline starts.

        >>> WaitedDSCallback().ds_begin(CallbackParam(0, 0, 0))
        """
        with self._changed:
            self._reports.clear()
            self._last.clear()
            self._ended = self._interrupted = False

    def ds_epoch_begin(self, ds_run_context: CallbackParam) -> None:
        """Wait for the end of a training epoch, except before the first.

        >>> WaitedDSCallback().ds_epoch_begin(CallbackParam(1, 0, 0))
        """
        if ds_run_context.cur_epoch_num > 1:
            context, proceed = self._wait("epoch")
            if proceed:
                self.sync_epoch_begin(context, ds_run_context)

    def ds_step_begin(self, ds_run_context: CallbackParam) -> None:
        """Wait for the end of a training step, except for the first ``step_size`` rows.

        >>> WaitedDSCallback(step_size=4).ds_step_begin(CallbackParam(1, 4, 4))
        """
        if ds_run_context.cur_step_num > self.step_size:
            context, proceed = self._wait("step")
            if proceed:
                self.sync_step_begin(context, ds_run_context)

    def _wait(self, event: str) -> tuple[Any, bool]:
        seconds = current().callback_timeout
        with self._changed:
            ready = self._changed.wait_for(
                lambda: event in self._reports or self._ended or self._interrupted, timeout=seconds
            )
            if not ready:
                raise StallError(f"ds_{event}_begin timed out after {seconds} second(s).")
            if self._interrupted:
                return None, False
            # several reports since the last wait count as one: the newest has the position of training
            return self._reports.pop(event, self._last.get(event)), True

    # --- the training side --------------------------------------------------------------------------------

    def step_end(self, run_context: Any) -> None:
        """Report that a training step has ended.

        >>> WaitedDSCallback().step_end(None)
        """
        self._report(run_context, "step")

    def epoch_end(self, run_context: Any) -> None:
        """Report that a training epoch has ended.

        >>> WaitedDSCallback().epoch_end(None)
        """
        self._report(run_context, "epoch")

    def end(self, run_context: Any) -> None:
        """Report that training has ended: the map no longer waits.

        >>> WaitedDSCallback().end(None)
        """
        with self._changed:
            self._ended = True
        self._report(run_context, "step", "epoch")

    def _report(self, run_context: Any, *events: str) -> None:
        with self._changed:
            for event in events:
                self._reports[event] = self._last[event] = run_context
            self._changed.notify_all()

    # --- the engine's side --------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Release waiters without calling the user's method: the pipeline is closing.

        >>> callback = WaitedDSCallback()
        >>> callback.interrupt()
        >>> callback.ds_step_begin(CallbackParam(1, 9, 9))
        """
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()
