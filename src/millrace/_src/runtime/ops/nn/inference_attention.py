"""Attention for inference of large models: prompts, key-value caches, pages.

MindSpore has these on Ascend only, so nothing is recorded of them: the tests compare with their definitions.
Options for quantized caches are rejected.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import upcast_half
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

from .attention import ALL_TOKENS, from_bnsd, sliding_window_mask, to_bnsd

__all__ = [
    "PagedAttention",
    "PagedAttentionMask",
    "ReshapeAndCache",
    "fused_infer_attention_score",
    "incre_flash_attention",
    "paged_attention",
    "prompt_flash_attention",
    "ring_attention_update",
    "speed_fusion_attention",
    "reshape_and_cache",
]


def _check_unsupported(name: str, **arguments: Any) -> None:
    """Check that unsupported options are omitted."""
    for label, value in arguments.items():
        if value is not None:
            raise ArgumentValueError(
                f"For '{name}', '{label}' must be None here: no cache is quantised or cut in this way."
            )


def _check_layout(name: str, layout: str, query: Tensor) -> None:
    if layout not in ("BSH", "BNSD", "SBH", "BSND"):
        raise ArgumentValueError(
            f"For '{name}', the layout must be BSH, BNSD, SBH or BSND, but got {layout!r}."
        )
    if query.ndim != (3 if layout in ("BSH", "SBH") else 4):
        raise ArgumentValueError(
            f"For '{name}', a tensor of the layout {layout} cannot have the shape {list(query.shape)}."
        )


def _expand_lengths(lengths: Any, batch: int, device: torch.device) -> Tensor:
    """One length per batch row, from numbers or a tensor."""
    per_sequence = torch.as_tensor(lengths, device=device).reshape(-1)
    return per_sequence.expand(batch) if len(per_sequence) == 1 else per_sequence


def _compute_scores(
    q: Tensor, k: Tensor, scale: float, shift: Tensor | None, allowed: Tensor | None
) -> Tensor:
    """Attention scores (rows: queries, columns: keys) before the softmax; a key head may serve several query heads."""
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = torch.matmul(upcast_half(q), upcast_half(k).transpose(-1, -2)) * scale
    scores = scores if shift is None else scores + shift
    return scores if allowed is None else scores.masked_fill(~allowed, float("-inf"))


def _apply_attention(scores: Tensor, v: Tensor, like: Tensor, keep: float = 1.0) -> Tensor:
    """Values weighted by the softmax of the scores; 0 where every key is masked."""
    v = v.repeat_interleave(scores.shape[1] // v.shape[1], 1)
    shares = torch.nan_to_num(torch.softmax(scores, -1))
    return torch.matmul(F.dropout(shares, 1 - keep), upcast_half(v)).to(like.dtype)


def _attention_mask(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None,
    mode: int,
    before: int,
    after: int,
    lengths: Any,
    key_lengths: Any,
) -> Tensor | None:
    """Mask of the keys (columns) that each query (row) attends to, or None for all."""
    length, count = q.shape[2], k.shape[2]
    allowed: Tensor | None = None
    if mode in (2, 3):
        allowed = sliding_window_mask(
            length, count, ALL_TOKENS, 0, count - length if mode == 3 else 0, q.device
        )
    elif mask is not None:
        allowed = ~mask.bool()
        if mode == 0 and (before < count or after < count):
            allowed = allowed & sliding_window_mask(length, count, before, after, 0, q.device)
    for axis, sequence_lengths, total in ((2, lengths, length), (3, key_lengths, count)):
        if sequence_lengths is not None:
            positions = torch.arange(total, device=q.device)
            shape = [-1, 1, 1, 1]
            inside = positions < _expand_lengths(sequence_lengths, q.shape[0], q.device).reshape(-1, 1)
            shape[axis] = total
            shape[0] = q.shape[0]
            allowed = inside.reshape(shape) if allowed is None else allowed & inside.reshape(shape)
    return allowed


def _check_sparse_mode(name: str, mode: Any) -> None:
    if mode not in (0, 1, 2, 3):
        raise ArgumentValueError(f"For '{name}', 'sparse_mode' must be 0, 1, 2 or 3 here, but got {mode!r}.")


def _split_inputs(
    name: str, layout: str, query: Tensor, key: Any, value: Any, heads: int, kept: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value as (batch, heads, length, width); keys may be given as a list of one."""
    _check_layout(name, layout, query)
    key, value = (part[0] if isinstance(part, (list, tuple)) else part for part in (key, value))
    return (
        to_bnsd(query, layout, heads),
        to_bnsd(key, layout, kept or heads),
        to_bnsd(value, layout, kept or heads),
    )


@op("ops", dtype=SAME)
def prompt_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None,
    pse_shift: Tensor | None = None,
    deq_scale1: Any = None,
    quant_scale1: Any = None,
    deq_scale2: Any = None,
    quant_scale2: Any = None,
    quant_offset2: Any = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = ALL_TOKENS,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 1,
) -> Tensor:
    """Attention over whole prompts. A mask is true where attention is blocked; without a mask nothing is blocked in
    modes 0 and 1.
    """
    name = "prompt_flash_attention"
    _check_unsupported(
        name, deq_scale1=deq_scale1, quant_scale1=quant_scale1, deq_scale2=deq_scale2,
        quant_scale2=quant_scale2, quant_offset2=quant_offset2,
    )  # fmt: skip
    _check_sparse_mode(name, sparse_mode)
    q, k, v = _split_inputs(name, input_layout, query, key, value, num_heads, num_key_value_heads)
    allowed = _attention_mask(
        q, k, attn_mask, sparse_mode, pre_tokens, next_tokens, actual_seq_lengths, actual_seq_lengths_kv
    )
    return from_bnsd(
        _apply_attention(_compute_scores(q, k, scale_value, pse_shift, allowed), v, q), input_layout
    )


@op("ops", dtype=SAME)
def incre_flash_attention(
    query: Tensor,
    key: Any,
    value: Any,
    attn_mask: Tensor | None = None,
    actual_seq_lengths: Any = None,
    pse_shift: Tensor | None = None,
    dequant_scale1: Any = None,
    quant_scale1: Any = None,
    dequant_scale2: Any = None,
    quant_scale2: Any = None,
    quant_offset2: Any = None,
    antiquant_scale: Any = None,
    antiquant_offset: Any = None,
    block_table: Any = None,
    num_heads: int = 1,
    input_layout: str = "BSH",
    scale_value: float = 1.0,
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
    kv_padding_size: Any = None,
) -> Tensor:
    """Incremental attention: one new position over the keys and values so far."""
    name = "incre_flash_attention"
    _check_unsupported(
        name, dequant_scale1=dequant_scale1, quant_scale1=quant_scale1, dequant_scale2=dequant_scale2,
        quant_scale2=quant_scale2, quant_offset2=quant_offset2, antiquant_scale=antiquant_scale,
        antiquant_offset=antiquant_offset, block_table=block_table, kv_padding_size=kv_padding_size,
    )  # fmt: skip
    q, k, v = _split_inputs(name, input_layout, query, key, value, num_heads, num_key_value_heads)
    allowed = _attention_mask(q, k, attn_mask, 1, 0, 0, None, actual_seq_lengths)
    return from_bnsd(
        _apply_attention(_compute_scores(q, k, scale_value, pse_shift, allowed), v, q), input_layout
    )


@op("ops", dtype=UNCHECKED)
def fused_infer_attention_score(
    query: Tensor,
    key: Any,
    value: Any,
    *,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None,
    dequant_scale1: Any = None,
    quant_scale1: Any = None,
    dequant_scale2: Any = None,
    quant_scale2: Any = None,
    quant_offset2: Any = None,
    antiquant_scale: Any = None,
    antiquant_offset: Any = None,
    key_antiquant_scale: Any = None,
    key_antiquant_offset: Any = None,
    value_antiquant_scale: Any = None,
    value_antiquant_offset: Any = None,
    block_table: Any = None,
    query_padding_size: Any = None,
    kv_padding_size: Any = None,
    key_shared_prefix: Any = None,
    value_shared_prefix: Any = None,
    actual_shared_prefix_len: Any = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = ALL_TOKENS,
    next_tokens: int = ALL_TOKENS,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 1,
    block_size: int = 0,
    antiquant_mode: int = 0,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention of prompts or of one new position. With `softmax_lse_flag`, also the log-sum-exp of each position
    (batch, heads, length, 1), else 0.
    """
    name = "fused_infer_attention_score"
    _check_unsupported(
        name, dequant_scale1=dequant_scale1, quant_scale1=quant_scale1, dequant_scale2=dequant_scale2,
        quant_scale2=quant_scale2, quant_offset2=quant_offset2, antiquant_scale=antiquant_scale,
        antiquant_offset=antiquant_offset, key_antiquant_scale=key_antiquant_scale,
        key_antiquant_offset=key_antiquant_offset, value_antiquant_scale=value_antiquant_scale,
        value_antiquant_offset=value_antiquant_offset, block_table=block_table, query_padding_size=query_padding_size,
        kv_padding_size=kv_padding_size, key_shared_prefix=key_shared_prefix, value_shared_prefix=value_shared_prefix,
        actual_shared_prefix_len=actual_shared_prefix_len,
    )  # fmt: skip
    _check_sparse_mode(name, sparse_mode)
    q, k, v = _split_inputs(name, input_layout, query, key, value, num_heads, num_key_value_heads)
    allowed = _attention_mask(
        q, k, atten_mask, sparse_mode, pre_tokens, next_tokens, actual_seq_lengths, actual_seq_lengths_kv
    )
    scores = _compute_scores(q, k, scale, pse_shift, allowed)
    total = torch.logsumexp(scores, -1, keepdim=True) if softmax_lse_flag else scores.new_zeros(1)
    return from_bnsd(_apply_attention(scores, v, q), input_layout), total


@op("ops", dtype=UNCHECKED, random=True)
def speed_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Any = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = ALL_TOKENS,
    next_tokens: int = ALL_TOKENS,
    inner_precise: int = 0,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: Any = None,
    kv_start_idx: Any = None,
) -> tuple[Any, ...]:
    """Attention for training. Returns the output, the largest score and the sum of exponentials of each position
    (repeated eight times, as on Ascend), an empty tensor, and the seeds for repeating dropout, which are 0 here.
    """
    name = "speed_fusion_attention"
    _check_unsupported(
        name, padding_mask=padding_mask, prefix=prefix, actual_seq_qlen=actual_seq_qlen,
        actual_seq_kvlen=actual_seq_kvlen, q_start_idx=q_start_idx, kv_start_idx=kv_start_idx,
    )  # fmt: skip
    _check_sparse_mode(name, sparse_mode)
    if not 0 < keep_prob <= 1:
        raise ArgumentValueError(f"For '{name}', 'keep_prob' must be in (0, 1], but got {keep_prob}.")
    width = to_bnsd(query, input_layout, head_num).shape[3]
    kept = key.shape[2] // width if input_layout in ("BSH", "SBH") else 0
    q, k, v = _split_inputs(name, input_layout, query, key, value, head_num, kept)
    shift = None if pse is None else pse * (scale if pse_type == 0 else 1.0)
    allowed = _attention_mask(q, k, atten_mask, sparse_mode, pre_tokens, next_tokens, None, None)
    scores = _compute_scores(q, k, scale, shift, allowed)
    top = scores.amax(-1, keepdim=True)
    total = torch.exp(scores - top).sum(-1, keepdim=True)
    output = from_bnsd(_apply_attention(scores, v, q, keep_prob), input_layout)
    return output, top.expand(-1, -1, -1, 8), total.expand(-1, -1, -1, 8), output.new_zeros(0), 0, 0, 0


@op(dtype=SAME)
def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    antiquant_scale: Any = None,
    antiquant_offset: Any = None,
    attn_mask: Tensor | None = None,
    q_seq_lens: Any = None,
    alibi_mask: Tensor | None = None,
    head_num: int = 1,
    scale_value: float = 1.0,
    kv_head_num: int = 1,
    kv_cache_quant_mode: str = "DEFAULT",
    mask_mode: str = "MASK_DEFAULT",
    mla_v_dim: int = 0,
) -> Tensor:
    """Attention of one new position (batch, 1, hidden) over a paged cache (pages, page length, heads, width).
    `block_tables` lists the pages of each row, `context_lens` how many positions are filled.
    """
    name = "PagedAttention"
    _check_unsupported(
        name, antiquant_scale=antiquant_scale, antiquant_offset=antiquant_offset, q_seq_lens=q_seq_lens
    )
    if kv_cache_quant_mode != "DEFAULT" or mla_v_dim:
        raise ArgumentValueError(f"For '{name}', the cache is neither quantised nor compressed here.")
    if key_cache.ndim != 4 or query.ndim != 3 or key_cache.shape[2] != kv_head_num:
        raise ArgumentValueError(
            f"For '{name}', the query must have the shape (B, 1, H) and the caches (pages, length, "
            f"{kv_head_num}, width), but "
            f"got {list(query.shape)} and {list(key_cache.shape)}."
        )
    q = to_bnsd(query, "BSH", head_num)
    pages = block_tables.long().clamp_min(0)
    k, v = (cache[pages].flatten(1, 2).transpose(1, 2) for cache in (key_cache, value_cache))
    allowed = _attention_mask(q, k, attn_mask, 1, 0, 0, None, context_lens)
    return from_bnsd(_apply_attention(_compute_scores(q, k, scale_value, alibi_mask, allowed), v, q), "BSH")


_PAGES = ("head_num", "scale_value", "kv_head_num", "kv_cache_quant_mode")
_NEEDED: Any = dict.fromkeys(_PAGES[:3], inspect.Parameter.empty)
PagedAttention = primitive("PagedAttention", paged_attention, (*_PAGES, "mask_mode", "mla_v_dim"), **_NEEDED)
PagedAttentionMask = primitive("PagedAttentionMask", paged_attention, _PAGES, **_NEEDED)


@op(dtype=SAME, differentiable=False)
def reshape_and_cache(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_mapping: Tensor
) -> Tensor:
    """Write the keys and values of new positions into a paged cache in place, and return the keys. A slot counts
    through all pages; negative slots are skipped.
    """
    name = "ReshapeAndCache"
    slots = slot_mapping.long().reshape(-1)
    width = math.prod(key_cache.shape[2:])
    if key_cache.ndim != 4 or key.numel() != len(slots) * width or value.numel() != len(slots) * width:
        raise ArgumentValueError(
            f"For '{name}', keys and values must have {width} numbers for each of {len(slots)} slots, but the "
            f"shapes are "
            f"{list(key.shape)} and {list(value.shape)}."
        )
    target = slots.clamp_min(0)
    page, offset = torch.div(target, key_cache.shape[1], rounding_mode="floor"), target % key_cache.shape[1]
    for cache, update in ((key_cache, key), (value_cache, value)):
        rows = update.detach().reshape(-1, *cache.shape[2:]).to(cache.dtype)
        # a negative slot rewrites the stored values
        cache[page, offset] = torch.where((slots >= 0).reshape(-1, 1, 1), rows, cache[page, offset])
    return key


ReshapeAndCache = primitive("ReshapeAndCache", reshape_and_cache)


@op("ops", dtype=UNCHECKED)
def ring_attention_update(
    prev_attn_out: Tensor,
    prev_softmax_max: Tensor,
    prev_softmax_sum: Tensor,
    cur_attn_out: Tensor,
    cur_softmax_max: Tensor,
    cur_softmax_sum: Tensor,
    actual_seq_qlen: Any = None,
    layout: str = "SBH",
) -> tuple[Tensor, Tensor, Tensor]:
    """Merge two attention results over different keys into the result over both, with the largest scores and sums of
    exponentials (batch, heads, length, 8).
    """
    name = "ring_attention_update"
    _check_unsupported(name, actual_seq_qlen=actual_seq_qlen)
    if layout != "SBH" or prev_attn_out.ndim != 3 or prev_softmax_max.ndim != 4:
        raise ArgumentValueError(
            f"For '{name}', the layout must be SBH, with three axes and (B, N, S, 8) for the softmax, but got "
            f"{layout!r}, "
            f"{list(prev_attn_out.shape)} and {list(prev_softmax_max.shape)}."
        )
    top = torch.maximum(prev_softmax_max, cur_softmax_max)
    before = prev_softmax_sum * torch.exp(prev_softmax_max - top)
    now = cur_softmax_sum * torch.exp(cur_softmax_max - top)
    total = before + now
    heads = top.shape[1]

    def shared(part: Tensor, out: Tensor) -> Tensor:
        share = (part / total)[..., :1]  # (batch, heads, length, 1)
        return from_bnsd(to_bnsd(upcast_half(out), "SBH", heads) * share, "SBH")

    output = shared(before, prev_attn_out) + shared(now, cur_attn_out)
    return output.to(prev_attn_out.dtype), top, total
