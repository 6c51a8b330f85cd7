"""Transformed distributions: TransformedDistribution, LogNormal, Gumbel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.distributions.bijector import Bijector
from millrace._src.runtime.distributions.distribution import (
    Distribution,
    ParametricDistribution,
    parameter_property,
)
from millrace._src.runtime.distributions.parameters import FLOATS, check_dtype
from millrace._src.runtime.distributions.scalar_bijectors import Exp, GumbelCDF, Invert
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.array.where import where
from millrace._src.runtime.ops.math.elementwise_unary import exp, expm1, log
from millrace._src.runtime.ops.math.elementwise_unary import square as square_op
from millrace._src.runtime.ops.math.special import lgamma

from .continuous import HALF_LOG_2PI, Normal, Uniform

__all__ = ["Gumbel", "LogNormal", "TransformedDistribution"]


@public("nn.probability.distribution")
class TransformedDistribution(Distribution):
    """The distribution of transformed samples: a bijector applied to a distribution.

    Parameters in calls are those of the underlying distribution.

    >>> from millrace.nn.probability.bijector import ScalarAffine
    >>> TransformedDistribution(ScalarAffine(2.0, 1.0), Normal(0.0, 1.0)).mean()
    Tensor(shape=[], dtype=Float32, value= 1)
    """

    def __init__(
        self,
        bijector: Bijector,
        distribution: Distribution,
        seed: int | None = None,
        name: str = "transformed_distribution",
    ) -> None:
        owner = type(self).__name__
        check_argument_type(bijector, "bijector", owner, Bijector)
        check_argument_type(distribution, "distribution", owner, Distribution)
        check_dtype(distribution.dtype, "dtype", owner, FLOATS)
        param = {"bijector": bijector, "distribution": distribution, "seed": seed, "name": name}
        super().__init__(seed, distribution.dtype, name, param)
        self._bijector = bijector
        self._distribution = distribution
        self._is_linear_transformation = bijector.is_constant_jacobian
        self._is_scalar_batch = distribution.is_scalar_batch and bijector.is_scalar_batch
        self._batch_shape = distribution.batch_shape
        self.default_parameters = distribution.default_parameters
        self.parameter_names = distribution.parameter_names
        self.parameter_type = distribution.parameter_type
        shapes = (bijector.batch_shape, self._batch_shape)
        self._broadcast_shape = None if None in shapes else tuple(np.broadcast_shapes(*shapes))  # type: ignore[arg-type]

    @property
    def bijector(self) -> Bijector:
        """The bijector that is applied to the samples."""
        return self._bijector

    @property
    def distribution(self) -> Distribution:
        """The distribution before the transform."""
        return self._distribution

    @property
    def is_linear_transformation(self) -> bool:
        """Whether the Jacobian of the bijector is constant."""
        return self._is_linear_transformation

    def _cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self.distribution("cdf", self.bijector("inverse", value), *args, **kwargs)

    def _log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        base_log_prob = self.distribution("log_prob", self.bijector("inverse", value), *args, **kwargs)
        # outside the support the density stays 0, whatever the Jacobian
        return where(
            base_log_prob == -math.inf,
            base_log_prob,
            base_log_prob + self.bijector("inverse_log_jacobian", value),
        )

    def _sample(self, *args: Any, **kwargs: Any) -> Any:
        return self.bijector("forward", self.distribution("sample", *args, **kwargs))

    def _mean(self, *args: Any, **kwargs: Any) -> Any:
        if not self.is_linear_transformation:
            raise ArgumentValueError("mean function must be implemented for non-linear transformation")
        return self.bijector("forward", self.distribution("mean", *args, **kwargs))


@public("nn.probability.distribution")
class LogNormal(TransformedDistribution, ParametricDistribution):
    """The log-normal distribution: the logarithm of a sample is normal.

    >>> from millrace import Tensor
    >>> LogNormal(0.0, 1.0).cdf(Tensor([1.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 5.00000000e-01])
    """

    printed_parameters = {"loc": "loc", "scale": "scale"}  # noqa: RUF012
    loc, scale = parameter_property("loc"), parameter_property("scale")

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = 0,
        dtype: DType = mstype.float32,
        name: str = "LogNormal",
    ) -> None:
        super().__init__(Exp(), Normal(loc, scale, seed, dtype), seed, name)
        self._reset_parameters()
        self._add_parameters({"loc": loc, "scale": scale})

    def _mean(self, loc: Any = None, scale: Any = None) -> Any:
        mean, sd = self._check_param_type(loc, scale)
        return exp(mean + 0.5 * square_op(sd))

    def _mode(self, loc: Any = None, scale: Any = None) -> Any:
        mean, sd = self._check_param_type(loc, scale)
        return exp(mean - square_op(sd))

    def _var(self, loc: Any = None, scale: Any = None) -> Any:
        mean, sd = self._check_param_type(loc, scale)
        square = square_op(sd)
        return expm1(square) * exp(2.0 * mean + square)

    def _entropy(self, loc: Any = None, scale: Any = None) -> Any:
        mean, sd = self._check_param_type(loc, scale)
        return mean + 0.5 + log(sd) + HALF_LOG_2PI

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        mean, sd = self._check_param_type(loc, scale)
        probability = self.distribution("cdf", self.bijector("inverse", value), mean, sd)
        return where(value > 0.0, probability, 0.0)

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        mean, sd = self._check_param_type(loc, scale)
        base_log_prob = self.distribution("log_prob", self.bijector("inverse", value), mean, sd)
        return base_log_prob + self.bijector("inverse_log_jacobian", value)

    def _cross_entropy(
        self, dist: Any, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None
    ) -> Any:
        loss = self._kl_loss(dist, loc_b, scale_b, loc_a, scale_a)
        return self._entropy(loc_a, scale_a) + loss

    def _kl_loss(self, dist: Any, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None) -> Any:
        loc_b, scale_b = self._second_parameters(dist, loc_b=loc_b, scale_b=scale_b)
        return self.distribution("kl_loss", "Normal", loc_b, scale_b, loc_a, scale_a)

    def _sample(self, shape: tuple[int, ...] = (), loc: Any = None, scale: Any = None) -> Any:
        mean, sd = self._check_param_type(loc, scale)
        return self.bijector("forward", self.distribution("sample", shape, mean, sd))


@public("nn.probability.distribution")
class Gumbel(TransformedDistribution, ParametricDistribution):
    """The Gumbel distribution. Its parameters cannot be overridden in calls.

    >>> from millrace import Tensor
    >>> Gumbel(0.0, 1.0).log_prob(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [-1.00000000e+00])
    """

    printed_parameters = {"loc": "loc", "scale": "scale"}  # noqa: RUF012
    loc, scale = parameter_property("loc"), parameter_property("scale")

    def __init__(
        self,
        loc: Any,
        scale: Any,
        seed: int | None = 0,
        dtype: DType = mstype.float32,
        name: str = "Gumbel",
    ) -> None:
        check_dtype(dtype, "dtype", type(self).__name__, FLOATS)
        gumbel_cdf = GumbelCDF(loc, scale)
        super().__init__(Invert(gumbel_cdf), Uniform(0.0, 1.0, seed, dtype), seed, name)
        self._reset_parameters()
        self._add_parameters({"loc": loc, "scale": scale})
        self._gumbel_bijector = gumbel_cdf

    def _loc_and_scale(self) -> tuple[Any, Any]:
        return self._check_param_type(None, None)

    def _mean(self) -> Any:
        loc, scale = self._loc_and_scale()
        return loc + scale * np.euler_gamma

    def _mode(self) -> Any:
        return self._loc_and_scale()[0]

    def _sd(self) -> Any:
        return self._loc_and_scale()[1] * (math.pi / math.sqrt(6.0))

    def _entropy(self) -> Any:
        return 1.0 + log(self._loc_and_scale()[1]) + np.euler_gamma

    def _log_prob(self, value: Any) -> Any:
        loc, scale = self._loc_and_scale()
        z = (self._cast_value(value) - loc) / scale
        return -(z + exp(-z)) - log(scale)

    def _cdf(self, value: Any) -> Any:
        return self._gumbel_bijector("forward", self._cast_value(value))

    def _cross_entropy(self, dist: Any, loc_b: Any, scale_b: Any) -> Any:
        loss = self._kl_loss(dist, loc_b, scale_b)
        return self._entropy() + loss

    def _kl_loss(self, dist: Any, loc_b: Any, scale_b: Any) -> Any:
        loc_b, scale_b = self._second_parameters(dist, loc_b=loc_b, scale_b=scale_b)
        loc, scale = self._loc_and_scale()
        loss = log(scale_b / scale) + np.euler_gamma * (scale / scale_b - 1.0) + (loc - loc_b) / scale_b
        return loss + expm1((loc_b - loc) / scale_b + lgamma(scale / scale_b + 1.0))

    def _sample(self, shape: tuple[int, ...] = ()) -> Any:
        uniform_samples = self._sample_uniform(self._sample_shape(shape, self._loc_and_scale()[0]))
        return self.bijector("forward", cast(uniform_samples, self.dtype))
