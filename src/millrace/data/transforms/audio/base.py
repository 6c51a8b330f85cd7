"""What audio transforms share: which values they take."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from millrace.core.errors import ArgumentTypeError, DataError
from millrace.data.transforms.operation import Operation

__all__ = ["AudioOperation", "whole"]


class AudioOperation(Operation):
    """An operation on a waveform or a spectrogram: eagerly it takes arrays and nothing else."""

    _ours = True
    # the fewest dimensions that a row has: a whole column has one more
    dims: ClassVar[int] = 1

    def take(self, value: Any) -> Any:
        """A user's value as `row` takes it."""
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(f"Input should be NumPy audio, got {type(value)}.")
        return value


def whole(operation: AudioOperation, xs: Any) -> Any:
    """`batch` of an operation that takes any leading dimensions and treats each by itself: the column is one more."""
    if xs.ndim <= operation.dims:
        return None
    try:
        return operation.row(xs)
    except DataError:
        return None  # the rows run one by one, and the wrong one is named
