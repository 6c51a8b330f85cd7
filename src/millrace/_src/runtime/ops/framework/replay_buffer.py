"""Replay buffers for reinforcement learning: a ring of rows of several tensors; new rows overwrite the oldest."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.tensor.rng_state import op_generator
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["BufferAppend", "BufferGetItem", "BufferSample"]


class _ReplayBuffer(Primitive):
    """Common base: `capacity` rows, and the shape and dtype of a row of each tensor."""

    def __init__(self, name: str, capacity: int, buffer_shape: Any, buffer_dtype: Any) -> None:
        super().__init__(name)
        if isinstance(capacity, bool) or not isinstance(capacity, int):
            raise ArgumentTypeError(f"For '{name}', 'capacity' must be an int, but got {capacity!r}.")
        if capacity < 1:
            raise ArgumentValueError(f"For '{name}', 'capacity' must be above 0, but got {capacity}.")
        shapes, dtypes = list(buffer_shape), list(buffer_dtype)
        if len(shapes) != len(dtypes) or not all(isinstance(dtype, DType) for dtype in dtypes):
            raise ArgumentTypeError(
                f"For '{name}', 'buffer_shape' and 'buffer_dtype' must be lists of one length, of shapes and of "
                f"types, but "
                f"got {buffer_shape!r} and {buffer_dtype!r}."
            )
        self.capacity, self.buffer_shape, self.buffer_dtype = capacity, shapes, dtypes

    def _data(self, buffer: Any) -> list[torch.Tensor]:
        """Tensors of the ring, after their shapes are checked."""
        tensors = [part._torch if isinstance(part, Tensor) else part for part in buffer]
        for part, shape in zip(tensors, self.buffer_shape, strict=True):
            if not isinstance(part, torch.Tensor) or tuple(part.shape) != (self.capacity, *shape):
                raise ArgumentValueError(
                    f"For '{self.name}', a buffer must be a Parameter of the shape {(self.capacity, *shape)}, but got "
                    f"{getattr(part, 'shape', part)!r}."
                )
        return tensors


@public("ops")
class BufferAppend(_ReplayBuffer):
    """Append one or several rows; a full ring overwrites the oldest. `count` and `head` (the index of the oldest row)
    are Parameters of one int32, and are updated.

    >>> from millrace import Parameter, Tensor, float32, int32
    >>> ring = [Parameter(Tensor([[0.0], [0.0]]))]
    >>> count, head = Parameter(Tensor([0], int32)), Parameter(Tensor([0], int32))
    >>> append = BufferAppend(2, [(1,)], [float32])
    >>> for value in (1.0, 2.0, 3.0):
    ...     _ = append(ring, [Tensor([value])], count, head)
    >>> ring[0].asnumpy().tolist(), count.asnumpy().tolist(), head.asnumpy().tolist()
    ([[3.0], [2.0]], [2], [1])
    """

    def __init__(self, capacity: int, buffer_shape: Any, buffer_dtype: Any) -> None:
        super().__init__("BufferAppend", capacity, buffer_shape, buffer_dtype)

    def __call__(self, buffer: Any, exp: Any, count: Tensor, head: Tensor) -> Tensor:
        with torch.no_grad():
            held, rows = self._data(buffer), [part._torch for part in exp]
            several = rows[0].ndim > len(self.buffer_shape[0])
            rows = [part if several else part.unsqueeze(0) for part in rows]
            for part, shape in zip(rows, self.buffer_shape, strict=True):
                if (
                    tuple(part.shape[1:]) != tuple(shape)
                    or len(part) != len(rows[0])
                    or len(part) > self.capacity
                ):
                    raise ArgumentValueError(
                        f"For 'BufferAppend', rows must have the shapes {self.buffer_shape}, and be at most "
                        f"{self.capacity}, but got {[list(each.shape) for each in rows]}."
                    )
            many, filled, first = len(rows[0]), count._torch, head._torch
            positions = (first + filled + torch.arange(many, device=filled.device)).remainder(self.capacity)
            for part, row in zip(held, rows, strict=True):
                part.index_copy_(0, positions, row.to(part.dtype))
            whole = filled + many
            first.copy_((first + (whole - self.capacity).clamp_min(0)).remainder(self.capacity))
            filled.copy_(whole.clamp_max(self.capacity))
        return count


@public("ops")
class BufferGetItem(_ReplayBuffer):
    """Row of the ring by index: 0 is the oldest, -1 the newest."""

    def __init__(self, capacity: int, buffer_shape: Any, buffer_dtype: Any) -> None:
        super().__init__("BufferGetItem", capacity, buffer_shape, buffer_dtype)

    def __call__(self, buffer: Any, count: Tensor, head: Tensor, index: Any) -> tuple[Tensor, ...]:
        position = int(index._torch if isinstance(index, Tensor) else index)
        filled = int(count._torch)
        if not -filled <= position < filled:
            raise ArgumentValueError(
                f"For 'BufferGetItem', the index must be in [{-filled}, {filled}), the rows of the buffer, but "
                f"got {position}."
            )
        at = (int(head._torch) + position % filled) % self.capacity
        return tuple(wrap(part[at].clone()) for part in self._data(buffer))


@public("ops")
class BufferSample(_ReplayBuffer):
    """Random rows of the ring; with `unique` without replacement."""

    def __init__(
        self,
        capacity: int,
        batch_size: int,
        buffer_shape: Any,
        buffer_dtype: Any,
        seed: int = 0,
        unique: bool = False,
    ) -> None:
        super().__init__("BufferSample", capacity, buffer_shape, buffer_dtype)
        if isinstance(batch_size, bool) or not isinstance(batch_size, int):
            raise ArgumentTypeError(
                f"For 'BufferSample', 'batch_size' must be an int, but got {batch_size!r}."
            )
        if not 0 < batch_size <= capacity:
            raise ArgumentValueError(
                f"For 'BufferSample', 'batch_size' must be in (0, {capacity}], but got {batch_size}."
            )
        self.batch_size, self.seed, self.unique = batch_size, seed, unique

    def __call__(self, buffer: Any, count: Tensor, head: Tensor) -> tuple[Tensor, ...]:
        filled = int(count._torch)
        if filled < (self.batch_size if self.unique else 1):
            raise ArgumentValueError(
                f"For 'BufferSample', {self.batch_size} rows were requested, but the buffer holds {filled}."
            )
        held = self._data(buffer)
        device = held[0].device
        weights = torch.ones(filled, device=device)
        sampled = torch.multinomial(
            weights,
            self.batch_size,
            replacement=not self.unique,
            generator=op_generator(self.seed, device=device),
        )
        positions = (sampled + int(head._torch)).remainder(self.capacity)
        return tuple(wrap(part[positions]) for part in held)
