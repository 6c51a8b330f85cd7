"""What audio transforms share: which values they take."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.core.errors import ArgumentTypeError
from millrace.data.transforms.operation import Operation

__all__ = ["AudioOperation"]


class AudioOperation(Operation):
    """An operation on a waveform or a spectrogram: eagerly it takes arrays and nothing else."""

    _ours = True

    def take(self, value: Any) -> Any:
        """A user's value as `row` takes it."""
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(f"Input should be NumPy audio, got {type(value)}.")
        return value
