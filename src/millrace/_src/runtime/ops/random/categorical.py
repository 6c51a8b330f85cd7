"""Bernoulli, multinomial and categorical sampling; random choice."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.random.uniform_normal import _torch_generator
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "Bernoulli",
    "Multinomial",
    "MultinomialWithReplacement",
    "RandomCategorical",
    "RandomChoiceWithMask",
    "bernoulli",
    "bernoulli_",
    "bernoulli_mint",
    "bernoulli_of",
    "choice_with_mask",
    "multinomial",
    "multinomial_mint",
    "multinomial_of",
    "multinomial_with_replacement",
    "random_categorical",
    "random_choice_with_mask",
]


@op("ops", "Tensor", random=True, dtype=SAME, differentiable=False)
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill the tensor with Bernoulli samples of probability `p`, in place."""
    with torch.no_grad():
        return input.bernoulli_(p, generator=_torch_generator(generator))


def _sample_bernoulli(input: Tensor, p: Any, generator: torch.Generator | None) -> Tensor:
    if not isinstance(p, Tensor):
        if isinstance(p, bool) or not isinstance(p, (int, float)):
            raise ArgumentTypeError(f"For 'bernoulli', 'p' must be a float or a Tensor, but got {p!r}.")
        if not 0 <= p <= 1:
            raise ArgumentValueError(f"For 'bernoulli', 'p' must be in [0, 1], but got {p}.")
        p = torch.full((), p, device=input.device)
    return torch.bernoulli(p.float().expand(input.shape), generator=generator).to(input.dtype)


@op("ops", random=True, dtype=SAME)
def bernoulli(input: Tensor, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """Bernoulli samples with probability `p`, in the shape and dtype of a tensor."""
    return _sample_bernoulli(input, p, op_generator(seed, device=input.device))


@op("mint:bernoulli", "Tensor:bernoulli", "ops:bernoulli_ext", random=True, dtype=SAME)
def bernoulli_mint(input: Tensor, *, generator: Any = None) -> Tensor:
    """Bernoulli samples; each element is the probability."""
    return torch.bernoulli(input, generator=getattr(generator, "_torch", generator))


@op(random=True, dtype=SAME)
def bernoulli_of(x: Tensor, p: Any, seed: int = -1, offset: int = 0) -> Tensor:
    """Bernoulli samples with probability `p`, in the shape and dtype of a tensor."""
    return _sample_bernoulli(x, p, op_generator(None if seed == -1 else seed, offset, device=x.device))


Bernoulli = primitive("Bernoulli", bernoulli_of, init=("seed", "offset"))


def _sample_without_replacement(weights: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """Indices sampled by weight without replacement; elements without weight come last."""
    chance = torch.rand(weights.shape, generator=generator, device=weights.device).clamp(min=2**-30)
    return torch.topk(torch.log(chance) / weights.clamp(min=2**-60), count).indices


@op("ops", "Tensor", random=True, dtype=UNCHECKED)
def multinomial(input: Tensor, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Indices sampled from a multinomial distribution with the given weights."""
    if not replacement:
        if num_samples > input.shape[-1]:
            raise ArgumentValueError(
                f"For 'multinomial', at most {input.shape[-1]} samples are possible without replacement, but got "
                f"{num_samples}."
            )
        return _sample_without_replacement(input, num_samples, op_generator(seed, device=input.device)).to(
            torch.int32
        )
    generator = op_generator(seed, device=input.device)
    return torch.multinomial(input, num_samples, True, generator=generator).to(torch.int32)


@op("mint:multinomial", random=True, dtype=UNCHECKED)
def multinomial_mint(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """Indices sampled from a multinomial distribution with the given weights."""
    return torch.multinomial(
        input, num_samples, replacement, generator=getattr(generator, "_torch", generator)
    )


@op(random=True, dtype=UNCHECKED)
def multinomial_of(
    x: Tensor, num_samples: Any, seed: int = 0, seed2: int = 0, dtype: Any = torch.int32
) -> Tensor:
    """Indices sampled from a multinomial distribution with the given weights, with replacement."""
    generator = op_generator(seed, seed2, device=x.device)
    return torch.multinomial(x.float(), int(num_samples), True, generator=generator).to(dtype)


Multinomial = primitive("Multinomial", multinomial_of, init=("seed", "seed2", "dtype"))


@op("ops", random=True, dtype=UNCHECKED)
def multinomial_with_replacement(
    x: Tensor, seed: Any, offset: Any, numsamples: int, replacement: bool = False
) -> Tensor:
    """Indices sampled from a multinomial distribution with the given weights."""
    generator = op_generator(int(seed), int(offset), device=x.device)
    if replacement:
        return torch.multinomial(x.float(), numsamples, True, generator=generator)
    return _sample_without_replacement(x.float(), numsamples, generator)


MultinomialWithReplacement = primitive(
    "MultinomialWithReplacement", multinomial_with_replacement, init=("numsamples", "replacement")
)


def _sample_categories(logits: Tensor, count: int, seed: Any, dtype: torch.dtype) -> Tensor:
    generator = op_generator(int(seed), device=logits.device)
    return torch.multinomial(torch.softmax(logits.float(), -1), count, True, generator=generator).to(dtype)


@op("ops", "Tensor", random=True, dtype=UNCHECKED)
def random_categorical(logits: Tensor, num_sample: int, seed: Any = 0, dtype: Any = torch.int64) -> Tensor:
    """Class indices per row, sampled from the categorical distribution of the logits."""
    return _sample_categories(logits, num_sample, seed, dtype)


RandomCategorical = primitive("RandomCategorical", random_categorical, init=("dtype",))


def _sample_masked_indices(
    mask: Tensor, count: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Random coordinates where a mask is true; missing ones are 0 and marked."""
    flat = mask.reshape(-1)
    keys = torch.rand(flat.shape, generator=generator, device=mask.device)
    keys = torch.where(flat, keys, -1.0)
    if count > flat.numel():
        keys = torch.nn.functional.pad(keys, (0, count - flat.numel()), value=-1.0)
    chosen, positions = torch.topk(keys, count)
    there = chosen >= 0
    coordinates = torch.unravel_index(torch.where(there, positions, 0), mask.shape)
    return torch.stack(coordinates, 1).to(torch.int32), there


@op("ops", random=True, dtype=UNCHECKED, differentiable=False)
def choice_with_mask(input_x: Tensor, count: int = 256, seed: int | None = None) -> Any:
    """Random coordinates where a mask is true, and the mask of valid ones."""
    return _sample_masked_indices(input_x, count, op_generator(seed, device=input_x.device))


@op(random=True, dtype=UNCHECKED, differentiable=False)
def random_choice_with_mask(input_x: Tensor, count: int = 256, seed: int = 0, seed2: int = 0) -> Any:
    """Random coordinates where a mask is true, and the mask of valid ones."""
    return _sample_masked_indices(input_x, count, op_generator(seed, seed2, device=input_x.device))


RandomChoiceWithMask = primitive("RandomChoiceWithMask", random_choice_with_mask)
