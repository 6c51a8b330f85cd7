"""Tokens sent to experts and brought back, and attention that looks at a few places of several maps.

MindSpore has these on Ascend only, so nothing is recorded of them: the tests hold them against their definitions.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BasicLSTMCell",
    "basic_lstm_cell",
    "moe_token_permute",
    "moe_token_unpermute",
    "multi_scale_deformable_attn_function",
]


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


@op("ops", accepts=None, dtype=SAME)
def multi_scale_deformable_attn_function(
    value: Tensor, shape: Tensor, offset: Tensor, locations: Tensor, weight: Tensor
) -> Tensor:
    """The values of several maps at some places each, weighed: (batch, places of all maps, heads, width) with the maps'
    (height, width) and beginnings; locations (batch, queries, heads, maps, points, 2) from 0 to 1, weights likewise."""
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
    made = (torch.stack(seen, -2).flatten(-2) * shares).sum(-1)
    return made.reshape(batch, heads * width, -1).transpose(1, 2)


@op(accepts=FLOATS, dtype=UNCHECKED)
def basic_lstm_cell(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w: Tensor,
    b: Tensor,
    keep_prob: float = 1.0,
    forget_bias: float = 1.0,
    state_is_tuple: bool = True,
    activation: str = "tanh",
) -> tuple[Tensor, ...]:
    """One step of a long short-term memory: the cell, the output, the gates (in, new, forget, out), tanh of the cell.
    The weights are (input + hidden, 4 hidden)."""
    hidden = h.shape[-1]
    if w.shape != (x.shape[-1] + hidden, 4 * hidden) or b.shape != (4 * hidden,):
        raise ArgumentValueError(
            f"For 'BasicLSTMCell', the weights must have the shape {(x.shape[-1] + hidden, 4 * hidden)} and the bias "
            f"{(4 * hidden,)}, but got {list(w.shape)} and {list(b.shape)}."
        )
    if activation != "tanh" or state_is_tuple is not True:
        raise ArgumentValueError("For 'BasicLSTMCell', 'activation' must be tanh and 'state_is_tuple' True.")
    gates = torch.matmul(torch.cat([x, h], -1), w) + b
    i, j, f, o = gates.chunk(4, -1)
    i, j, f, o = torch.sigmoid(i), torch.tanh(j), torch.sigmoid(f + forget_bias), torch.sigmoid(o)
    cell = c * f + i * j
    bent = torch.tanh(cell)
    return cell, bent * o, i, j, f, o, bent


BasicLSTMCell = primitive("BasicLSTMCell", basic_lstm_cell)
