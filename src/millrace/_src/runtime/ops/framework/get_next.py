"""Reading batches from the queue of a dataset (`GetNext`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace._src.core.device_queues import find_queue
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.tensor.storage import host_read_listeners

__all__ = ["GetNext"]


@public("ops")
class GetNext(Primitive):
    """Next batch of the queue ``shared_name``, which ``dataset.device_que(queue_name=...)`` fills.

    >>> import millrace.dataset as ds
    >>> from millrace import float64, ops
    >>> queue = (
    ...     ds.NumpySlicesDataset({"x": [1.0, 2.0]}, shuffle=False).batch(2).device_que(queue_name="batches")
    ... )
    >>> queue.send(num_epochs=1)
    >>> ops.GetNext([float64], [[2]], 1, "batches")()[0].asnumpy().tolist()
    [1.0, 2.0]
    >>> queue.release()
    """

    def __init__(
        self, types: Sequence[Any], shapes: Sequence[Sequence[int]], output_num: int, shared_name: str
    ) -> None:
        super().__init__("GetNext")
        if len(types) != output_num or len(shapes) != output_num:
            raise ArgumentValueError(
                f"For 'GetNext', 'types' and 'shapes' must have 'output_num' entries, {output_num}, but got "
                f"{len(types)} and {len(shapes)}."
            )
        self.types, self.shapes = list(types), [list(shape) for shape in shapes]
        self.output_num, self.shared_name = output_num, shared_name

    def __call__(self) -> tuple[Tensor, ...]:
        for listener in host_read_listeners:
            listener("GetNext, which takes another batch each time,")
        feed = find_queue(self.shared_name)
        batch = feed.take()
        while batch is None:  # an epoch ended: the next one follows
            batch = feed.take()
        if len(batch) != self.output_num:
            raise ArgumentValueError(
                f"For 'GetNext', the queue {self.shared_name!r} gives {len(batch)} columns, but 'output_num' is "
                f"{self.output_num}."
            )
        return tuple(batch)
