"""Tokens sent to experts and brought back, and attention that looks at a few places of several maps.

MindSpore has these on Ascend only, so nothing is recorded of them: the tests hold them against their definitions.
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
    """The tokens sorted by their experts, each once per expert, and where each of them went."""
    if padded_mode or tokens.ndim != 2 or indices.ndim not in (1, 2) or indices.shape[0] != tokens.shape[0]:
        raise ArgumentValueError(
            f"For 'moe_token_permute', the tokens must have the shape (N, H) and the experts (N,) or (N, K), without "
            f"padding, but got {list(tokens.shape)} and {list(indices.shape)}."
        )
    many = indices.shape[1] if indices.ndim == 2 else 1
    order = torch.argsort(indices.reshape(-1), stable=True)
    went = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
    made = tokens[torch.div(order, many, rounding_mode="floor")]
    return made if num_out_tokens is None else made[:num_out_tokens], went.to(torch.int32)


@op("ops", dtype=SAME)
def moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: Any = None,
) -> Tensor:
    """Back to the order before `moe_token_permute`; with the share of each expert, their sum per token. What was cut
    off counts as 0."""
    if padded_mode or permuted_tokens.ndim != 2 or sorted_indices.ndim != 1:
        raise ArgumentValueError(
            f"For 'moe_token_unpermute', the tokens must have two axes and the places one, without padding, but got "
            f"{list(permuted_tokens.shape)} and {list(sorted_indices.shape)}."
        )
    places = sorted_indices.long()
    there = (places < permuted_tokens.shape[0]).unsqueeze(1)
    found = torch.where(there, permuted_tokens[places.clamp_max(permuted_tokens.shape[0] - 1)], 0)
    if probs is None:
        return found
    if probs.ndim != 2 or probs.numel() != len(places):
        raise ArgumentValueError(
            f"For 'moe_token_unpermute', there must be a share for each of {len(places)} places, but got "
            f"{list(probs.shape)}."
        )
    shares = probs.unsqueeze(-1)
    return (found.unflatten(0, probs.shape) * shares).sum(1).to(permuted_tokens.dtype)
