"""Rows of a table that is divided among processes, on tensors of PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from . import functional as collective

__all__ = ["sharded_lookup"]


class _ScaleGradient(torch.autograd.Function):
    """The same values; the gradient times a number."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.factor, None


def sharded_lookup(
    table: torch.Tensor,
    ids: torch.Tensor,
    first: int,
    group: str,
    factor: float = 1.0,
    max_norm: float | None = None,
) -> torch.Tensor:
    """The rows that `ids` number, of a table whose rows from `first` on this process has, and the others the rest.

    All processes ask all: each finds what it has of the numbers of all, and what was found is added up. No shape
    depends on values, so that a step can be recorded. The table's gradient is multiplied by `factor`.
    """
    asked = collective.all_gather(ids.reshape(-1), group) - first
    mine = (asked >= 0) & (asked < table.shape[0])
    found = F.embedding(asked.clamp(0, table.shape[0] - 1), table) * mine.unsqueeze(-1).to(table.dtype)
    if factor != 1.0:
        found = _ScaleGradient.apply(found, factor)
    made = collective.reduce_scatter(found, "sum", group).reshape(*ids.shape, table.shape[1])
    if max_norm is None:
        return made
    norm = torch.linalg.vector_norm(made, 2, -1, True)
    return made * (max_norm / norm.clamp_min(max_norm))
