"""Compute dtype of a Cell: its arguments and parameters are cast to another floating dtype.

The parameters keep their dtype and memory: while ``construct`` runs, the attributes that hold them return
cast tensors, through which gradients flow. An operation with mixed dtypes, as with the parameter of another
Cell, is computed in the Cell's dtype (``ops`` reads ``thread_state.compute_dtype``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple
from millrace._src.runtime.tensor.storage import TORCH_DTYPES

if TYPE_CHECKING:
    from .cell import Cell

__all__ = ["cast_floats", "parameters_cast_to"]


def cast_floats(value: Any, dtype: DType) -> Any:
    """Cast floating tensors to another floating dtype."""
    if isinstance(value, Tensor):
        return value.astype(dtype) if value.dtype.python is float else value
    if isinstance(value, (tuple, list)):
        return type(value)(cast_floats(part, dtype) for part in value)
    if isinstance(value, dict):
        return {name: cast_floats(part, dtype) for name, part in value.items()}
    return value


@contextmanager
def parameters_cast_to(cell: Cell, dtype: DType) -> Iterator[None]:
    """Cast the Cell's parameters to this floating dtype inside the block."""
    held = cell.__dict__
    before = {} if cell.keep_parameter_dtype else {name: held[name] for name in _trainable_attributes(held)}
    outer = modes.thread_state.compute_dtype
    modes.thread_state.compute_dtype = TORCH_DTYPES[dtype]
    try:
        for name, value in before.items():
            held[name] = (
                cast_floats(tuple(value), dtype)
                if isinstance(value, ParameterTuple)
                else cast_floats(value, dtype)
            )
        yield
    finally:
        modes.thread_state.compute_dtype = outer
        held.update(before)


def _trainable_attributes(held: dict[str, Any]) -> list[str]:
    """Attributes with trainable parameters; the others are statistics and counters, which are written to."""
    return [
        name
        for name, value in held.items()
        if (isinstance(value, Parameter) and value.requires_grad) or isinstance(value, ParameterTuple)
    ]
