"""Random numbers of other distributions, and random choices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.backend.torch_private import sample_standard_gamma
from millrace._src.runtime.tensor.rng_state import op_generator

from .uniform_normal import to_shape

__all__ = [
    "Bernoulli",
    "Gamma",
    "Multinomial",
    "MultinomialWithReplacement",
    "ParameterizedTruncatedNormal",
    "Poisson",
    "RandomCategorical",
    "RandomChoiceWithMask",
    "RandomGamma",
    "RandomPoisson",
    "StandardLaplace",
    "TruncatedNormal",
    "bernoulli",
    "bernoulli_mint",
    "bernoulli_of",
    "choice_with_mask",
    "gamma",
    "gamma_of",
    "laplace",
    "multinomial",
    "multinomial_mint",
    "multinomial_of",
    "multinomial_with_replacement",
    "parameterized_truncated_normal",
    "poisson",
    "poisson_of",
    "random_categorical",
    "random_choice_with_mask",
    "random_gamma",
    "random_gamma_of",
    "random_poisson",
    "random_poisson_of",
    "standard_laplace",
    "standard_laplace_of",
    "truncated_normal",
]


def _repeat_parameters(shape: Any, *parameters: Tensor) -> tuple[Tensor, ...]:
    """Parameters repeated in a shape that goes before their own."""
    common = torch.broadcast_shapes(*(each.shape for each in parameters))
    return tuple(each.expand(*to_shape((shape,)), *common) for each in parameters)


def _broadcast(shape: Any, *parameters: Tensor) -> list[Tensor]:
    """Parameters in a shape that they broadcast to."""
    return [
        each.expand(torch.broadcast_shapes(to_shape((shape,)), *(p.shape for p in parameters)))
        for each in parameters
    ]


def _gamma(alpha: Tensor, generator: torch.Generator | None) -> Tensor:
    return sample_standard_gamma(alpha.contiguous(), generator)


@op("ops", random=True, dtype=UNCHECKED)
def gamma(shape: Any, alpha: Tensor, beta: Tensor, seed: int | None = None) -> Tensor:
    """Numbers of gamma distributions with these shapes and rates."""
    form, rate = _broadcast(shape, alpha, beta)
    return _gamma(form, op_generator(seed)) / rate


@op(random=True, dtype=UNCHECKED)
def gamma_of(shape: Any, alpha: Tensor, beta: Tensor, seed: int = 0, seed2: int = 0) -> Tensor:
    """Numbers of gamma distributions with these shapes and rates."""
    form, rate = _broadcast(shape, alpha, beta)
    return _gamma(form, op_generator(seed, seed2)) / rate


Gamma = primitive("Gamma", gamma_of, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def random_gamma(shape: Any, alpha: Tensor, seed: int | None = None) -> Tensor:
    """Numbers of gamma distributions with these shapes."""
    return _gamma(_repeat_parameters(shape, alpha)[0], op_generator(seed))


@op(random=True, dtype=UNCHECKED)
def random_gamma_of(shape: Any, alpha: Tensor, seed: int = 0, seed2: int = 0) -> Tensor:
    """Numbers of gamma distributions with these shapes."""
    return _gamma(_repeat_parameters(shape, alpha)[0], op_generator(seed, seed2))


RandomGamma = primitive("RandomGamma", random_gamma_of, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def poisson(shape: Any, mean: Tensor, seed: int | None = None) -> Tensor:
    """Counts of Poisson distributions with these means."""
    return torch.poisson(_broadcast(shape, mean)[0].contiguous(), op_generator(seed)).to(torch.int32)


@op(random=True, dtype=UNCHECKED)
def poisson_of(shape: Any, mean: Tensor, seed: int = 0, seed2: int = 0) -> Tensor:
    """Counts of Poisson distributions with these means."""
    return torch.poisson(_broadcast(shape, mean)[0].contiguous(), op_generator(seed, seed2)).to(torch.int32)


Poisson = primitive("Poisson", poisson_of, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def random_poisson(shape: Any, rate: Tensor, seed: int | None = None, dtype: Any = torch.float32) -> Tensor:
    """Counts of Poisson distributions with these means."""
    return torch.poisson(_repeat_parameters(shape, rate)[0].contiguous(), op_generator(seed)).to(dtype)


@op(random=True, dtype=UNCHECKED)
def random_poisson_of(
    shape: Any, rate: Tensor, seed: int = 0, seed2: int = 0, dtype: Any = torch.int64
) -> Tensor:
    """Counts of Poisson distributions with these means."""
    return torch.poisson(_repeat_parameters(shape, rate)[0].contiguous(), op_generator(seed, seed2)).to(dtype)


RandomPoisson = primitive("RandomPoisson", random_poisson_of, init=("seed", "seed2", "dtype"))


def _laplace(shape: Any, generator: torch.Generator | None) -> Tensor:
    made = torch.rand(shape, generator=generator) - 0.5
    return -made.sign() * torch.log1p(-2 * made.abs().clamp(max=0.5 - 2**-25))


@op("ops", random=True, dtype=UNCHECKED)
def laplace(shape: Any, mean: Tensor, lambda_param: Tensor, seed: int | None = None) -> Tensor:
    """Numbers of Laplace distributions with these means and scales."""
    whole = torch.broadcast_shapes(to_shape((shape,)), mean.shape, lambda_param.shape)
    return _laplace(whole, op_generator(seed)) * lambda_param + mean


@op("ops", random=True, dtype=UNCHECKED)
def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers of the Laplace distribution with mean 0 and scale 1."""
    return _laplace(to_shape((shape,)), op_generator(seed))


@op(random=True, dtype=UNCHECKED)
def standard_laplace_of(shape: Any, seed: int = 0, seed2: int = 0) -> Tensor:
    """Numbers of the Laplace distribution with mean 0 and scale 1."""
    return _laplace(to_shape((shape,)), op_generator(seed, seed2))


StandardLaplace = primitive("StandardLaplace", standard_laplace_of, init=("seed", "seed2"))


def _sample_truncated_normal(shape: Any, low: Any, high: Any, generator: torch.Generator | None) -> Tensor:
    """Normal numbers between limits, by the inverse of the distribution."""
    first, last = torch.special.ndtr(low), torch.special.ndtr(high)
    made = torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.special.ndtri((first + (last - first) * made).clamp(1e-300, 1 - 1e-16))


@op(random=True, dtype=UNCHECKED)
def truncated_normal(shape: Any, dtype: Any = torch.float32, seed: int = 0, seed2: int = 0) -> Tensor:
    """Normal numbers within two deviations of 0."""
    end = torch.tensor(2.0, dtype=torch.float64)
    return _sample_truncated_normal(to_shape((shape,)), -end, end, op_generator(seed, seed2)).to(dtype)


TruncatedNormal = primitive("TruncatedNormal", truncated_normal, init=("dtype", "seed", "seed2"))


@op(random=True, dtype=UNCHECKED)
def parameterized_truncated_normal(
    shape: Any, mean: Tensor, stdevs: Tensor, min: Tensor, max: Tensor, seed: int = 0, seed2: int = 0
) -> Tensor:
    """Normal numbers between limits; the parameters are one per slice of the first axis."""
    whole = to_shape((shape,))
    column = (-1, *[1] * (len(whole) - 1))
    centre, spread, low, high = (each.double().reshape(column) for each in (mean, stdevs, min, max))
    made = _sample_truncated_normal(
        whole, (low - centre) / spread, (high - centre) / spread, op_generator(seed, seed2)
    )
    return (made * spread + centre).to(mean.dtype)


ParameterizedTruncatedNormal = primitive(
    "ParameterizedTruncatedNormal", parameterized_truncated_normal, init=("seed", "seed2")
)


# --- yes or no --------------------------------------------------------------------------------------------------


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
    """1 with the chance p, else 0, in the shape and type of a tensor."""
    return _sample_bernoulli(input, p, op_generator(seed, device=input.device))


@op("mint:bernoulli", "Tensor:bernoulli", "ops:bernoulli_ext", random=True, dtype=SAME)
def bernoulli_mint(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the chance that each element is, else 0."""
    return torch.bernoulli(input, generator=getattr(generator, "_torch", generator))


@op(random=True, dtype=SAME)
def bernoulli_of(x: Tensor, p: Any, seed: int = -1, offset: int = 0) -> Tensor:
    """1 with the chance p, else 0, in the shape and type of a tensor."""
    return _sample_bernoulli(x, p, op_generator(None if seed == -1 else seed, offset, device=x.device))


Bernoulli = primitive("Bernoulli", bernoulli_of, init=("seed", "offset"))


# --- choices ----------------------------------------------------------------------------------------------------


def _sample_without_replacement(weights: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """Numbers of elements in the order of a draw without replacement; those without weight come last."""
    chance = torch.rand(weights.shape, generator=generator, device=weights.device).clamp(min=2**-30)
    return torch.topk(torch.log(chance) / weights.clamp(min=2**-60), count).indices


@op("ops", "Tensor", random=True, dtype=UNCHECKED)
def multinomial(input: Tensor, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Numbers of elements, drawn with their weights."""
    if not replacement:
        if num_samples > input.shape[-1]:
            raise ArgumentValueError(
                f"For 'multinomial', at most {input.shape[-1]} samples can be drawn without replacement, but got "
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
    """Numbers of elements, drawn with their weights."""
    return torch.multinomial(
        input, num_samples, replacement, generator=getattr(generator, "_torch", generator)
    )


@op(random=True, dtype=UNCHECKED)
def multinomial_of(
    x: Tensor, num_samples: Any, seed: int = 0, seed2: int = 0, dtype: Any = torch.int32
) -> Tensor:
    """Numbers of elements, drawn with their weights, with replacement."""
    generator = op_generator(seed, seed2, device=x.device)
    return torch.multinomial(x.float(), int(num_samples), True, generator=generator).to(dtype)


Multinomial = primitive("Multinomial", multinomial_of, init=("seed", "seed2", "dtype"))


@op("ops", random=True, dtype=UNCHECKED)
def multinomial_with_replacement(
    x: Tensor, seed: Any, offset: Any, numsamples: int, replacement: bool = False
) -> Tensor:
    """Numbers of elements, drawn with their weights."""
    generator = op_generator(int(seed), int(offset), device=x.device)
    if replacement:
        return torch.multinomial(x.float(), numsamples, True, generator=generator)
    return _sample_without_replacement(x.float(), numsamples, generator)


MultinomialWithReplacement = primitive(
    "MultinomialWithReplacement", multinomial_with_replacement, init=("numsamples", "replacement")
)


def _categories(logits: Tensor, count: int, seed: Any, dtype: torch.dtype) -> Tensor:
    generator = op_generator(int(seed), device=logits.device)
    return torch.multinomial(torch.softmax(logits.float(), -1), count, True, generator=generator).to(dtype)


@op("ops", "Tensor", random=True, dtype=UNCHECKED)
def random_categorical(logits: Tensor, num_sample: int, seed: Any = 0, dtype: Any = torch.int64) -> Tensor:
    """Per row, numbers of classes drawn with the chances that the logits say."""
    return _categories(logits, num_sample, seed, dtype)


RandomCategorical = primitive("RandomCategorical", random_categorical, init=("dtype",))


def _sample_masked_indices(
    mask: Tensor, count: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """So many places where a mask holds, in a random order; the rest is 0 and marked."""
    flat = mask.reshape(-1)
    keys = torch.rand(flat.shape, generator=generator, device=mask.device)
    keys = torch.where(flat, keys, -1.0)
    if count > flat.numel():
        keys = torch.nn.functional.pad(keys, (0, count - flat.numel()), value=-1.0)
    chosen, places = torch.topk(keys, count)
    there = chosen >= 0
    coordinates = torch.unravel_index(torch.where(there, places, 0), mask.shape)
    return torch.stack(coordinates, 1).to(torch.int32), there


@op("ops", random=True, dtype=UNCHECKED, differentiable=False)
def choice_with_mask(input_x: Tensor, count: int = 256, seed: int | None = None) -> Any:
    """So many random places where a mask holds, and which of them are there at all."""
    return _sample_masked_indices(input_x, count, op_generator(seed, device=input_x.device))


@op(random=True, dtype=UNCHECKED, differentiable=False)
def random_choice_with_mask(input_x: Tensor, count: int = 256, seed: int = 0, seed2: int = 0) -> Any:
    """So many random places where a mask holds, and which of them are there at all."""
    return _sample_masked_indices(input_x, count, op_generator(seed, seed2, device=input_x.device))


RandomChoiceWithMask = primitive("RandomChoiceWithMask", random_choice_with_mask)
