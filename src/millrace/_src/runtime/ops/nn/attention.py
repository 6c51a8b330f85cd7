"""Scaled dot-product, flash and multi-head attention, rotary position embedding."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ALL_TOKENS",
    "flash_attention_score",
    "from_bnsd",
    "multi_head_attention",
    "multi_scale_deformable_attn_function",
    "rotary_position_embedding",
    "sliding_window_mask",
    "to_bnsd",
]

ALL_TOKENS = 2147483647


def to_bnsd(x: Tensor, layout: str, heads: int) -> Tensor:
    """Convert a tensor from another layout to (batch, heads, length, width)."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "SBH":
        x = x.transpose(0, 1)
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def from_bnsd(x: Tensor, layout: str) -> Tensor:
    """Convert a tensor from (batch, heads, length, width) to another layout."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    flat = x.transpose(1, 2).flatten(2)
    return flat.transpose(0, 1) if layout == "SBH" else flat


def sliding_window_mask(
    length: int, key_length: int, before: int, after: int, shift: int, device: torch.device
) -> Tensor:
    """Mask of the positions that each position attends to: `before` and `after` it."""
    away = torch.arange(key_length, device=device) - torch.arange(length, device=device).unsqueeze(1) - shift
    return (away >= -before) & (away <= after)


@op("ops", dtype=SAME)
def flash_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    real_shift: Tensor | None = None,
    drop_mask: Tensor | None = None,
    padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    keep_prob: float = 1.0,
    scalar_value: float = 1.0,
    pre_tokens: int = ALL_TOKENS,
    next_tokens: int = ALL_TOKENS,
    inner_precise: int = 0,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
) -> Tensor:
    """dropout(softmax(mask(scale * (query @ key + real_shift)))) @ value; a mask is true where attention is blocked.

    MindSpore has it on Ascend only. Here PyTorch's attention computes it, also with fewer key heads than query
    heads. Layouts BSH, BNSD, SBH and BSND; sparse modes 0 (the mask, and `pre_tokens`, `next_tokens`), 1 (the
    mask), 2 and 3 (causal, aligned at the first or the last position).
    """
    name = "flash_attention_score"
    if input_layout not in ("BSH", "BNSD", "SBH", "BSND"):
        raise ArgumentValueError(
            f"For '{name}', 'input_layout' must be BSH, BNSD, SBH or BSND here, but got {input_layout!r}."
        )
    if sparse_mode not in (0, 1, 2, 3):
        raise ArgumentValueError(
            f"For '{name}', 'sparse_mode' must be 0, 1, 2 or 3 here, but got {sparse_mode!r}."
        )
    extra = {"drop_mask": drop_mask, "prefix": prefix, "actual_seq_qlen": actual_seq_qlen}
    for label, argument in {
        **extra,
        "actual_seq_kvlen": actual_seq_kvlen,
        "padding_mask": padding_mask,
    }.items():
        if argument is not None:
            raise ArgumentValueError(f"For '{name}', '{label}' must be None here: write it into 'attn_mask'.")
    if isinstance(keep_prob, bool) or not isinstance(keep_prob, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'keep_prob' must be a number, but got {keep_prob!r}.")
    if not 0 < keep_prob <= 1:
        raise ArgumentValueError(f"For '{name}', 'keep_prob' must be in (0, 1], but got {keep_prob}.")
    q = to_bnsd(query, input_layout, head_num)
    width = q.shape[3]
    k, v = (
        to_bnsd(x, input_layout, x.shape[2] // width if input_layout in ("BSH", "SBH") else head_num)
        for x in (key, value)
    )
    length, key_length = q.shape[2], k.shape[2]
    allowed: Tensor | None = None
    if sparse_mode in (2, 3):
        allowed = sliding_window_mask(
            length, key_length, ALL_TOKENS, 0, key_length - length if sparse_mode == 3 else 0, q.device
        )
    else:
        if attn_mask is not None:
            allowed = ~attn_mask.bool()
        if sparse_mode == 0 and (pre_tokens < key_length or next_tokens < key_length):
            band = sliding_window_mask(length, key_length, pre_tokens, next_tokens, 0, q.device)
            allowed = band if allowed is None else allowed & band
    bias: Tensor | None = allowed
    if real_shift is not None:
        bias = real_shift.to(q.dtype) * scalar_value
        if allowed is not None:
            bias = bias.masked_fill(~allowed, float("-inf"))
    output = F.scaled_dot_product_attention(
        q, k, v, bias, 1 - keep_prob, scale=scalar_value, enable_gqa=k.shape[1] != q.shape[1]
    )
    return from_bnsd(output, input_layout)


@op("ops", accepts=FLOATS, dtype=SAME)
def rotary_position_embedding(x: Tensor, cos: Tensor, sin: Tensor, mode: int = 0) -> Tensor:
    """Rotary position embedding: x * cos + rotate(x) * sin. Mode 0 rotates the halves of the last axis, mode 1
    adjacent elements.
    """
    if mode not in (0, 1):
        raise ArgumentValueError(f"For 'rotary_position_embedding', 'mode' must be 0 or 1, but got {mode!r}.")
    if mode == 0:
        first, second = x.chunk(2, -1)
        rotated = torch.cat([-second, first], -1)
    else:
        rotated = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * cos + rotated * sin


@op("ops", accepts=None, dtype=SAME)
def multi_scale_deformable_attn_function(
    value: Tensor, shape: Tensor, offset: Tensor, locations: Tensor, weight: Tensor
) -> Tensor:
    """Multi-scale deformable attention: weighted sum of feature-map values at sampled locations.

    `value` is (batch, positions of all maps, heads, width), with the (height, width) and the offset of each map.
    Locations are (batch, queries, heads, maps, points, 2) from 0 to 1; weights have the same shape without the last
    axis.
    """
    if value.ndim != 4 or locations.ndim != 6 or weight.ndim != 5 or shape.ndim != 2:
        raise ArgumentValueError(
            f"For 'multi_scale_deformable_attn_function', the shapes must be (B, K, N, D), (L, 2), (L,), (B, Q, "
            f"N, L, P, 2) "
            f"and (B, Q, N, L, P), but got {[list(part.shape) for part in (value, shape, offset, locations, weight)]}."
        )
    batch, _, heads, width = value.shape
    grids = 2 * locations - 1
    seen = []
    for level, ((height, across), start) in enumerate(
        zip(to_python_list(shape), to_python_list(offset), strict=True)
    ):
        map_ = (
            value[:, start : start + height * across].permute(0, 2, 3, 1).reshape(-1, width, height, across)
        )
        grid = grids[:, :, :, level].transpose(1, 2).flatten(0, 1)
        seen.append(F.grid_sample(map_, grid, mode="bilinear", padding_mode="zeros", align_corners=False))
    shares = weight.permute(0, 2, 1, 3, 4).reshape(batch * heads, 1, weight.shape[1], -1)
    output = (torch.stack(seen, -2).flatten(-2) * shares).sum(-1)
    return output.reshape(batch, heads * width, -1).transpose(1, 2)


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
