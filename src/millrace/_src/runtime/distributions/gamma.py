"""Distributions about the gamma function: gamma, beta, Poisson."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.distributions.distribution import ParametricDistribution, parameter_property
from millrace._src.runtime.distributions.parameters import FLOATS, INTS, check_positive
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.array.creation import ones_like
from millrace._src.runtime.ops.array.where import where
from millrace._src.runtime.ops.math.elementwise_unary import floor, log, log1p, sqrt, square
from millrace._src.runtime.ops.math.pairs import logical_and
from millrace._src.runtime.ops.math.special import digamma, igamma, lgamma
from millrace._src.runtime.ops.random.distributions import gamma, random_poisson

__all__ = ["Beta", "Gamma", "Poisson"]


def _no_number(value: Any, name: str, *kinds: type) -> None:
    if isinstance(value, kinds) and not isinstance(value, bool):
        raise ArgumentTypeError(f"Input {name} can't be scalar, but got {value}. Write [{value}].")


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
        _no_number(concentration, "concentration", int, float)
        _no_number(rate, "rate", int, float)
        self._begin({"concentration": concentration, "rate": rate}, seed, dtype, name)
        check_positive(self.concentration, "concentration")
        check_positive(self.rate, "rate")

    def _mean(self, concentration: Any = None, rate: Any = None) -> Any:
        form, rate = self._check_param_type(concentration, rate)
        return form / rate

    def _var(self, concentration: Any = None, rate: Any = None) -> Any:
        form, rate = self._check_param_type(concentration, rate)
        return form / square(rate)

    def _sd(self, concentration: Any = None, rate: Any = None) -> Any:
        form, rate = self._check_param_type(concentration, rate)
        return sqrt(form) / rate

    def _mode(self, concentration: Any = None, rate: Any = None) -> Any:
        form, rate = self._check_param_type(concentration, rate)
        return where(form > 1.0, (form - 1.0) / rate, math.nan)

    def _entropy(self, concentration: Any = None, rate: Any = None) -> Any:
        form, rate = self._check_param_type(concentration, rate)
        return form - log(rate) + lgamma(form) + (1.0 - form) * digamma(form)

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
        value = self._value(value)
        form, rate = self._check_param_type(concentration, rate)
        whole = lgamma(form) - form * log(rate)
        return (form - 1.0) * log(value) - rate * value - whole

    def _cdf(self, value: Any, concentration: Any = None, rate: Any = None) -> Any:
        value = self._value(value)
        form, rate = self._check_param_type(concentration, rate)
        return igamma(form, rate * value)

    def _kl_loss(
        self,
        dist: Any,
        concentration_b: Any,
        rate_b: Any,
        concentration_a: Any = None,
        rate_a: Any = None,
    ) -> Any:
        form_b, rate_b = self._other(dist, concentration_b=concentration_b, rate_b=rate_b)
        form, rate = self._check_param_type(concentration_a, rate_a)
        loss = (form - form_b) * digamma(form) + lgamma(form_b) - lgamma(form)
        return loss + form_b * (log(rate) - log(rate_b)) + form * (rate_b / rate - 1.0)

    def _sample(self, shape: tuple[int, ...] = (), concentration: Any = None, rate: Any = None) -> Any:
        form, rate = self._check_param_type(concentration, rate)
        return cast(gamma(self._shape(shape, form), form, rate, self.seed), self.dtype)


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
        _no_number(concentration0, "concentration0", float)
        _no_number(concentration1, "concentration1", float)
        self._begin({"concentration1": concentration1, "concentration0": concentration0}, seed, dtype, name)
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
        each = (a - 1.0) * digamma(a) + (b - 1.0) * digamma(b)
        return _log_beta(a, b) - each + (a + b - 2.0) * digamma(a + b)

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
        value = self._value(value)
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
        c, d = self._other(dist, concentration1_b=concentration1_b, concentration0_b=concentration0_b)
        a, b = self._check_param_type(concentration1_a, concentration0_a)
        each = digamma(a) * (c - a) + digamma(b) * (d - b)
        return _log_beta(c, d) - _log_beta(a, b) - each + digamma(a + b) * (c + d - a - b)

    def _sample(
        self, shape: tuple[int, ...] = (), concentration1: Any = None, concentration0: Any = None
    ) -> Any:
        a, b = self._check_param_type(concentration1, concentration0)
        whole = self._shape(shape, a)
        first = gamma(whole, a, ones_like(a), self.seed)
        other = gamma(whole, b, ones_like(b), self.seed)
        return cast(first / (first + other), self.dtype)


def _log_beta(a: Any, b: Any) -> Any:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


class Poisson(ParametricDistribution):
    """The Poisson distribution: how many events there are, at a rate.

    >>> from millrace import Tensor
    >>> Poisson([2.0]).prob(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 1.35335281e-01])
    """

    printed_parameters = {"rate": "rate"}  # noqa: RUF012
    allowed_dtypes = (*INTS, *FLOATS)
    rate = parameter_property("rate")

    def __init__(
        self, rate: Any = None, seed: int | None = None, dtype: DType = mstype.float32, name: str = "Poisson"
    ) -> None:
        _no_number(rate, "rate", int, float)
        self._begin({"rate": rate}, seed, dtype, name)
        check_positive(self.rate, "rate")

    def _mean(self, rate: Any = None) -> Any:
        return self._check_param_type(rate)

    def _mode(self, rate: Any = None) -> Any:
        return floor(self._check_param_type(rate))

    def _var(self, rate: Any = None) -> Any:
        return self._check_param_type(rate)

    def _log_prob(self, value: Any, rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        value = cast(self._value(value), rate.dtype)
        count = value.clip(0.0, None)
        found = log(rate) * count - lgamma(count + 1.0)
        return where(value < 0.0, -math.inf, found) - rate

    def _cdf(self, value: Any, rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        value = cast(self._value(value), rate.dtype)
        return where(value < 0.0, 0.0, 1.0 - igamma(1.0 + value.clip(0.0, None), rate))

    def _sample(self, shape: tuple[int, ...] = (), rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        self._shape(shape, rate)
        made = random_poisson(shape, cast(rate, mstype.float32), self.seed, mstype.float32)
        return cast(made, self.dtype)
