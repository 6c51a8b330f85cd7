"""Batches on a device: a queue that is filled manually, and an iterator."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from millrace._src.core.args import INT32_MAX, Range, checked
from millrace._src.core.device_queues import device_layer

from .base import DatasetBase
from .iterators import TupleIterator

__all__ = ["DeviceOps"]


class DeviceOps(DatasetBase):
    def _device_run(self, num_epochs: int, state: Any = None) -> TupleIterator:
        """Batches for a device that runs the offloaded transforms in ``iterator.device_work``."""
        return TupleIterator(self, None, num_epochs, "tensor", False, state, True)

    @checked
    def device_que(
        self, send_epoch_end: bool = True, create_data_info_queue: bool = False, queue_name: str = ""
    ) -> Any:
        """A queue of batches on the context's device, which ``send`` starts to fill.

        ``stop_send`` and ``continue_send`` pause and resume it; ``get_send_info`` returns statistics of the transfer;
        ``release`` ends it. ``ops.GetNext`` with its ``queue_name`` takes batches, and so does ``next``.

        >>> import millrace.dataset as ds
        >>> queue = ds.NumpySlicesDataset({"x": [1.0, 2.0]}, shuffle=False).batch(2).device_que()
        >>> queue.send(num_epochs=1)
        >>> [batch[0].asnumpy().tolist() for batch in queue]
        [[1.0, 2.0]]
        >>> queue.release()
        """
        return device_layer().device_queue(self, send_epoch_end, create_data_info_queue, queue_name)

    to_device = device_que

    @checked
    def create_device_iterator(
        self,
        device_target: Literal["CPU", "GPU"] | None = None,
        num_epochs: Annotated[int, Range(-1, INT32_MAX)] = -1,
        *,
        as_dict: bool = True,
        output: Literal["tensor", "torch", "jax"] = "tensor",
        state: Any = None,
    ) -> Any:
        """Batches on a device, transferred during the previous step; on the context's device by default.

        Dicts of Tensors, lists with ``as_dict=False``; torch or jax arrays on the same memory with ``output``. Each
        ``for`` over it is one epoch. ``state()`` is the state after the last returned batch; ``state=`` resumes there.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset({"x": [1.0, 2.0, 3.0]}, shuffle=False).batch(2)
        >>> with data.create_device_iterator("CPU", num_epochs=1) as batches:
        ...     [batch["x"].shape for batch in batches]
        [(2,), (1,)]
        """
        return device_layer().device_iterator(self, device_target, num_epochs, as_dict, output, state)
