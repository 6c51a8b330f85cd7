"""Random permutations: randperm, shuffle."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.random.uniform_normal import _torch_generator
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "RandomShuffle",
    "Randperm",
    "RandpermV2",
    "randperm",
    "randperm_mint",
    "randperm_padded",
    "shuffle",
    "shuffle_of",
]


@op("ops", random=True, dtype=UNCHECKED)
def randperm(n: Any, seed: int = 0, offset: int = 0, dtype: Any = torch.int64) -> Tensor:
    """Random permutation of the integers in [0, n)."""
    return torch.randperm(int(n), generator=op_generator(seed, offset), dtype=torch.int64).to(dtype)


@op("mint:randperm", random=True, dtype=UNCHECKED)
def randperm_mint(n: int, *, generator: Any = None, dtype: Any = torch.int64) -> Tensor:
    """Random permutation of the integers in [0, n)."""
    return torch.randperm(n, generator=_torch_generator(generator), dtype=dtype)


RandpermV2 = primitive("RandpermV2", randperm, init=("seed", "offset", "dtype"))


@op(random=True, dtype=UNCHECKED)
def randperm_padded(n: Tensor, max_length: int = 1, pad: int = -1, dtype: Any = torch.int32) -> Tensor:
    """Random permutation of the integers in [0, n), padded to a length."""
    count = int(n)
    if count > max_length:
        raise ArgumentValueError(
            f"For 'Randperm', 'n' must be at most 'max_length' ({max_length}), but got {count}."
        )
    permutation = torch.full((max_length,), pad, dtype=dtype)
    permutation[:count] = torch.randperm(count).to(dtype)
    return permutation


Randperm = primitive("Randperm", randperm_padded)


@op("ops", random=True, dtype=SAME)
def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """Shuffle the slices of the first axis."""
    return (
        x[torch.randperm(x.shape[0], generator=op_generator(seed, device=x.device), device=x.device)]
        if x.ndim
        else x
    )


@op(random=True, dtype=SAME)
def shuffle_of(x: Tensor, seed: int = 0, seed2: int = 0) -> Tensor:
    """Shuffle the slices of the first axis."""
    return shuffle.raw(x, seed * 31 + seed2 if seed or seed2 else None)


RandomShuffle = primitive("RandomShuffle", shuffle_of)
