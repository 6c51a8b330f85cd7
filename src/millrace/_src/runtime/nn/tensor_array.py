"""``TensorArray``: a Cell that holds a list of tensors."""

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
    """A list of tensors of one shape; elements that are not written are zeros. With `dynamic_size` it grows
    on write.

    It cannot be captured: in Graph mode a step with one runs operation by operation.

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
        self._elements: list[torch.Tensor] | None = [self._zeros() for _ in range(size)]
        self._fixed = size

    def _zeros(self) -> torch.Tensor:
        return torch.zeros(self.element_shape, dtype=to_torch_dtype(self.dtype))

    def _require_open(self) -> list[torch.Tensor]:
        for listener in host_read_listeners:
            listener("the elements of a TensorArray")
        if self._elements is None:
            raise OperationError(f"TensorArray {self.name!r} was closed")
        return self._elements

    def _check_index(self, index: Any) -> int:
        if isinstance(index, Tensor):
            index = index.item()
        if not isinstance(index, int) or isinstance(index, bool):
            raise ArgumentTypeError(f"For 'TensorArray', the 'index' should be int, but got {index!r}.")
        if index < 0 or (not self.dynamic_size and index >= self._fixed):
            raise ArgumentValueError(
                f"For 'TensorArray', index {index} is out of {self._fixed} elements. "
                "Use dynamic_size=True to let it grow."
            )
        return index

    def write(self, index: Any, value: Any) -> bool:
        """Write the element at an index."""
        held, position = self._require_open(), self._check_index(index)
        element = as_torch_tensor(value)
        if tuple(element.shape) != self.element_shape:
            raise ArgumentValueError(
                f"For 'TensorArray', elements have shape {self.element_shape}, but got {tuple(element.shape)}."
            )
        held.extend(self._zeros() for _ in range(position + 1 - len(held)))
        held[position] = element.to(to_torch_dtype(self.dtype))
        return True

    def read(self, index: Any) -> Tensor:
        """The element at an index."""
        held, position = self._require_open(), self._check_index(index)
        if position >= len(held):
            raise ArgumentValueError(f"For 'TensorArray', index {position} is out of {len(held)} elements.")
        return wrap(held[position])

    def stack(self) -> Tensor:
        """Stack all elements along a new first axis."""
        held = self._require_open()
        empty = torch.empty((0, *self.element_shape), dtype=to_torch_dtype(self.dtype))
        return wrap(torch.stack(held) if held else empty)

    def size(self) -> Tensor:
        """The number of elements."""
        return Tensor(len(self._require_open()))

    def clear(self) -> bool:
        """Remove all elements; it can be written again."""
        self._require_open().clear()
        return True

    def close(self) -> bool:
        """Remove all elements permanently."""
        self._elements = None
        return True
