"""Sampling from gamma, Poisson, Laplace, Cauchy, log-normal and truncated normal distributions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.random.uniform_normal import to_shape
from millrace._src.runtime.tensor.backend.torch_private import sample_standard_gamma
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "Cauchy",
    "Gamma",
    "LogNormalReverse",
    "ParameterizedTruncatedNormal",
    "Poisson",
    "RandomGamma",
    "RandomPoisson",
    "StandardLaplace",
    "TruncatedNormal",
    "cauchy",
    "cauchy_of",
    "gamma",
    "gamma_of",
    "laplace",
    "log_normal",
    "parameterized_truncated_normal",
    "poisson",
    "poisson_of",
    "random_gamma",
    "random_gamma_of",
    "random_poisson",
    "random_poisson_of",
    "standard_laplace",
    "standard_laplace_of",
    "truncated_normal",
]


def _repeat_parameters(shape: Any, *parameters: Tensor) -> tuple[Tensor, ...]:
    """Repeat parameters in a shape that precedes their own."""
    common = torch.broadcast_shapes(*(each.shape for each in parameters))
    return tuple(each.expand(*to_shape((shape,)), *common) for each in parameters)


def _broadcast(shape: Any, *parameters: Tensor) -> list[Tensor]:
    """Broadcast parameters to a shape."""
    return [
        each.expand(torch.broadcast_shapes(to_shape((shape,)), *(p.shape for p in parameters)))
        for each in parameters
    ]


def _gamma(alpha: Tensor, generator: torch.Generator | None) -> Tensor:
    return sample_standard_gamma(alpha.contiguous(), generator)


@op("ops", random=True, dtype=UNCHECKED)
def gamma(shape: Any, alpha: Tensor, beta: Tensor, seed: int | None = None) -> Tensor:
    """Samples from gamma distributions with the given shapes and rates."""
    form, rate = _broadcast(shape, alpha, beta)
    return _gamma(form, op_generator(seed)) / rate


@op(random=True, dtype=UNCHECKED)
def gamma_of(shape: Any, alpha: Tensor, beta: Tensor, seed: int = 0, seed2: int = 0) -> Tensor:
    """Samples from gamma distributions with the given shapes and rates."""
    form, rate = _broadcast(shape, alpha, beta)
    return _gamma(form, op_generator(seed, seed2)) / rate


Gamma = primitive("Gamma", gamma_of, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def random_gamma(shape: Any, alpha: Tensor, seed: int | None = None) -> Tensor:
    """Samples from gamma distributions with the given shapes."""
    return _gamma(_repeat_parameters(shape, alpha)[0], op_generator(seed))


@op(random=True, dtype=UNCHECKED)
def random_gamma_of(shape: Any, alpha: Tensor, seed: int = 0, seed2: int = 0) -> Tensor:
    """Samples from gamma distributions with the given shapes."""
    return _gamma(_repeat_parameters(shape, alpha)[0], op_generator(seed, seed2))


RandomGamma = primitive("RandomGamma", random_gamma_of, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def poisson(shape: Any, mean: Tensor, seed: int | None = None) -> Tensor:
    """Samples from Poisson distributions with the given means."""
    return torch.poisson(_broadcast(shape, mean)[0].contiguous(), op_generator(seed)).to(torch.int32)


@op(random=True, dtype=UNCHECKED)
def poisson_of(shape: Any, mean: Tensor, seed: int = 0, seed2: int = 0) -> Tensor:
    """Samples from Poisson distributions with the given means."""
    return torch.poisson(_broadcast(shape, mean)[0].contiguous(), op_generator(seed, seed2)).to(torch.int32)


Poisson = primitive("Poisson", poisson_of, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def random_poisson(shape: Any, rate: Tensor, seed: int | None = None, dtype: Any = torch.float32) -> Tensor:
    """Samples from Poisson distributions with the given means."""
    return torch.poisson(_repeat_parameters(shape, rate)[0].contiguous(), op_generator(seed)).to(dtype)


@op(random=True, dtype=UNCHECKED)
def random_poisson_of(
    shape: Any, rate: Tensor, seed: int = 0, seed2: int = 0, dtype: Any = torch.int64
) -> Tensor:
    """Samples from Poisson distributions with the given means."""
    return torch.poisson(_repeat_parameters(shape, rate)[0].contiguous(), op_generator(seed, seed2)).to(dtype)


RandomPoisson = primitive("RandomPoisson", random_poisson_of, init=("seed", "seed2", "dtype"))


def _laplace(shape: Any, generator: torch.Generator | None) -> Tensor:
    uniform = torch.rand(shape, generator=generator) - 0.5
    return -uniform.sign() * torch.log1p(-2 * uniform.abs().clamp(max=0.5 - 2**-25))


@op("ops", random=True, dtype=UNCHECKED)
def laplace(shape: Any, mean: Tensor, lambda_param: Tensor, seed: int | None = None) -> Tensor:
    """Samples from Laplace distributions with the given means and scales."""
    whole = torch.broadcast_shapes(to_shape((shape,)), mean.shape, lambda_param.shape)
    return _laplace(whole, op_generator(seed)) * lambda_param + mean


@op("ops", random=True, dtype=UNCHECKED)
def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Samples from the Laplace distribution with mean 0 and scale 1."""
    return _laplace(to_shape((shape,)), op_generator(seed))


@op(random=True, dtype=UNCHECKED)
def standard_laplace_of(shape: Any, seed: int = 0, seed2: int = 0) -> Tensor:
    """Samples from the Laplace distribution with mean 0 and scale 1."""
    return _laplace(to_shape((shape,)), op_generator(seed, seed2))


StandardLaplace = primitive("StandardLaplace", standard_laplace_of, init=("seed", "seed2"))


def _sample_truncated_normal(shape: Any, low: Any, high: Any, generator: torch.Generator | None) -> Tensor:
    """Samples from a truncated normal distribution, by the inverse distribution function."""
    first, last = torch.special.ndtr(low), torch.special.ndtr(high)
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.special.ndtri((first + (last - first) * uniform).clamp(1e-300, 1 - 1e-16))


@op(random=True, dtype=UNCHECKED)
def truncated_normal(shape: Any, dtype: Any = torch.float32, seed: int = 0, seed2: int = 0) -> Tensor:
    """Samples from the standard normal distribution, truncated at two standard deviations."""
    end = torch.tensor(2.0, dtype=torch.float64)
    return _sample_truncated_normal(to_shape((shape,)), -end, end, op_generator(seed, seed2)).to(dtype)


TruncatedNormal = primitive("TruncatedNormal", truncated_normal, init=("dtype", "seed", "seed2"))


@op(random=True, dtype=UNCHECKED)
def parameterized_truncated_normal(
    shape: Any, mean: Tensor, stdevs: Tensor, min: Tensor, max: Tensor, seed: int = 0, seed2: int = 0
) -> Tensor:
    """Samples from truncated normal distributions; one set of parameters per slice of the first axis."""
    whole = to_shape((shape,))
    column = (-1, *[1] * (len(whole) - 1))
    centre, spread, low, high = (each.double().reshape(column) for each in (mean, stdevs, min, max))
    samples = _sample_truncated_normal(
        whole, (low - centre) / spread, (high - centre) / spread, op_generator(seed, seed2)
    )
    return (samples * spread + centre).to(mean.dtype)


ParameterizedTruncatedNormal = primitive(
    "ParameterizedTruncatedNormal", parameterized_truncated_normal, init=("seed", "seed2")
)


@op("Tensor", random=True, dtype=UNCHECKED)
def cauchy(input: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Samples from a Cauchy distribution, in the shape of the tensor."""
    return torch.empty_like(input, dtype=torch.float32).cauchy_(median, sigma)


@op(random=True, dtype=UNCHECKED)
def cauchy_of(size: Any, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Samples from a Cauchy distribution."""
    return torch.empty(to_shape((size,))).cauchy_(median, sigma)


Cauchy = primitive("Cauchy", cauchy_of, init=("size", "median", "sigma"))


@op("Tensor", random=True, dtype=SAME)
def log_normal(input: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Samples from a log-normal distribution, in the shape of the tensor."""
    return torch.empty_like(input).log_normal_(mean, std)


LogNormalReverse = primitive("LogNormalReverse", log_normal)
