"""Iterate over the batches of a training and transfer them to the device.

A training takes the batches of an epoch from an :class:`EpochIterator`, or a number of batches across epochs. On a
device, and in sink mode on a CPU, a prefetcher reads the pipeline and transfers batches while the previous step runs.
Otherwise batches come from the dataset's iterator on request; batches of plain collections are then also transferred.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.statistics import RunStats
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.backend.context import get_device
from millrace._src.runtime.tensor.device_placement import to_context_device
from millrace._src.runtime.tensor.storage import wrap
from millrace._src.transfer import DevicePrefetcher as Sink
from millrace._src.transfer import create_device_source

__all__ = ["EpochIterator", "TrainingPosition", "count_batches", "sink_size_warning", "is_epoch_sink_device"]


class TrainingPosition(NamedTuple):
    """Position of a training: everything that is needed to resume with exactly the next batch.

    ``epoch`` counts finished epochs, ``step`` all steps, ``step_in_epoch`` the steps of the current epoch; ``data`` is
    the state of the dataset's iterator, None if it has no state; ``callbacks`` and ``values`` are the state attributes
    and state tensors of callbacks.
    """

    epoch: int
    step: int
    step_in_epoch: int
    data: dict[str, Any] | None
    callbacks: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - a NamedTuple's default, never written to
    values: dict[str, Tensor] = {}  # noqa: RUF012


def is_epoch_sink_device() -> bool:
    """Whether callbacks treat an epoch in sink mode as one step: on devices, but not on a CPU, as in MindSpore."""
    return get_device() != "cpu"


def sink_size_warning(batches: int, epochs: int, sink_size: int) -> str:
    """Warning for a `sink_size` whose epochs do not match the epochs of the data; "" if they match.

    >>> sink_size_warning(batches=10, epochs=2, sink_size=10), sink_size_warning(batches=10, epochs=4, sink_size=5)
    ('', '')
    >>> print(sink_size_warning(batches=10, epochs=2, sink_size=3))
    2 epochs of sink_size=3 are 6 steps, and the data's epoch has 10 batches: 4 of them are never used. \
Omit sink_size, or train 4 epochs, which use each at least once
    """
    steps = epochs * sink_size
    if steps % batches == 0:
        return ""
    summary = f"{epochs} epochs of sink_size={sink_size} are {steps} steps, and the data's epoch has {batches} batches"
    if steps < batches:
        enough = -(-batches // sink_size)
        return (
            f"{summary}: {batches - steps} of them are never used. Omit sink_size, or train {enough} epochs, "
            "which use each at least once"
        )
    return (
        f"{summary}: the training ends in the middle of the data's epoch {steps // batches + 1}, after "
        f"{steps % batches} batches of it"
    )


def count_batches(dataset: Any, name: str = "train_dataset") -> int:
    """Number of batches in one epoch of a dataset, or in a collection of batches."""
    if hasattr(dataset, "get_dataset_size"):
        size = int(dataset.get_dataset_size())
    elif isinstance(dataset, Collection):
        size = len(dataset)
    else:
        raise ArgumentTypeError(
            f"The argument '{name}' must be a dataset, or a list of batches, but got {type(dataset).__name__}."
        )
    if not size:
        raise ArgumentValueError(
            f"There is no valid data in '{name}', please check the dataset: an epoch of it has no batch."
            f"{_explain_empty_epoch(dataset)}"
        )
    return size


def _explain_empty_epoch(dataset: Any) -> str:
    """Why an epoch is empty although there are rows."""
    if not getattr(dataset, "drop_remainder", False):
        return ""
    rows = dataset.children[0].get_dataset_size()
    return f" Its {rows} rows are fewer than batch_size={dataset.batch_size}, and drop_remainder=True drops them."


class EpochIterator:
    """Iterator over the batches of a dataset, epoch by epoch, which measures the time of waiting for them.

    >>> feed = EpochIterator([(1, 2), (3, 4)], epochs=2)
    >>> [batch for batch in feed.epoch()], feed.batches_delivered
    ([(1, 2), (3, 4)], 2)
    >>> feed.close()
    """

    def __init__(
        self,
        dataset: Any,
        epochs: int = 1,
        at: dict[str, Any] | None = None,
        through_sink: bool | None = None,
    ) -> None:
        self.dataset = dataset
        self.batches_delivered = 0
        # seconds that the training waited for data
        self.wait_seconds = 0.0
        self._iterator: Any = None
        self.prefetcher: Sink | None = None
        device = get_device()
        if hasattr(dataset, "create_tuple_iterator"):
            if through_sink or (through_sink is None and device != "cpu"):
                self._iterator = create_device_source(dataset, epochs, device, at)
                self.prefetcher = Sink(self._iterator, epochs=epochs, device=device, states=True, at=at)
            else:
                resume = {} if at is None else {"state": at}
                self._iterator = dataset.create_tuple_iterator(num_epochs=epochs, do_copy=False, **resume)
        elif at is not None:
            raise ArgumentValueError(
                f"A training over {type(dataset).__name__} cannot resume in the middle of an epoch. "
                "Use a dataset, which has a position."
            )
        # batches that are transferred on request
        self._moves = device != "cpu" and self.prefetcher is None
        self._flow: Iterator[Any] | None = None

    def epoch(self) -> Iterator[Any]:
        """Batches up to the end of an epoch."""
        source = iter(self._source())
        clock = time.perf_counter
        while True:
            began = clock()
            batch = next(source, None)
            self.wait_seconds += clock() - began
            if batch is None:
                return
            self.batches_delivered += 1
            yield [_move_to_device(each) for each in batch] if self._moves else batch

    def _source(self) -> Any:
        if self.prefetcher is not None:
            return self.prefetcher
        return self.dataset if self._iterator is None else self._iterator

    def take(self, count: int) -> Iterator[Any]:
        """This number of batches, across epochs."""
        if self._flow is None:
            self._flow = itertools.chain.from_iterable(self.epoch() for _ in itertools.count())
        return itertools.islice(self._flow, count)

    def state(self) -> dict[str, Any] | None:
        """State of the dataset iterator after the last returned batch; None if it has no state."""
        if self.prefetcher is not None:  # the iterator itself is ahead of the returned batches
            state: dict[str, Any] | None = self.prefetcher.state()
            return state
        return self._iterator.state() if hasattr(self._iterator, "state") else None

    def report(self) -> Any:
        """Report of the pipeline; None without a pipeline."""
        return self._iterator.report() if hasattr(self._iterator, "report") else None

    def stats(self) -> RunStats | None:
        """Statistics of the pipeline; None without a pipeline."""
        stats = getattr(self._iterator, "stats", None)
        return stats if isinstance(stats, RunStats) else None

    def close(self, over: bool = False) -> None:
        """Close the iterator and release its resources; `over`: all planned steps were made."""
        if self.prefetcher is not None:
            self.prefetcher.close(over)
        if hasattr(self._iterator, "release"):
            self._iterator.release()


def _move_to_device(value: Any) -> Any:
    return wrap(to_context_device(value._torch)) if isinstance(value, Tensor) else value
