"""Embedding lookup."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.array.gather import index_select_nd
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.index_arguments import check_integer_indices
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["EmbeddingLookup", "embedding", "embedding_lookup", "lookup_rows_or_zero", "multi_field_embedding"]


@op(dtype=SAME)
def embedding_lookup(input_params: Tensor, input_indices: Tensor, offset: int) -> Tensor:
    """The rows that the indices name after `offset` is taken off; zeros for rows that are not there."""
    places = check_integer_indices("EmbeddingLookup", input_indices).long() - offset
    inside = (places >= 0) & (places < input_params.shape[0])
    made = index_select_nd("EmbeddingLookup", input_params, torch.where(inside, places, 0), 0)
    return made * inside.reshape(*inside.shape, *[1] * (input_params.ndim - 1)).to(made.dtype)


EmbeddingLookup = primitive("EmbeddingLookup", embedding_lookup, init=())


def _row_numbers(name: str, ids: Tensor) -> None:
    if ids.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For '{name}', the indices must be int32 or int64, but got {ids.dtype}.")


@op(dtype=UNCHECKED)
def lookup_rows_or_zero(table: Tensor, ids: Tensor, max_norm: float | None = None) -> Tensor:
    """The rows that `ids` number; zeros for numbers that no row has. Rows longer than `max_norm` are shortened."""
    _row_numbers("EmbeddingLookup", ids)
    known = (ids >= 0) & (ids < table.shape[0])
    found = F.embedding(ids.clamp(0, table.shape[0] - 1), table) * known.unsqueeze(-1).to(table.dtype)
    if max_norm is None:
        return found
    norm = torch.linalg.vector_norm(found, 2, -1, True)
    return found * (max_norm / norm.clamp_min(max_norm))


@op(dtype=UNCHECKED)
def multi_field_embedding(
    table: Tensor,
    ids: Tensor,
    values: Tensor,
    fields: Tensor,
    count: int,
    operator: str = "SUM",
    max_norm: float | None = None,
) -> Tensor:
    """The rows of `table` that (batch, entries) `ids` number, times `values`, joined for each of `count` fields."""
    if ids.shape != fields.shape or ids.shape != values.shape or ids.ndim != 2:
        raise ArgumentValueError(
            f"For 'MultiFieldEmbeddingLookup', indices, values and fields must have one shape of 2 axes, but got "
            f"{list(ids.shape)}, {list(values.shape)} and {list(fields.shape)}."
        )
    rows = lookup_rows_or_zero.raw(table, ids, max_norm) * values.unsqueeze(-1)
    where = fields.long().unsqueeze(-1).expand_as(rows)
    shape = (ids.shape[0], count, table.shape[1])
    if operator == "MAX":
        start = rows.new_zeros(shape)
        return start.scatter_reduce(1, where, rows, "amax", include_self=False)
    whole = rows.new_zeros(shape).scatter_add(1, where, rows)
    if operator == "SUM":
        return whole
    parts = rows.new_zeros((*shape[:2], 1)).scatter_add(1, where[..., :1], values.unsqueeze(-1))
    return whole / torch.where(parts == 0, torch.ones_like(parts), parts.abs())


@op("ops", "mint.nn.functional", dtype=UNCHECKED)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` numbers; `max_norm` first shortens rows that are longer, in place."""
    if input.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'embedding', 'input' must be int32 or int64, but got {input.dtype}.")
    return F.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
