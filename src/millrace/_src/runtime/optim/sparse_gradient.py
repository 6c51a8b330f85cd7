"""Sparse gradients: some rows of a gradient, such as those of an embedding."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.sparse.sparse_tensor import RowTensor
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["Gradient", "RowGradient", "to_row_gradient", "to_torch_gradient"]

# A gradient of an optimizer: a PyTorch tensor, or some of its rows.
Gradient = torch.Tensor | RowTensor


@dataclasses.dataclass(frozen=True)
class RowGradient:
    """Some rows of a gradient: their indices and their values."""

    indices: torch.Tensor
    values: torch.Tensor
    shape: tuple[int, ...]

    def add(self, values: torch.Tensor) -> RowGradient:
        return self.with_values(self.values + values)

    def with_values(self, values: torch.Tensor) -> RowGradient:
        return dataclasses.replace(self, values=values)

    def to_row_tensor(self) -> RowTensor:
        return RowTensor(wrap(self.indices), wrap(self.values), self.shape)

    def dense(self) -> torch.Tensor:
        """The dense gradient; duplicate rows are added up."""
        return self.values.new_zeros(self.shape).index_add(0, self.indices, self.values)

    def row_mask(self) -> torch.Tensor:
        """A column mask of the rows that are present. No shape depends on values, so it can be captured."""
        flags = torch.zeros(self.shape[0], dtype=torch.bool, device=self.values.device)
        flags = flags.index_fill(0, self.indices, True)
        return flags.reshape((-1,) + (1,) * (len(self.shape) - 1))


def to_row_gradient(gradient: Any) -> RowGradient:
    """The rows of a sparse gradient."""
    return RowGradient(gradient.indices._torch.long(), gradient.values._torch, tuple(gradient.dense_shape))


def to_torch_gradient(gradient: Any, param: Any = None) -> Gradient:
    """A gradient for an optimizer, on the device of its parameter."""
    if isinstance(gradient, Tensor):
        data: torch.Tensor = gradient._torch
        return data if param is None else data.to(param._torch.device)
    if isinstance(gradient, RowTensor):
        if param is None:
            return gradient
        device = param._torch.device
        indices, values = gradient.indices._torch.to(device), gradient.values._torch.to(device)
        return RowTensor(wrap(indices), wrap(values), gradient.dense_shape)
    raise ArgumentTypeError(
        f"an optimizer expects the gradients of its parameters, Tensors or RowTensors, but got {gradient!r}"
    )
