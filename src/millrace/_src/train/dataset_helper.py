"""Datasets for custom training loops: `DatasetHelper`, `data_sink`, `connect_network_with_dataset`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type, check_bool
from millrace._src.runtime.nn.cell import Cell
from millrace._src.transfer import queue_info

from .epoch_iterator import EpochIterator, count_batches, sink_size_warning

log = get_logger(__name__)

__all__ = ["DatasetHelper", "connect_network_with_dataset", "data_sink"]


@public("train", "millrace")
class DatasetHelper:
    """A dataset for a custom loop: each ``for`` loop over it is an epoch of lists of tensors.

    With `dataset_sink_mode` an epoch is `sink_size` batches, independent of the dataset's epochs, and batches are
    prefetched to the device while the previous step runs; ``get_send_info`` reports transfers and waiting times.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset([1, 2, 3, 4], shuffle=False).batch(2)
    >>> helper = DatasetHelper(data, dataset_sink_mode=False, epoch_num=2)
    >>> [batch[0].tolist() for batch in helper], helper.sink_size()
    ([[1, 2], [3, 4]], 2)
    >>> helper.release()
    """

    def __init__(
        self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1
    ) -> None:
        check_bool(dataset_sink_mode, "dataset_sink_mode", "DatasetHelper")
        check_argument_type(sink_size, "sink_size", "DatasetHelper", int)
        if sink_size < -1 or sink_size == 0:
            raise ArgumentValueError(
                f"The 'sink_size' must be -1 or positive, but got sink_size {sink_size}."
            )
        size = count_batches(dataset, "dataset")
        self.dataset = dataset
        self._sinks = dataset_sink_mode
        self._sink_size = sink_size if dataset_sink_mode and sink_size > 0 else size
        if dataset_sink_mode and sink_size > 0 and epoch_num > 0:
            warning = sink_size_warning(size, epoch_num, sink_size)
            if warning:
                log.warning("%s", warning)
        self._feed = EpochIterator(
            dataset, -1 if dataset_sink_mode else epoch_num, through_sink=dataset_sink_mode or None
        )

    def __iter__(self) -> Iterator[Any]:
        return self._feed.take(self._sink_size) if self._sinks else self._feed.epoch()

    def sink_size(self) -> int:
        """Number of batches per ``for`` loop over the helper."""
        return self._sink_size

    def types_shapes(self) -> tuple[list[Any], list[list[int | None]]]:
        """Dtypes and shapes of the dataset's columns."""
        return self.dataset.output_types(), self.dataset.output_shapes()

    def get_data_info(self) -> tuple[list[Any], list[list[int | None]]]:
        """Dtypes and shapes of the dataset's columns."""
        return self.types_shapes()

    def get_mbuf_queue_size(self) -> int:
        """Number of batches ready on the device; 0 without sink mode."""
        return 0 if self._feed.prefetcher is None else len(self._feed.prefetcher)

    def get_send_info(self, run_context: Any = None) -> Any:
        """Number of returned batches and seconds of waiting; in sink mode also the counters of the queue and the
        diagnosis."""
        info = {"batches": self._feed.batches_delivered, "waited": self._feed.wait_seconds}
        return (
            info if self._feed.prefetcher is None else {**info, **queue_info(self._feed.prefetcher.channel)}
        )

    def stop_send(self) -> None:
        """Pause sending until ``continue_send``; sent batches can still be taken."""
        if self._feed.prefetcher is not None:
            self._feed.prefetcher.pause()

    def continue_send(self) -> None:
        """Resume after ``stop_send``."""
        if self._feed.prefetcher is not None:
            self._feed.prefetcher.resume()

    def release(self) -> None:
        """Stop the dataset iterator and release its resources."""
        self._feed.close()


@public("train", "millrace")
def connect_network_with_dataset(network: Any, dataset_helper: Any) -> Any:
    """A network that is called without arguments and takes its batch from a helper in sink mode.

    >>> import millrace.dataset as ds
    >>> from millrace import nn
    >>> data = ds.NumpySlicesDataset([[1.0, 2.0]], shuffle=False).batch(1)
    >>> with_data = connect_network_with_dataset(nn.Flatten(), DatasetHelper(data))
    >>> with_data().shape
    (1, 2)
    """
    if not isinstance(network, Cell):
        raise ArgumentTypeError(f"The 'network' must be a Cell, but got {type(network).__name__}.")
    if not isinstance(dataset_helper, DatasetHelper) or not dataset_helper._sinks:
        raise OperationError(
            "The API 'connect_network_with_dataset' should be called in dataset sink mode: create the helper with "
            "DatasetHelper(dataset, dataset_sink_mode=True)."
        )
    return _NetworkWithDataset(network, dataset_helper)


class _NetworkWithDataset(Cell):
    """A network that takes its inputs from a dataset."""

    def __init__(self, network: Cell, helper: DatasetHelper) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.helper = network, helper

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.network(*next(self.helper._feed.take(1)), *args, **kwargs)


@public("train", "millrace")
def data_sink(
    fn: Callable[..., Any],
    dataset: Any,
    sink_size: int = 1,
    jit_config: Any = None,
    input_signature: Any = None,
) -> Callable[..., Any]:
    """Wrap a function of batches: each call takes `sink_size` batches from the dataset, across epochs, calls ``fn`` on
    each, and returns the last result; nothing is read back in between. With `jit_config`, ``fn`` runs as a graph.
    `input_signature`, a Tensor or a list of them, is checked and otherwise ignored: a graph is captured per shape.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False).batch(1)
    >>> total = data_sink(lambda x: x.sum().item(), data, sink_size=2)
    >>> total(), total(), total()
    (2, 1, 3)
    """
    if not callable(fn):
        raise ArgumentTypeError(f"For 'data_sink', 'fn' must be a function or a Cell, but got {fn!r}.")
    check_argument_type(sink_size, "sink_size", "data_sink", int)
    if sink_size < 1:
        raise ArgumentValueError(f"The 'sink_size' must be positive, but got sink_size {sink_size}.")
    count_batches(dataset, "dataset")
    signature = input_signature if isinstance(input_signature, (list, tuple)) else [input_signature]
    if input_signature is not None and not all(isinstance(each, Tensor) for each in signature):
        raise ArgumentTypeError(
            "For 'data_sink', 'input_signature' must be a Tensor or a list or tuple of Tensors, but got "
            f"{input_signature!r}."
        )
    if jit_config is not None:
        from millrace._src.runtime.graph.jit import JitConfig, jit

        if not isinstance(jit_config, JitConfig):
            raise ArgumentTypeError(
                f"For 'data_sink', 'jit_config' must be a JitConfig, but got {jit_config!r}."
            )
        if inspect.isroutine(fn) or isinstance(fn, Cell):
            fn = jit(fn, jit_level=jit_config.jit_config_dict["jit_level"] or "O0")
    feed = EpochIterator(dataset, -1, through_sink=True)

    def sunk(*args: Any, **kwargs: Any) -> Any:
        output = None
        for batch in feed.take(sink_size):
            output = fn(*batch, *args, **kwargs)
        return output

    sunk.feed = feed  # type: ignore[attr-defined]
    return sunk
