"""Distributions: densities, moments, divergences and samples."""

from __future__ import annotations

from millrace._src.runtime.distributions.continuous import (
    Cauchy,
    Exponential,
    HalfNormal,
    Laplace,
    Logistic,
    Normal,
    StudentT,
    Uniform,
)
from millrace._src.runtime.distributions.discrete import Bernoulli, Categorical, Geometric, Poisson
from millrace._src.runtime.distributions.distribution import Distribution
from millrace._src.runtime.distributions.gamma import Beta, Gamma
from millrace._src.runtime.distributions.transformed_distribution import (
    Gumbel,
    LogNormal,
    TransformedDistribution,
)

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Cauchy",
    "Distribution",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Laplace",
    "LogNormal",
    "Logistic",
    "Normal",
    "Poisson",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
]
