"""Device queues without ``Model``: ``dataset.device_que()`` and ``create_device_iterator()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from millrace._src.core.errors import ArgumentValueError, DeviceQueueError
from millrace._src.core.machine.host_allocator import AlignedAllocator
from millrace._src.core.optional import require
from millrace._src.core.public import public
from millrace._src.core.transfer_statistics import TransferStatistics
from millrace._src.core.values.tensor import Tensor
from millrace._src.observe.transfer_diagnosis import diagnose_transfer
from millrace._src.runtime.tensor.backend.context import get_device

from .prefetcher import DevicePrefetcher, create_device_source

__all__ = ["DeviceIterator", "DeviceQueue", "device_iterator", "device_queue", "queue_info"]


@public("transfer")
def device_queue(
    dataset: Any, send_epoch_end: bool, create_data_info_queue: bool, queue_name: str
) -> DeviceQueue:
    """Implementation of ``dataset.device_que()``."""
    return DeviceQueue(dataset, send_epoch_end, create_data_info_queue, queue_name)


@public("transfer")
def device_iterator(
    dataset: Any, device_target: str | None, num_epochs: int, as_dict: bool, output: str, state: Any
) -> DeviceIterator:
    """Implementation of ``dataset.create_device_iterator()``."""
    return DeviceIterator(dataset, device_target, num_epochs, as_dict, output, state)


@public("transfer")
def queue_info(channel: TransferStatistics) -> dict[str, Any]:
    """Counters of a channel with the diagnosis as text and as fields."""
    diagnosis = diagnose_transfer(channel)
    return {**channel.to_dict(), "verdict": str(diagnosis), "situation": diagnosis.to_dict()}


@public("transfer")
class DeviceQueue:
    """Queue that transfers batches of a dataset to a device; ``dataset.device_que()`` creates it, ``send`` starts it.

    >>> import millrace.dataset as ds
    >>> queue = ds.NumpySlicesDataset({"x": [1, 2, 3]}, shuffle=False).device_que(queue_name="numbers")
    >>> queue.send(num_epochs=1)
    >>> next(queue)[0].item(), queue.get_send_info()["have_taken"]
    (1, 1)
    >>> queue.release()
    """

    def __init__(
        self,
        dataset: Any,
        send_epoch_end: bool = True,
        create_data_info_queue: bool = False,
        queue_name: str = "",
    ) -> None:
        self.dataset = dataset
        self._epoch_ends, self._name = send_epoch_end, queue_name
        self._feed: DevicePrefetcher | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dataset, name)

    @property
    def queue_name(self) -> str:
        """Name of the queue for ``ops.GetNext``."""
        return self._name if self._feed is None else self._feed.name

    def send(self, num_epochs: int = -1) -> None:
        """Start sending; an error while a previous send is running."""
        if num_epochs == 0 or num_epochs < -1:
            raise ArgumentValueError(
                f"send: num_epochs must be -1 (no end) or positive, but got {num_epochs}"
            )
        if self._feed is not None:
            raise DeviceQueueError(f"channel {self.queue_name!r} is already sending. Call release() first")
        device = get_device()
        source = create_device_source(self.dataset, num_epochs, device)
        self._feed = DevicePrefetcher(source, epochs=num_epochs, device=device, name=self._name)

    def stop_send(self) -> None:
        """Pause sending until ``continue_send``; sent batches can still be taken."""
        self._sending("stop_send").pause()

    def continue_send(self) -> None:
        """Resume after ``stop_send``."""
        self._sending("continue_send").resume()

    def get_data_info(self) -> tuple[list[Any], list[list[int]]]:
        """Dtypes and shapes of a batch, known before the first one is sent."""
        return list(self.dataset.output_types()), [list(shape) for shape in self.dataset.output_shapes()]

    def get_send_info(self) -> dict[str, Any]:
        """Counters, queue fill levels, times of each batch, and the diagnosis."""
        feed = self._sending("get_send_info")
        return {**queue_info(feed.channel), **feed.device_time()}

    def get_mbuf_queue_size(self) -> int:
        """Number of batches ready on the device."""
        return len(self._sending("get_mbuf_queue_size"))

    def release(self) -> None:
        """Stop, and release batches that were not taken."""
        if self._feed is not None:
            self._feed.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Any]:
        feed = self._sending("next")
        batch = feed.take()
        while batch is None and not self._epoch_ends:
            batch = feed.take()
        if batch is None:
            raise StopIteration
        return batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    @property
    def channel(self) -> TransferStatistics:
        """Counters of the queue."""
        return self._sending("channel").channel

    def _sending(self, operation: str) -> DevicePrefetcher:
        if self._feed is None:
            raise DeviceQueueError(f"{operation}: nothing was sent. Call send() first")
        return self._feed


@public("transfer")
class DeviceIterator:
    """Iterator of batches on a device; each ``for`` loop is one epoch. ``dataset.create_device_iterator()`` creates it.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset({"x": [1, 2, 3]}, shuffle=False)
    >>> with data.create_device_iterator(num_epochs=1, as_dict=False, output="torch") as batches:
    ...     [int(batch[0]) for batch in batches]
    [1, 2, 3]
    """

    def __init__(
        self, dataset: Any, device_target: str | None, num_epochs: int, as_dict: bool, output: str, state: Any
    ) -> None:
        self._names = list(dataset.get_col_names()) if as_dict else None
        self._leaf = _convert_output(output)
        device = _resolve_device(device_target)
        # jax copies arrays without its alignment
        lender = AlignedAllocator() if output == "jax" and device == "cpu" else None
        source = create_device_source(dataset, num_epochs, device, state, lender)
        self._feed = DevicePrefetcher(source, epochs=num_epochs, device=device, states=True, at=state)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        values = self._feed.take()
        if values is None:
            raise StopIteration
        if self._leaf is not None:
            values = [self._leaf(value) for value in values]
        return values if self._names is None else dict(zip(self._names, values, strict=True))

    def state(self) -> Any:
        """State after the last returned batch, for ``create_device_iterator(state=...)``."""
        return self._feed.state()

    def report(self) -> dict[str, Any]:
        """Counters of the transfer, with the diagnosis."""
        return {**queue_info(self._feed.channel), **self._feed.device_time()}

    def close(self) -> None:
        """Stop; a ``with`` block does so at its end."""
        self._feed.close()

    stop = close

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _resolve_device(target: str | None) -> str:
    if target is None:
        return get_device()
    if target == "CPU":
        return "cpu"
    import torch

    if not torch.cuda.is_available():
        raise ArgumentValueError(
            "create_device_iterator: device_target='GPU', but PyTorch finds no GPU here; "
            "run `millrace doctor` for the reason"
        )
    current = get_device()
    return current if current.startswith("cuda") else "cuda:0"


def _convert_output(output: str) -> Callable[[Any], Any] | None:
    """Function that converts a Tensor to the requested array type on the same memory."""
    if output == "tensor":
        return None
    if output == "torch":
        return lambda value: (
            value._torch if isinstance(value, Tensor) and value.dtype.numpy is not None else value
        )
    dlpack = require("jax.dlpack", extra="jax", purpose="a device iterator that yields jax arrays")
    return lambda value: dlpack.from_dlpack(value._torch) if isinstance(value, Tensor) else value
