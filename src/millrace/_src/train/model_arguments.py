"""Checks of the arguments of ``Model`` and of ``Model.predict``."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell

__all__ = ["check_loss_and_optimizer", "check_predict_input", "first_input_shape"]


def check_loss_and_optimizer(loss_fn: Any, optimizer: Any) -> None:
    """Refuse what is no loss function or no optimizer."""
    if loss_fn is not None and not callable(loss_fn):
        raise ArgumentTypeError(
            f"The type of 'loss_fn' should be 'Cell', but got type '{type(loss_fn).__name__}'."
        )
    if optimizer is not None and not (isinstance(optimizer, Cell) and hasattr(optimizer, "parameters")):
        raise ArgumentTypeError(
            "The type of 'optimizer' should be one of '['Optimizer', 'FreezeOpt', 'AdaSumByGradWrapCell', "
            f"'AdaSumByDeltaWeightWrapCell']', but got type '{type(optimizer).__name__}'."
        )


def first_input_shape(batch: Any) -> tuple[Any, ...] | None:
    """The shape of a batch's first input, whatever its number of rows."""
    first = batch[0] if isinstance(batch, (tuple, list)) and batch else None
    return ("N", *first.shape[1:]) if isinstance(first, Tensor) and first.shape else None


def check_predict_input(value: Any) -> None:
    """Refuse an input of ``Model.predict`` that holds anything but tensors and plain values."""
    plain = (Tensor, int, float, str, type(None))
    parts = (
        value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else [value]
    )
    if not all(isinstance(part, plain) for part in parts):
        raise ArgumentTypeError(
            "The types of input data must be in the Union(Tensor, None, int, float, str, tuple[Tensor, None, int, "
            "float, str], list[Tensor, None, int, float, str], dict[Tensor, None, int, float, str]), but got type "
            f"{type(value).__name__}. Write Tensor(array) for an array."
        )
