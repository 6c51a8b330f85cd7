"""Embedding lookup: embedding, embedding_lookup, multi_field_embedding."""

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
    """Rows by index, after `offset` is subtracted; zeros for indices out of range."""
    rows = check_integer_indices("EmbeddingLookup", input_indices).long() - offset
    inside = (rows >= 0) & (rows < input_params.shape[0])
    vectors = index_select_nd("EmbeddingLookup", input_params, torch.where(inside, rows, 0), 0)
    return vectors * inside.reshape(*inside.shape, *[1] * (input_params.ndim - 1)).to(vectors.dtype)


EmbeddingLookup = primitive("EmbeddingLookup", embedding_lookup, init=())


def _check_ids(name: str, ids: Tensor) -> None:
    if ids.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For '{name}', the indices must be int32 or int64, but got {ids.dtype}.")


@op(dtype=UNCHECKED)
def lookup_rows_or_zero(table: Tensor, ids: Tensor, max_norm: float | None = None) -> Tensor:
    """Rows by id; zeros for ids out of range. Rows with a norm above `max_norm` are scaled down to it."""
    _check_ids("EmbeddingLookup", ids)
    known = (ids >= 0) & (ids < table.shape[0])
    vectors = F.embedding(ids.clamp(0, table.shape[0] - 1), table) * known.unsqueeze(-1).to(table.dtype)
    if max_norm is None:
        return vectors
    norm = torch.linalg.vector_norm(vectors, 2, -1, True)
    return vectors * (max_norm / norm.clamp_min(max_norm))


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
    """Rows of `table` for (batch, entries) `ids`, times `values`, reduced for each of `count` fields."""
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
    """Embedding: rows of `weight` by index. With `max_norm`, rows with a larger norm are scaled down in place first."""
    if input.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'embedding', 'input' must be int32 or int64, but got {input.dtype}.")
    return F.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
