"""Distributions: densities, moments, divergences and samples."""

from __future__ import annotations

from millrace.nn.probability.base import Distribution

from .continuous import Cauchy, Exponential, HalfNormal, Laplace, Logistic, Normal, StudentT, Uniform
from .discrete import Bernoulli, Categorical, Geometric
from .gammas import Beta, Gamma, Poisson
from .transformed import Gumbel, LogNormal, TransformedDistribution

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
