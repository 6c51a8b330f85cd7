"""Distances and similarity: dist, cdist, pdist, cosine_similarity."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["Cdist", "Pdist", "cdist", "cdist_mint", "cosine_similarity", "dist", "pdist"]


@op("ops", accepts=FLOATS, dtype=SAME)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine similarity of vectors along an axis."""
    return F.cosine_similarity(x1, x2, dim, eps)


@op("ops", dtype=SAME)
def dist(input: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """p-norm of the difference of two tensors."""
    if not isinstance(other, Tensor):
        raise ArgumentTypeError(f"For 'dist', 'other' must be a Tensor, but got {other!r}.")
    return torch.dist(input, other, p)


@op("ops", dtype=SAME)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """Pairwise p-norm distances between the rows of two matrices."""
    return torch.cdist(x1, x2, p, compute_mode="donot_use_mm_for_euclid_dist")


@op("mint:cdist", dtype=SAME)
def cdist_mint(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """Pairwise p-norm distances between the rows of two matrices."""
    return torch.cdist(x1, x2, p, compute_mode)


Cdist = primitive("Cdist", cdist)


@op("ops", dtype=SAME)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """p-norm distance of each pair of rows."""
    return torch.nn.functional.pdist(input, p)


Pdist = primitive("Pdist", pdist)
