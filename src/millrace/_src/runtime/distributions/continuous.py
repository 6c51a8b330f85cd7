"""Continuous distributions: normal, uniform, exponential, Cauchy, logistic, Laplace, half-normal, Student's
t.
"""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributions.distribution import ParametricDistribution, parameter_property
from millrace._src.runtime.distributions.parameters import check_less, check_positive
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.array.creation import zeros_like
from millrace._src.runtime.ops.array.where import where
from millrace._src.runtime.ops.math.elementwise_unary import abs as abs_op
from millrace._src.runtime.ops.math.elementwise_unary import erf, exp, expm1, log, log1p, square
from millrace._src.runtime.ops.math.logical_bitwise import logical_and
from millrace._src.runtime.ops.math.special import lgamma
from millrace._src.runtime.ops.math.trigonometric import atan, tan
from millrace._src.runtime.ops.nn.activation import logsigmoid, sigmoid
from millrace._src.runtime.ops.random.uniform_normal import standard_normal, uniform

__all__ = ["Cauchy", "Exponential", "HalfNormal", "Laplace", "Logistic", "Normal", "StudentT", "Uniform"]

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@public("nn.probability.distribution")
class Normal(ParametricDistribution):
    """The normal distribution.

    >>> Normal(0.0, 1.0).cdf(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 5.00000000e-01])
    >>> Normal().mean(Tensor([1.0, 2.0]), Tensor(3.0))
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])
    """

    printed_parameters = {"mean_value": "mean", "sd_value": "standard deviation"}  # noqa: RUF012

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Normal",
    ) -> None:
        self._initialize({"mean": mean, "sd": sd}, seed, dtype, name)
        check_positive(self._sd_value, "Standard deviation")

    def _add_parameters(self, values: dict[str, Any]) -> None:
        # the attributes _mean and _sd are methods
        for key, value in values.items():
            setattr(self, f"_{key}_value", self._add_parameter(value, key))

    def _mean(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[0]

    def _mode(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[0]

    def _sd(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[1]

    def _entropy(self, mean: Any = None, sd: Any = None) -> Any:
        return log(self._sd(mean, sd)) + (HALF_LOG_2PI + 0.5)

    def _cross_entropy(self, dist: Any, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None) -> Any:
        loss = self._kl_loss(dist, mean_b, sd_b, mean, sd)
        return self._entropy(mean, sd) + loss

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        value = self._cast_value(value)
        mean, sd = self._check_param_type(mean, sd)
        return -0.5 * square((value - mean) / sd) - HALF_LOG_2PI - log(sd)

    def _cdf(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        value = self._cast_value(value)
        mean, sd = self._check_param_type(mean, sd)
        return 0.5 * (1.0 + erf((value - mean) / (sd * math.sqrt(2.0))))

    def _kl_loss(self, dist: Any, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None) -> Any:
        mean_b, sd_b = self._second_parameters(dist, mean_b=mean_b, sd_b=sd_b)
        mean, sd = self._check_param_type(mean, sd)
        ratio = log(sd) - log(sd_b)
        return 0.5 * square((mean - mean_b) / sd_b) + 0.5 * expm1(2 * ratio) - ratio

    def _sample(self, shape: tuple[int, ...] = (), mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        noise = standard_normal(self._sample_shape(shape, mean), self.seed)
        return cast(noise * sd + mean, self.dtype)


@public("nn.probability.distribution")
class Uniform(ParametricDistribution):
    """The continuous uniform distribution on ``[low, high]``.

    >>> Uniform(0.0, 4.0).prob(Tensor([1.0, 5.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 2.50000000e-01,  0.00000000e+00])
    """

    printed_parameters = {"low": "low", "high": "high"}  # noqa: RUF012
    low, high = parameter_property("low"), parameter_property("high")

    def __init__(
        self,
        low: Any = None,
        high: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Uniform",
    ) -> None:
        self._initialize({"low": low, "high": high}, seed, dtype, name)
        check_less(self.low, self.high, "low", "high")

    def _mean(self, low: Any = None, high: Any = None) -> Any:
        low, high = self._check_param_type(low, high)
        return (low + high) / 2.0

    def _range(self, low: Any = None, high: Any = None) -> Any:
        low, high = self._check_param_type(low, high)
        return high - low

    def _var(self, low: Any = None, high: Any = None) -> Any:
        return square(self._range(low, high)) / 12.0

    def _entropy(self, low: Any = None, high: Any = None) -> Any:
        return log(self._range(low, high))

    def _cross_entropy(self, dist: Any, low_b: Any, high_b: Any, low: Any = None, high: Any = None) -> Any:
        loss = self._kl_loss(dist, low_b, high_b, low, high)
        return self._entropy(low, high) + loss

    def _prob(self, value: Any, low: Any = None, high: Any = None) -> Any:
        value = self._cast_value(value)
        low, high = self._check_param_type(low, high)
        in_support = logical_and(low <= value, value <= high)
        return where(in_support, 1.0 / (high - low), 0.0)

    def _kl_loss(self, dist: Any, low_b: Any, high_b: Any, low: Any = None, high: Any = None) -> Any:
        low_b, high_b = self._second_parameters(dist, low_b=low_b, high_b=high_b)
        low, high = self._check_param_type(low, high)
        is_contained = logical_and(low_b <= low, high <= high_b)
        return where(is_contained, log(high_b - low_b) - log(high - low), math.inf)

    def _cdf(self, value: Any, low: Any = None, high: Any = None) -> Any:
        value = self._cast_value(value)
        low, high = self._check_param_type(low, high)
        return ((value - low) / (high - low)).clip(0.0, 1.0)

    def _sample(self, shape: tuple[int, ...] = (), low: Any = None, high: Any = None) -> Any:
        low, high = self._check_param_type(low, high)
        uniform_samples = uniform(self._sample_shape(shape, low), Tensor(0.0), Tensor(1.0), self.seed)
        return cast(uniform_samples * (high - low) + low, self.dtype)


@public("nn.probability.distribution")
class Exponential(ParametricDistribution):
    """The exponential distribution with parameter ``rate``.

    >>> Exponential(2.0).mean()
    Tensor(shape=[], dtype=Float32, value= 0.5)
    """

    printed_parameters = {"rate": "rate"}  # noqa: RUF012
    rate = parameter_property("rate")

    def __init__(
        self,
        rate: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Exponential",
    ) -> None:
        self._initialize({"rate": rate}, seed, dtype, name)
        check_positive(self.rate, "rate")

    def _mean(self, rate: Any = None) -> Any:
        return 1.0 / self._check_param_type(rate)

    def _mode(self, rate: Any = None) -> Any:
        return cast(zeros_like(self._check_param_type(rate)), self.dtype)

    def _sd(self, rate: Any = None) -> Any:
        return 1.0 / self._check_param_type(rate)

    def _entropy(self, rate: Any = None) -> Any:
        return 1.0 - log(self._check_param_type(rate))

    def _cross_entropy(self, dist: Any, rate_b: Any, rate: Any = None) -> Any:
        loss = self._kl_loss(dist, rate_b, rate)
        return self._entropy(rate) + loss

    def _log_prob(self, value: Any, rate: Any = None) -> Any:
        value, rate = self._cast_value(value), self._check_param_type(rate)
        return where(value < 0.0, -math.inf, log(rate) - rate * value)

    def _cdf(self, value: Any, rate: Any = None) -> Any:
        value, rate = self._cast_value(value), self._check_param_type(rate)
        return where(value < 0.0, 0.0, 1.0 - exp(-rate * value))

    def _log_survival(self, value: Any, rate: Any = None) -> Any:
        value, rate = self._cast_value(value), self._check_param_type(rate)
        return where(value < 0.0, 0.0, -rate * value)

    def _kl_loss(self, dist: Any, rate_b: Any, rate: Any = None) -> Any:
        rate_b, rate = self._second_parameters(dist, rate_b=rate_b), self._check_param_type(rate)
        return log(rate) - log(rate_b) + rate_b / rate - 1.0

    def _sample(self, shape: tuple[int, ...] = (), rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        return cast(-log(self._sample_uniform(self._sample_shape(shape, rate))) / rate, self.dtype)


class _LocationScale(ParametricDistribution):
    """A location-scale distribution whose mode is its location."""

    printed_parameters = {"loc": "location", "scale": "scale"}  # noqa: RUF012
    loc, scale = parameter_property("loc"), parameter_property("scale")

    def _mode(self, loc: Any = None, scale: Any = None) -> Any:
        return self._check_param_type(loc, scale)[0]

    def _standardize(self, value: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
        loc, scale = self._check_param_type(loc, scale)
        return (self._cast_value(value) - loc) / scale, scale


@public("nn.probability.distribution")
class Cauchy(_LocationScale):
    """The Cauchy distribution. Its mean is undefined.

    >>> Cauchy(1.0, 2.0).cdf(Tensor([1.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 5.00000000e-01])
    """

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Cauchy",
    ) -> None:
        self._initialize({"loc": loc, "scale": scale}, seed, dtype, name)
        check_positive(self.scale, "scale")

    def _mean(self, *args: Any, **kwargs: Any) -> Any:
        raise ArgumentValueError("mean is undefined for Cauchy distribution.")

    def _sd(self, *args: Any, **kwargs: Any) -> Any:
        raise ArgumentValueError("standard deviation is undefined for Cauchy distribution.")

    def _var(self, *args: Any, **kwargs: Any) -> Any:
        raise ArgumentValueError("variance is undefined for Cauchy distribution.")

    def _entropy(self, loc: Any = None, scale: Any = None) -> Any:
        return log(self._check_param_type(loc, scale)[1]) + math.log(4 * math.pi)

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        z, scale = self._standardize(value, loc, scale)
        return -log1p(square(z)) - log(math.pi * scale)

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return atan(self._standardize(value, loc, scale)[0]) / math.pi + 0.5

    def _log_cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return log1p(2.0 * atan(self._standardize(value, loc, scale)[0]) / math.pi) - math.log(2.0)

    def _kl_loss(self, dist: Any, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None) -> Any:
        loc_b, scale_b = self._second_parameters(dist, loc_b=loc_b, scale_b=scale_b)
        loc, scale = self._check_param_type(loc_a, scale_a)
        squared_distance = square(scale + scale_b) + square(loc - loc_b)
        return log(squared_distance) - math.log(4.0) - log(scale) - log(scale_b)

    def _cross_entropy(
        self, dist: Any, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None
    ) -> Any:
        loss = self._kl_loss(dist, loc_b, scale_b, loc_a, scale_a)
        return self._entropy(loc_a, scale_a) + loss

    def _sample(self, shape: tuple[int, ...] = (), loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        standard_samples = tan(math.pi * (self._sample_uniform(self._sample_shape(shape, loc)) - 0.5))
        return cast(standard_samples * scale + loc, self.dtype)


@public("nn.probability.distribution")
class Logistic(_LocationScale):
    """The logistic distribution.

    >>> Logistic(0.0, 1.0).log_cdf(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [-6.93147182e-01])
    """

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Logistic",
    ) -> None:
        self._initialize({"loc": loc, "scale": scale}, seed, dtype, name)
        check_positive(self.scale, "scale")

    def _mean(self, loc: Any = None, scale: Any = None) -> Any:
        return self._check_param_type(loc, scale)[0]

    def _sd(self, loc: Any = None, scale: Any = None) -> Any:
        return self._check_param_type(loc, scale)[1] * (math.pi / math.sqrt(3))

    def _entropy(self, loc: Any = None, scale: Any = None) -> Any:
        return log(self._check_param_type(loc, scale)[1]) + 2.0

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        z, scale = self._standardize(value, loc, scale)
        return -z + 2.0 * logsigmoid(z) - log(scale)

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return sigmoid(self._standardize(value, loc, scale)[0])

    def _log_cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return logsigmoid(self._standardize(value, loc, scale)[0])

    def _survival_function(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return sigmoid(-self._standardize(value, loc, scale)[0])

    def _log_survival(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return logsigmoid(-self._standardize(value, loc, scale)[0])

    def _sample(self, shape: tuple[int, ...] = (), loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        probability = self._sample_uniform(self._sample_shape(shape, loc))
        return cast((log(probability) - log1p(-probability)) * scale + loc, self.dtype)


class _DensityOnly(ParametricDistribution):
    """A distribution with parameters ``mean`` and ``sd`` that implements only the density."""

    def _initialize(self, values: dict[str, Any], seed: Any, dtype: Any, name: Any) -> None:
        super()._initialize(values, seed, dtype, name)
        check_positive(self._sd_value, "Standard deviation")

    _add_parameters = Normal._add_parameters


@public("nn.probability.distribution")
class HalfNormal(_DensityOnly):
    """The half-normal distribution. Only the density is implemented.

    >>> HalfNormal(0.0, 1.0).prob(Tensor([-1.0, 0.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 0.00000000e+00,  7.97884583e-01])
    """

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "HalfNormal",
    ) -> None:
        self._initialize({"mean": mean, "sd": sd}, seed, dtype, name)

    def _prob(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        value = self._cast_value(value)
        mean, sd = self._check_param_type(mean, sd)
        density = math.sqrt(2.0 / math.pi) / sd * exp(-0.5 * square((value - mean) / sd))
        density = where(value >= 0.0, density, 0.0)
        return density if self.dtype == mstype.float64 else cast(density, mstype.float32)


@public("nn.probability.distribution")
class Laplace(_DensityOnly):
    """The Laplace distribution. Only the density is implemented.

    >>> Laplace(0.0, 1.0).prob(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 5.00000000e-01])
    """

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Laplace",
    ) -> None:
        self._initialize({"mean": mean, "sd": sd}, seed, dtype, name)

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        value = self._cast_value(value)
        mean, sd = self._check_param_type(mean, sd)
        return -abs_op((value - mean) / sd) - log(2.0 * sd)


@public("nn.probability.distribution")
class StudentT(_DensityOnly):
    """Student's t distribution. Only the density is implemented.

    >>> StudentT(1.0, 0.0, 1.0).prob(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 3.18309903e-01])
    """

    def __init__(
        self,
        df: Any = None,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "StudentT",
    ) -> None:
        self._initialize({"df": df, "mean": mean, "sd": sd}, seed, dtype, name)
        check_positive(self._df_value, "Degrees of freedom")

    def _log_prob(self, value: Any, df: Any = None, mean: Any = None, sd: Any = None) -> Any:
        value = self._cast_value(value)
        df, mean, sd = self._check_param_type(df, mean, sd)
        z = (value - mean) / sd
        log_normalizer = log(sd) + 0.5 * log(df) + 0.5 * math.log(math.pi)
        log_normalizer = log_normalizer + lgamma(0.5 * df) - lgamma(0.5 * (df + 1.0))
        return -0.5 * (df + 1.0) * log1p(square(z) / df) - log_normalizer
