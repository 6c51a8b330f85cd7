"""Candidate sampling for sampled losses: uniform and log-uniform samplers, accidental hits."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import INTEGERS, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "ComputeAccidentalHits",
    "LogUniformCandidateSampler",
    "UniformCandidateSampler",
    "compute_accidental_hits",
    "log_uniform_candidate_sampler",
    "uniform_candidate_sampler",
]

SampledCandidates = tuple[Tensor, Tensor, Tensor]


def _check_arguments(
    name: str, true_classes: Tensor, num_true: Any, num_sampled: Any, unique: Any, range_max: Any
) -> None:
    for label, value in (("num_true", num_true), ("num_sampled", num_sampled), ("range_max", range_max)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentTypeError(f"For '{name}', '{label}' must be an int, but got {value!r}.")
        if value < 1:
            raise ArgumentValueError(f"For '{name}', '{label}' must be above 0, but got {value}.")
    if not isinstance(unique, bool):
        raise ArgumentTypeError(f"For '{name}', 'unique' must be a bool, but got {unique!r}.")
    if unique and num_sampled > range_max:
        raise ArgumentValueError(
            f"For '{name}', 'num_sampled' must be at most 'range_max' for sampling without replacement, but got "
            f"{num_sampled} and "
            f"{range_max}."
        )
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise ArgumentValueError(
            f"For '{name}', 'true_classes' must have the shape (N, {num_true}), but got {list(true_classes.shape)}."
        )


def _sample_classes(weights: Tensor, count: int, unique: bool, generator: torch.Generator | None) -> Tensor:
    """Sample classes by their weights; with `unique` without replacement."""
    return torch.multinomial(weights, count, replacement=not unique, generator=generator)


@op("ops", accepts=INTEGERS, dtype=UNCHECKED, differentiable=False, random=True)
def uniform_candidate_sampler(
    true_classes: Tensor,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    remove_accidental_hits: bool = False,
) -> SampledCandidates:
    """Sample classes uniformly from [0, range_max); returns also the expected counts of each true class and each
    sampled class. With `remove_accidental_hits` no true class is sampled.
    """
    _check_arguments("UniformCandidateSampler", true_classes, num_true, num_sampled, unique, range_max)
    weights = torch.ones(range_max, device=true_classes.device)
    if remove_accidental_hits:
        weights = weights.index_fill(0, true_classes.reshape(-1).long().clamp(0, range_max - 1), 0.0)
    sampled = _sample_classes(weights, num_sampled, unique, op_generator(seed, device=weights.device)).to(
        true_classes.dtype
    )
    expected = num_sampled / range_max
    like: Any = {"dtype": torch.float32, "device": true_classes.device}
    return (
        sampled,
        torch.full(true_classes.shape, expected, **like),
        torch.full((num_sampled,), expected, **like),
    )


UniformCandidateSampler = primitive("UniformCandidateSampler", uniform_candidate_sampler)


@op("ops", accepts=INTEGERS, dtype=UNCHECKED, differentiable=False, random=True)
def log_uniform_candidate_sampler(
    true_classes: Tensor,
    num_true: int = 1,
    num_sampled: int = 5,
    unique: bool = True,
    range_max: int = 5,
    seed: int = 0,
) -> SampledCandidates:
    """Sample classes from [0, range_max) by a log-uniform distribution: small numbers are more likely, as for words
    sorted by frequency. Returns also the expected counts of each true class and each sampled class.
    """
    _check_arguments("LogUniformCandidateSampler", true_classes, num_true, num_sampled, unique, range_max)
    generator = op_generator(seed, device=true_classes.device)
    weights = _log_uniform(torch.arange(range_max, device=true_classes.device), range_max)
    sampled = _sample_classes(weights, num_sampled, unique, generator)
    tries: Any = num_sampled
    if unique:
        # sampling until `num_sampled` distinct classes are found: add the expected repeats before each
        sampled_mass = torch.cumsum(weights[sampled], 0) - weights[sampled]
        chance = torch.rand(num_sampled, generator=generator, device=weights.device)
        repeats = torch.log(chance.clamp_min(1e-30)) / torch.log(sampled_mass.clamp(1e-30, 1 - 1e-6))
        tries = num_sampled + repeats.floor().sum()

    def expected(classes: Tensor) -> Tensor:
        share = _log_uniform(classes, range_max)
        return -torch.expm1(tries * torch.log1p(-share)) if unique else share * num_sampled

    return sampled.to(true_classes.dtype), expected(true_classes), expected(sampled)


def _log_uniform(classes: Tensor, range_max: int) -> Tensor:
    """Probability of each class."""
    return torch.log1p(1 / (classes.to(torch.float32) + 1)) / math.log(range_max + 1)


LogUniformCandidateSampler = primitive("LogUniformCandidateSampler", log_uniform_candidate_sampler)


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def compute_accidental_hits(
    true_classes: Tensor, sampled_candidates: Tensor, num_true: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Sampled candidates that are true classes: the row of the true class, the index of the candidate, and the lowest
    float32 as weight, to remove it from a softmax.
    """
    if isinstance(num_true, bool) or not isinstance(num_true, int):
        raise ArgumentTypeError(
            f"For 'ComputeAccidentalHits', 'num_true' must be an int, but got {num_true!r}."
        )
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true or sampled_candidates.ndim != 1:
        raise ArgumentValueError(
            f"For 'ComputeAccidentalHits', 'true_classes' must have the shape (N, {num_true}) and 'sampled_candidates' "
            f"one axis, but got {list(true_classes.shape)} and {list(sampled_candidates.shape)}."
        )
    hits = (true_classes.unsqueeze(-1) == sampled_candidates).any(1).nonzero()
    weights = torch.full((len(hits),), torch.finfo(torch.float32).min, device=true_classes.device)
    return hits[:, 0].to(torch.int32), hits[:, 1].to(true_classes.dtype), weights


ComputeAccidentalHits = primitive("ComputeAccidentalHits", compute_accidental_hits)
