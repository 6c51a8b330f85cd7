"""Cells that hold tensors by number, sparse products, and the next batch of a queue."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import as_torch_tensor, host_read_listeners, to_torch_dtype, wrap

from .cell import Cell

__all__ = ["TensorArray"]


@public("nn")
class TensorArray(Cell):
    """Tensors of one shape by number; those not written yet are zeros. With `dynamic_size` it grows as it is written.

    A recording cannot follow what it holds: a step with one runs operation by operation in Graph mode.

    >>> from millrace import float32
    >>> array = TensorArray(float32, ())
    >>> array.write(0, 1.0), array.write(2, 3.0)
    (True, True)
    >>> array.stack().tolist(), array.size().item()
    ([1.0, 0.0, 3.0], 3)
    """

    def __init__(
        self, dtype: DType, element_shape: Any, dynamic_size: bool = True, size: int = 0, name: str = "TA"
    ) -> None:
        super().__init__()
        if not isinstance(dtype, DType):
            raise ArgumentTypeError(
                f"For 'TensorArray', 'dtype' must be a type of elements, but got {dtype!r}."
            )
        if not isinstance(element_shape, (tuple, list)):
            raise ArgumentTypeError(
                f"For 'TensorArray', 'element_shape' must be a tuple, but got {element_shape!r}."
            )
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ArgumentValueError(
                f"For 'TensorArray', 'size' must be int and must >= 0, but got {size!r}."
            )
        self.dtype, self.element_shape = dtype, tuple(element_shape)
        self.dynamic_size, self.name = dynamic_size, name
        self._held: list[torch.Tensor] | None = [self._zeros() for _ in range(size)]
        self._fixed = size

    def _zeros(self) -> torch.Tensor:
        return torch.zeros(self.element_shape, dtype=to_torch_dtype(self.dtype))

    def _open(self) -> list[torch.Tensor]:
        for told in host_read_listeners:
            told("what a TensorArray holds")
        if self._held is None:
            raise OperationError(f"TensorArray {self.name!r} was closed")
        return self._held

    def _place(self, index: Any) -> int:
        if isinstance(index, Tensor):
            index = index.item()
        if not isinstance(index, int) or isinstance(index, bool):
            raise ArgumentTypeError(f"For 'TensorArray', the 'index' should be int, but got {index!r}.")
        if index < 0 or (not self.dynamic_size and index >= self._fixed):
            raise ArgumentValueError(
                f"For 'TensorArray', index {index} is out of {self._fixed} elements; dynamic_size=True lets it grow."
            )
        return index

    def write(self, index: Any, value: Any) -> bool:
        """Put a value in a place."""
        held, place = self._open(), self._place(index)
        given = as_torch_tensor(value)
        if tuple(given.shape) != self.element_shape:
            raise ArgumentValueError(
                f"For 'TensorArray', elements have shape {self.element_shape}, but got {tuple(given.shape)}."
            )
        held.extend(self._zeros() for _ in range(place + 1 - len(held)))
        held[place] = given.to(to_torch_dtype(self.dtype))
        return True

    def read(self, index: Any) -> Tensor:
        """The tensor in a place."""
        held, place = self._open(), self._place(index)
        if place >= len(held):
            raise ArgumentValueError(f"For 'TensorArray', index {place} is out of {len(held)} elements.")
        return wrap(held[place])

    def stack(self) -> Tensor:
        """All tensors as one, along a new first axis."""
        held = self._open()
        empty = torch.empty((0, *self.element_shape), dtype=to_torch_dtype(self.dtype))
        return wrap(torch.stack(held) if held else empty)

    def size(self) -> Tensor:
        """How many there are."""
        return Tensor(len(self._open()))

    def clear(self) -> bool:
        """Let go of all of them; it can be written again."""
        self._open().clear()
        return True

    def close(self) -> bool:
        """Let go of all of them for good."""
        self._held = None
        return True
