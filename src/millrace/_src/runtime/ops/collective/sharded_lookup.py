"""Lookup in an embedding table that is sharded over processes, on PyTorch tensors."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from . import functional as collective

__all__ = ["sharded_lookup"]


class _ScaleGradient(torch.autograd.Function):
    """Identity whose gradient is multiplied by a number."""

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
    """Look up rows of a table of which this process has the rows from `first` on, and other processes the rest.

    The ids of all processes are gathered, each process looks up the ids it has, and the results are summed. No
    shape depends on values, so a step can be captured. The table's gradient is multiplied by `factor`.
    """
    local_ids = collective.all_gather(ids.reshape(-1), group) - first
    mine = (local_ids >= 0) & (local_ids < table.shape[0])
    local_rows = F.embedding(local_ids.clamp(0, table.shape[0] - 1), table) * mine.unsqueeze(-1).to(
        table.dtype
    )
    if factor != 1.0:
        local_rows = _ScaleGradient.apply(local_rows, factor)
    rows = collective.reduce_scatter(local_rows, "sum", group).reshape(*ids.shape, table.shape[1])
    if max_norm is None:
        return rows
    norm = torch.linalg.vector_norm(rows, 2, -1, True)
    return rows * (max_norm / norm.clamp_min(max_norm))
