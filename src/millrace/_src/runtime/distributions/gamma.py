"""Gamma, beta and Poisson distributions."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.distributions.distribution import ParametricDistribution, parameter_property
from millrace._src.runtime.distributions.parameters import check_positive
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.array.creation import ones_like
from millrace._src.runtime.ops.array.where import where
from millrace._src.runtime.ops.math.elementwise_unary import log, log1p, sqrt, square
from millrace._src.runtime.ops.math.logical_bitwise import logical_and
from millrace._src.runtime.ops.math.special import digamma, igamma, lgamma
from millrace._src.runtime.ops.random.distributions import gamma

__all__ = ["Beta", "Gamma"]


def _reject_scalar(value: Any, name: str, *types: type) -> None:
    if isinstance(value, types) and not isinstance(value, bool):
        raise ArgumentTypeError(f"Input {name} can't be scalar, but got {value}. Write [{value}].")


@public("nn.probability.distribution")
class Gamma(ParametricDistribution):
    """The gamma distribution.

    >>> Gamma([3.0], [2.0]).mean()
    Tensor(shape=[1], dtype=Float32, value= [ 1.50000000e+00])
    """

    printed_parameters = {"concentration": "concentration", "rate": "rate"}  # noqa: RUF012
    concentration, rate = parameter_property("concentration"), parameter_property("rate")

    def __init__(
        self,
        concentration: Any = None,
        rate: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Gamma",
    ) -> None:
        _reject_scalar(concentration, "concentration", int, float)
        _reject_scalar(rate, "rate", int, float)
        self._initialize({"concentration": concentration, "rate": rate}, seed, dtype, name)
        check_positive(self.concentration, "concentration")
        check_positive(self.rate, "rate")

    def _mean(self, concentration: Any = None, rate: Any = None) -> Any:
        alpha, rate = self._check_param_type(concentration, rate)
        return alpha / rate

    def _var(self, concentration: Any = None, rate: Any = None) -> Any:
        alpha, rate = self._check_param_type(concentration, rate)
        return alpha / square(rate)

    def _sd(self, concentration: Any = None, rate: Any = None) -> Any:
        alpha, rate = self._check_param_type(concentration, rate)
        return sqrt(alpha) / rate

    def _mode(self, concentration: Any = None, rate: Any = None) -> Any:
        alpha, rate = self._check_param_type(concentration, rate)
        return where(alpha > 1.0, (alpha - 1.0) / rate, math.nan)

    def _entropy(self, concentration: Any = None, rate: Any = None) -> Any:
        alpha, rate = self._check_param_type(concentration, rate)
        return alpha - log(rate) + lgamma(alpha) + (1.0 - alpha) * digamma(alpha)

    def _cross_entropy(
        self,
        dist: Any,
        concentration_b: Any,
        rate_b: Any,
        concentration_a: Any = None,
        rate_a: Any = None,
    ) -> Any:
        loss = self._kl_loss(dist, concentration_b, rate_b, concentration_a, rate_a)
        return self._entropy(concentration_a, rate_a) + loss

    def _log_prob(self, value: Any, concentration: Any = None, rate: Any = None) -> Any:
        value = self._cast_value(value)
        alpha, rate = self._check_param_type(concentration, rate)
        log_normalizer = lgamma(alpha) - alpha * log(rate)
        return (alpha - 1.0) * log(value) - rate * value - log_normalizer

    def _cdf(self, value: Any, concentration: Any = None, rate: Any = None) -> Any:
        value = self._cast_value(value)
        alpha, rate = self._check_param_type(concentration, rate)
        return igamma(alpha, rate * value)

    def _kl_loss(
        self,
        dist: Any,
        concentration_b: Any,
        rate_b: Any,
        concentration_a: Any = None,
        rate_a: Any = None,
    ) -> Any:
        alpha_b, rate_b = self._second_parameters(dist, concentration_b=concentration_b, rate_b=rate_b)
        alpha, rate = self._check_param_type(concentration_a, rate_a)
        loss = (alpha - alpha_b) * digamma(alpha) + lgamma(alpha_b) - lgamma(alpha)
        return loss + alpha_b * (log(rate) - log(rate_b)) + alpha * (rate_b / rate - 1.0)

    def _sample(self, shape: tuple[int, ...] = (), concentration: Any = None, rate: Any = None) -> Any:
        alpha, rate = self._check_param_type(concentration, rate)
        return cast(gamma(self._sample_shape(shape, alpha), alpha, rate, self.seed), self.dtype)


@public("nn.probability.distribution")
class Beta(ParametricDistribution):
    """The beta distribution.

    >>> Beta([2.0], [6.0]).mean()
    Tensor(shape=[1], dtype=Float32, value= [ 2.50000000e-01])
    """

    printed_parameters = {"concentration1": "concentration1", "concentration0": "concentration0"}  # noqa: RUF012
    concentration1, concentration0 = (
        parameter_property("concentration1"),
        parameter_property("concentration0"),
    )

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Beta",
    ) -> None:
        _reject_scalar(concentration0, "concentration0", float)
        _reject_scalar(concentration1, "concentration1", float)
        self._initialize(
            {"concentration1": concentration1, "concentration0": concentration0}, seed, dtype, name
        )
        check_positive(self.concentration1, "concentration1")
        check_positive(self.concentration0, "concentration0")

    def _mean(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        a, b = self._check_param_type(concentration1, concentration0)
        return a / (a + b)

    def _var(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        a, b = self._check_param_type(concentration1, concentration0)
        return a * b / (square(a + b) * (a + b + 1.0))

    def _mode(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        a, b = self._check_param_type(concentration1, concentration0)
        return where(logical_and(a > 1.0, b > 1.0), (a - 1.0) / (a + b - 2.0), math.nan)

    def _entropy(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        a, b = self._check_param_type(concentration1, concentration0)
        digamma_terms = (a - 1.0) * digamma(a) + (b - 1.0) * digamma(b)
        return _log_beta(a, b) - digamma_terms + (a + b - 2.0) * digamma(a + b)

    def _cross_entropy(
        self,
        dist: Any,
        concentration1_b: Any,
        concentration0_b: Any,
        concentration1_a: Any = None,
        concentration0_a: Any = None,
    ) -> Any:
        loss = self._kl_loss(dist, concentration1_b, concentration0_b, concentration1_a, concentration0_a)
        return self._entropy(concentration1_a, concentration0_a) + loss

    def _log_prob(self, value: Any, concentration1: Any = None, concentration0: Any = None) -> Any:
        value = self._cast_value(value)
        a, b = self._check_param_type(concentration1, concentration0)
        return (a - 1.0) * log(value) + (b - 1.0) * log1p(-value) - _log_beta(a, b)

    def _kl_loss(
        self,
        dist: Any,
        concentration1_b: Any,
        concentration0_b: Any,
        concentration1_a: Any = None,
        concentration0_a: Any = None,
    ) -> Any:
        c, d = self._second_parameters(
            dist, concentration1_b=concentration1_b, concentration0_b=concentration0_b
        )
        a, b = self._check_param_type(concentration1_a, concentration0_a)
        digamma_terms = digamma(a) * (c - a) + digamma(b) * (d - b)
        return _log_beta(c, d) - _log_beta(a, b) - digamma_terms + digamma(a + b) * (c + d - a - b)

    def _sample(
        self, shape: tuple[int, ...] = (), concentration1: Any = None, concentration0: Any = None
    ) -> Any:
        a, b = self._check_param_type(concentration1, concentration0)
        sample_shape = self._sample_shape(shape, a)
        gamma_a = gamma(sample_shape, a, ones_like(a), self.seed)
        gamma_b = gamma(sample_shape, b, ones_like(b), self.seed)
        return cast(gamma_a / (gamma_a + gamma_b), self.dtype)


def _log_beta(a: Any, b: Any) -> Any:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
