"""Iterators over a dataset: one row (usually a batch) at a time, epoch after epoch."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from millrace._src.core import settings
from millrace._src.core.errors import MillraceError, PlanError
from millrace._src.core.log import get_logger, warn_once
from millrace._src.core.statistics import RunStats
from millrace._src.core.tracebacks import hide_internal_frames
from millrace._src.data.engine.pipeline_run import PipelineRun
from millrace._src.data.engine.stages.base import END_OF_EPOCH, Signal
from millrace._src.data.plan.node import call_site
from millrace._src.data.plan.nodes.order_ops import HIDDEN_PREFIX

from .output_conversion import converter

if TYPE_CHECKING:
    from .base import DatasetBase

__all__ = ["DictIterator", "Iterator", "TupleIterator"]

log = get_logger(__name__)

PAST_LAST_EPOCH_MESSAGE = (
    "EOF buffer encountered. User tries to fetch data beyond the specified number of epochs. "
    "create_*_iterator(num_epochs=...) gives the number; -1 is without limit."
)


class Iterator:
    """Each ``for`` over it is one epoch; a new loop after leaving one early resumes at the next row.

    ``state()`` is a small JSON-able dict for the position after the last returned row;
    ``create_dict_iterator(state=...)`` resumes with exactly the next one.
    """

    def __init__(
        self,
        dataset: DatasetBase,
        num_epochs: int,
        output_format: str,
        do_copy: bool,
        state: Any = None,
        for_device: bool = False,
    ) -> None:
        if num_epochs == 0:
            raise PlanError("RootNode: num_epochs should be either -1 or positive integer, num_epochs: 0")
        self.dataset = dataset
        self._epochs = None if num_epochs == -1 else num_epochs
        self._convert = converter(output_format, do_copy)
        self._output_numpy = output_format == "numpy"
        self._init_step = _init_step(dataset)
        if state is None and not self._init_step:
            _warn_same_order(dataset)
        self._run: PipelineRun = dataset._run(self._epochs, state, for_device)
        # the offloaded work, if rows go to a device: core/values/offload.py
        self.device_work = self._run.plan.device_work
        self._rows_in_epoch = 0
        # columns such as _meta-filename are for ops; they are returned only if renamed
        self._hidden: list[str] | None = None
        # whether the current epoch started at its first row
        self._whole_epoch = state is None and not self._init_step
        if state is None and self._init_step:
            size = dataset.get_dataset_size()
            self._run.skip(*divmod(self._init_step, size))
        # the run must end with the iterator, and must not be kept alive by it
        self._finalizer = weakref.finalize(self, PipelineRun.close, self._run, "its iterator is gone")

    def __iter__(self) -> Self:
        if self._epochs is not None and self._run.epoch >= self._epochs:
            raise PlanError(PAST_LAST_EPOCH_MESSAGE)
        return self

    def __next__(self) -> Any:
        try:
            row = self._next()
        except MillraceError as error:
            hide_internal_frames(error)
            raise
        if row is None:
            raise StopIteration
        return row

    def _next(self) -> Any:
        item = self._run.next_row()
        if isinstance(item, Signal):
            if item is not END_OF_EPOCH:
                raise PlanError(PAST_LAST_EPOCH_MESSAGE)
            if not self._rows_in_epoch and not self._run.stats.delivered:
                log.warning("%s", _empty_epoch_message(self._run))
            if self._whole_epoch:
                self.dataset._remember_size(self._rows_in_epoch)
            self._rows_in_epoch, self._whole_epoch = 0, False
            if self._epochs is not None and self._run.epoch >= self._epochs:
                self._run.close()
            return None
        self._rows_in_epoch += 1
        if self._hidden is None:
            self._hidden = [name for name in item if name.startswith(HIDDEN_PREFIX)]
        for name in self._hidden:
            item.pop(name, None)
        row = self._format_row(item)
        stats = self._run.stats
        if stats.fresh:
            stats.record_delivery()
        return row

    def _skip_to_next_epoch(self) -> None:
        """Skip to the beginning of the next epoch."""
        self._run.skip_to_next_epoch()
        self._rows_in_epoch, self._whole_epoch = 0, False
        if self._epochs is not None and self._run.epoch >= self._epochs:
            self._run.close()

    def _format_row(self, row: dict[str, Any]) -> Any:
        raise TypeError("use DictIterator or TupleIterator")

    def _get_next(self) -> Any:
        """The next row, or an empty one at the end of an epoch."""
        row = self._next()
        return self._format_row({}) if row is None else row

    def state(self) -> dict[str, Any]:
        """The position of this iterator, as a small JSON-able dict.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset(list(range(5)), shuffle=False)
        >>> iterator = data.create_tuple_iterator(num_epochs=1)
        >>> _ = next(iterator), next(iterator)
        >>> resumed = data.create_tuple_iterator(num_epochs=1, state=iterator.state())
        >>> [row[0].item() for row in resumed]
        [2, 3, 4]
        """
        return self._run.cursor().to_json()

    @property
    def stats(self) -> RunStats:
        """The counters of its run.

        >>> import millrace.dataset as ds
        >>> iterator = ds.NumpySlicesDataset([1, 2]).create_tuple_iterator(num_epochs=1)
        >>> _ = next(iterator)
        >>> iterator.stats.delivered
        1
        """
        return self._run.stats

    def report(self) -> Any:
        """The report of the run so far; see Dataset.report().

        >>> import millrace.dataset as ds
        >>> iterator = ds.NumpySlicesDataset([1, 2]).create_tuple_iterator(num_epochs=1)
        >>> _ = next(iterator)
        >>> iterator.report().delivered
        1
        """
        from millrace._src.observe.report import Report

        return Report(self._run)

    def _register_knob(
        self, name: str, value: int, least: int, most: int, change: Callable[[int], None]
    ) -> None:
        """Register the number of prefetched batches after this iterator as a parameter of autotune."""
        if self._run.tuner is not None:
            self._run.tuner.register_knob(name, "", value, least, most, change)

    def stop(self) -> None:
        """End the run now and release everything it holds; ``with`` does it at the end of its block.

        >>> import millrace.dataset as ds
        >>> with ds.NumpySlicesDataset([1, 2], shuffle=False).create_tuple_iterator() as iterator:
        ...     next(iterator)[0].item()
        1
        """
        self._run.close("stop() was called")

    release = stop
    close = stop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def get_col_names(self) -> list[str]:
        """The names of the columns.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset({"x": [1, 2]}).create_dict_iterator().get_col_names()
        ['x']
        """
        return self.dataset.get_col_names()  # type: ignore[attr-defined]

    @property
    def _col_names(self) -> list[str]:
        return self.get_col_names()


class DictIterator(Iterator):
    """Rows as dicts from column name to value; created by ``create_dict_iterator``.

    >>> import millrace.dataset as ds
    >>> next(ds.NumpySlicesDataset({"x": [5]}).create_dict_iterator(output_numpy=True))
    {'x': array(5)}
    """

    if TYPE_CHECKING:

        def __next__(self) -> dict[str, Any]: ...

    def _format_row(self, row: dict[str, Any]) -> dict[str, Any]:
        convert = self._convert
        return {name: convert(value) for name, value in row.items()}


class TupleIterator(Iterator):
    """Rows as lists of values, in the order of the columns (or of the selected ones).

    >>> import millrace.dataset as ds
    >>> next(ds.NumpySlicesDataset({"x": [5]}).create_tuple_iterator(output_numpy=True))
    [array(5)]
    """

    def __init__(self, dataset: DatasetBase, columns: list[str] | None, *args: Any, **kwargs: Any) -> None:
        if columns is not None:
            dataset = dataset.project(columns)  # type: ignore[attr-defined]
        super().__init__(dataset, *args, **kwargs)

    if TYPE_CHECKING:

        def __next__(self) -> list[Any]: ...

    def _format_row(self, row: dict[str, Any]) -> list[Any]:
        convert = self._convert
        return [convert(value) for value in row.values()]


# Frames between here and the line that creates an iterator: the methods of a dataset, and the argument checks.
_BELOW = tuple(str(Path(module).parent) for module in (__file__, str(settings.__file__)))


def _warn_same_order(dataset: DatasetBase) -> None:
    """Warn if a line creates an iterator for each epoch: with a seed, each starts with the same order."""
    # the calling line, which may be in one of Millrace's commands that create several iterators
    session, where = dataset._session, call_site(outside=_BELOW)
    repeated, session.iterated_at = session.iterated_at == where, where
    if not repeated or settings.current().seed is None or not dataset.is_shuffled():
        return
    if session.runs and session.runs[-1].epoch:
        warn_once(
            f"same-order-{where}",
            f"{where} creates a new iterator for each epoch, and with a seed each starts with the order of the first "
            "epoch, as in MindSpore: all these epochs have the same order. For a different order in each, write "
            "`for rows in dataset.epochs(n):` and `for row in rows:` inside (logged once)",
        )


def _empty_epoch_message(run: PipelineRun) -> str:
    """The warning for an epoch without rows; it names a filter that dropped all of them."""
    message = "Got 0 sample from dataset pipeline, check if drop all data or load dataset fail."
    for stage in run.stats.stages:
        num_rows = stage.ops[0].rows if stage.ops else 0
        for op in stage.ops:
            if num_rows and not op.kept and op.node_type == "Filter":
                return f"{message} {op.name} dropped all of the {num_rows} rows that came to it."
            num_rows = op.kept
    return message


def _init_step(dataset: DatasetBase) -> int:
    step = int(dataset.get_init_step())  # type: ignore[attr-defined]
    if step < 0:
        raise PlanError(f"Cannot reset the pipeline, reset step must be >= 0. step: {step}")
    return step
