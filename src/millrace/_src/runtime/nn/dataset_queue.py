"""Next batch of a dataset queue as a Cell (`GetNextSingleOp`)."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.framework.get_next import GetNext

__all__ = ["GetNextSingleOp"]


@public("nn")
class GetNextSingleOp(Cell):
    """Returns the next batch of the queue `queue_name`, which ``dataset.device_que(queue_name=...)`` fills.

    >>> import millrace.dataset as ds
    >>> from millrace import float64
    >>> queue = (
    ...     ds.NumpySlicesDataset({"x": [1.0, 2.0]}, shuffle=False).batch(2).device_que(queue_name="single")
    ... )
    >>> queue.send(num_epochs=1)
    >>> GetNextSingleOp([float64], [[2]], "single")()[0].asnumpy().tolist()
    [1.0, 2.0]
    >>> queue.release()
    """

    def __init__(self, dataset_types: Any, dataset_shapes: Any, queue_name: str) -> None:
        super().__init__()
        self.get_next = GetNext(dataset_types, dataset_shapes, len(dataset_types), queue_name)

    def construct(self) -> Any:
        return self.get_next()
