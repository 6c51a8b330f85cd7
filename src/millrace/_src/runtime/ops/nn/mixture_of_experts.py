"""Mixture of experts: permute tokens to experts and back.

MindSpore has these on Ascend only, so nothing is recorded of them: the tests compare with their definitions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["moe_token_permute", "moe_token_unpermute"]


@op("ops", dtype=UNCHECKED)
def moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """Tokens sorted by expert, once per selected expert, and the position of each in the output."""
    if padded_mode or tokens.ndim != 2 or indices.ndim not in (1, 2) or indices.shape[0] != tokens.shape[0]:
        raise ArgumentValueError(
            f"For 'moe_token_permute', the tokens must have the shape (N, H) and the experts (N,) or (N, K), without "
            f"padding, but got {list(tokens.shape)} and {list(indices.shape)}."
        )
    many = indices.shape[1] if indices.ndim == 2 else 1
    order = torch.argsort(indices.reshape(-1), stable=True)
    went = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
    permuted = tokens[torch.div(order, many, rounding_mode="floor")]
    return permuted if num_out_tokens is None else permuted[:num_out_tokens], went.to(torch.int32)


@op("ops", dtype=SAME)
def moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: Any = None,
) -> Tensor:
    """Restore the order before `moe_token_permute`; with the weight of each expert, sum the copies of each token.
    Dropped tokens count as 0.
    """
    if padded_mode or permuted_tokens.ndim != 2 or sorted_indices.ndim != 1:
        raise ArgumentValueError(
            f"For 'moe_token_unpermute', the tokens must have two axes and the indices one, without padding, but got "
            f"{list(permuted_tokens.shape)} and {list(sorted_indices.shape)}."
        )
    positions = sorted_indices.long()
    there = (positions < permuted_tokens.shape[0]).unsqueeze(1)
    gathered = torch.where(there, permuted_tokens[positions.clamp_max(permuted_tokens.shape[0] - 1)], 0)
    if probs is None:
        return gathered
    if probs.ndim != 2 or probs.numel() != len(positions):
        raise ArgumentValueError(
            f"For 'moe_token_unpermute', there must be a weight for each of {len(positions)} positions, but got "
            f"{list(probs.shape)}."
        )
    shares = probs.unsqueeze(-1)
    return (gathered.unflatten(0, probs.shape) * shares).sum(1).to(permuted_tokens.dtype)
