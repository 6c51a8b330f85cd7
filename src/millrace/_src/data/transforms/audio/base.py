"""Base class of the audio transforms and batch helpers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, DataError
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.transforms.tensor_operation import TensorOperation

__all__ = ["AudioTensorOperation", "row_rngs", "batch_in_blocks", "batch_any_leading_dims"]


class AudioTensorOperation(TensorOperation):
    """Base of the operations on a waveform or a spectrogram; eagerly it takes arrays only."""

    _is_builtin = True
    _family = "audio"
    # the minimum number of dimensions of a row; a column has one more
    dims: ClassVar[int] = 1

    def as_input(self, value: Any) -> Any:
        """Check a user's value and return it as input of `row`."""
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(f"Input should be NumPy audio, got {type(value)}.")
        return value


def batch_any_leading_dims(operation: AudioTensorOperation, xs: Any) -> Any:
    """`batch` of an operation that supports any leading dimensions: the column adds one more."""
    if xs.ndim <= operation.dims:
        return None
    try:
        return operation.row(xs)
    except DataError:
        return None  # the rows run one by one, and the error names the wrong one


# bytes of the rows that are computed at once: intermediate results stay in the processor's cache
_BLOCK = 1 << 16


def batch_in_blocks(
    operation: AudioTensorOperation, xs: Any, call: Callable[[Any], Any] | None = None
) -> Any:
    """`batch` in blocks of rows, for operations with large intermediate results, such as overlapping frames.

    ``call`` computes a block of rows; the default is `row`.
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
        return None  # the rows run one by one, and the error names the wrong one
    return output


def row_rngs(rng: RandomStream) -> list[RandomStream]:
    """One random stream per row, for operations that need many random numbers."""
    return [rng[i : i + 1] for i in range(len(rng))]
