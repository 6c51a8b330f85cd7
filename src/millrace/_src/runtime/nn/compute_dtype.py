"""Computing in another floating type inside a Cell: its arguments and its own parameters are cast on their way in.

The parameters keep their type and memory: while ``construct`` runs, the attributes that hold them give cast tensors,
through which gradients pass. An operation that meets two types all the same, as with the parameter of another Cell,
is computed in the Cell's type (``ops/table.py`` asks ``modes.state.precision``).
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
    """Floating tensors in another floating type."""
    if isinstance(value, Tensor):
        return value.astype(dtype) if value.dtype.python is float else value
    if isinstance(value, (tuple, list)):
        return type(value)(cast_floats(part, dtype) for part in value)
    if isinstance(value, dict):
        return {name: cast_floats(part, dtype) for name, part in value.items()}
    return value


@contextmanager
def parameters_cast_to(cell: Cell, dtype: DType) -> Iterator[None]:
    """In here the Cell's own parameters are of this floating type."""
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
    """Attributes with trained parameters; the others are statistics and counts, which are written to."""
    return [
        name
        for name, value in held.items()
        if (isinstance(value, Parameter) and value.requires_grad) or isinstance(value, ParameterTuple)
    ]
