"""What audio transforms share: which values they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, DataError
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.transforms.tensor_operation import TensorOperation

__all__ = ["AudioTensorOperation", "row_rngs", "batch_in_blocks", "batch_any_leading_dims"]


class AudioTensorOperation(TensorOperation):
    """An operation on a waveform or a spectrogram: eagerly it takes arrays and nothing else."""

    _is_builtin = True
    _family = "audio"
    # the fewest dimensions that a row has: a whole column has one more
    dims: ClassVar[int] = 1

    def as_input(self, value: Any) -> Any:
        """A user's value as `row` takes it."""
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(f"Input should be NumPy audio, got {type(value)}.")
        return value


def batch_any_leading_dims(operation: AudioTensorOperation, xs: Any) -> Any:
    """`batch` of an operation that takes any leading dimensions and treats each by itself: the column is one more."""
    if xs.ndim <= operation.dims:
        return None
    try:
        return operation.row(xs)
    except DataError:
        return None  # the rows run one by one, and the wrong one is named


# bytes of the rows that are treated at once: what is made of them on the way stays in the processor's cache
_BLOCK = 1 << 16


def batch_in_blocks(
    operation: AudioTensorOperation, xs: Any, call: Callable[[Any], Any] | None = None
) -> Any:
    """Run `batch_any_leading_dims` on a few rows at a time, for operations whose output is much larger than the input.

    ``call`` treats some rows, where it is not `row`.
    """
    if xs.ndim <= operation.dims or not len(xs):
        return None
    call = call or operation.row
    step = max(1, _BLOCK // max(xs[0].nbytes, 1))
    try:
        first = call(xs[:step])
        if step >= len(xs):
            return first
        output = np.empty((len(xs), *first.shape[1:]), first.dtype)
        output[:step] = first
        for start in range(step, len(xs), step):
            output[start : start + step] = call(xs[start : start + step])
    except DataError:
        return None  # the rows run one by one, and the wrong one is named
    return output


def row_rngs(rng: RandomStream) -> list[RandomStream]:
    """A source of random numbers per row, for operations that need many."""
    return [rng[i : i + 1] for i in range(len(rng))]
