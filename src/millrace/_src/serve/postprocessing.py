"""Postprocessing transforms of model outputs, one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.transforms.tensor_operation import TensorOperation

__all__ = ["ArgMax", "Labels", "Softmax"]


@public("serve")
class Softmax(TensorOperation):
    """Scores as probabilities along the last axis.

    >>> Softmax()(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """

    _family = "serve"

    def row(self, scores: Any) -> Any:
        raised = np.exp(scores - scores.max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True)


@public("serve")
class ArgMax(TensorOperation):
    """Index of the largest score along the last axis.

    >>> ArgMax()(np.array([0.1, 0.9]))
    np.int64(1)
    """

    _family = "serve"

    def row(self, scores: Any) -> Any:
        return scores.argmax(-1)


@public("serve")
class Labels(TensorOperation):
    """Map class indexes to names.

    >>> Labels(["cat", "dog"])(np.array(1)).item()
    'dog'
    """

    _family = "serve"

    def __init__(self, names: Sequence[str]) -> None:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names) or not names:
            raise ArgumentTypeError(f"Labels takes a list of names, but got {names!r}")
        self.names = tuple(names)

    def row(self, numbers: Any) -> Any:
        if np.any(numbers < 0) or np.any(numbers >= len(self.names)):
            raise ArgumentValueError(f"Labels: expected indexes below {len(self.names)}, got {numbers}")
        return np.array(self.names)[numbers]
