"""Multi-head attention with the weights of nn.MultiheadAttention."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["multi_head_attention"]


@op(accepts=None, dtype=UNCHECKED)
def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    in_weight: Tensor | None,
    weights: list[Any],
    in_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    out_weight: Tensor,
    out_bias: Tensor | None,
    add_zero: bool = False,
    dropout: float = 0.0,
    train: bool = False,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    need_weights: bool = True,
    average: bool = True,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention: input projections, attention, output projection; optionally with the attention weights."""
    if query.shape[-1] != out_weight.shape[0]:
        raise ArgumentValueError(
            f"For 'MultiheadAttention', the last axis of 'query' must be embed_dim, {out_weight.shape[0]}, but got "
            f"{list(query.shape)}."
        )
    is_transposed = batch_first and query.ndim == 3
    if is_transposed:
        query, key, value = (each.transpose(0, 1) for each in (query, key, value))
    q, k, v = weights
    output, seen = F.multi_head_attention_forward(
        query,
        key,
        value,
        query.shape[-1],
        num_heads,
        in_weight,
        in_bias,
        bias_k,
        bias_v,
        add_zero,
        dropout,
        out_weight,
        out_bias,
        training=train,
        key_padding_mask=key_padding_mask,
        need_weights=need_weights,
        attn_mask=attn_mask,
        use_separate_proj_weight=in_weight is None,
        q_proj_weight=q,
        k_proj_weight=k,
        v_proj_weight=v,
        average_attn_weights=average,
    )
    return (output.transpose(0, 1) if is_transposed else output), seen
