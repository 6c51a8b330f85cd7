"""Discrete distributions: Bernoulli, geometric, categorical."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributions.distribution import ParametricDistribution, parameter_property
from millrace._src.runtime.distributions.gamma import _reject_scalar
from millrace._src.runtime.distributions.parameters import FLOATS, INTS, check_positive, check_probabilities
from millrace._src.runtime.ops.array.broadcast import broadcast_to
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.array.creation import arange, zeros_like
from millrace._src.runtime.ops.array.gather import gather_elements
from millrace._src.runtime.ops.array.reshape import squeeze
from millrace._src.runtime.ops.array.where import where
from millrace._src.runtime.ops.math.arithmetic import pow as pow_op
from millrace._src.runtime.ops.math.cumulative import cumsum
from millrace._src.runtime.ops.math.elementwise_unary import exp, floor, log, trunc
from millrace._src.runtime.ops.math.elementwise_unary import square as square_op
from millrace._src.runtime.ops.math.max_min import argmax
from millrace._src.runtime.ops.math.special import igamma, lgamma
from millrace._src.runtime.ops.random.categorical import multinomial
from millrace._src.runtime.ops.random.distributions import random_poisson
from millrace._src.runtime.ops.random.uniform_normal import uniform

__all__ = ["Bernoulli", "Categorical", "Geometric", "Poisson"]

# The machine epsilon of each floating dtype.
_MACHINE_EPSILON = {"Float16": 2.0**-10, "Float32": 2.0**-23, "Float64": 2.0**-52, "BFloat16": 2.0**-7}


class _TrialDistribution(ParametricDistribution):
    """Base class of distributions with a success probability ``probs``."""

    printed_parameters = {"probs": "probs"}  # noqa: RUF012
    allowed_dtypes = (*INTS, *FLOATS)
    probs = parameter_property("probs")

    def _entropy(self, probs1: Any = None) -> Any:
        p = self._check_param_type(probs1)
        return -((1.0 - p) * log(1.0 - p)) - p * log(p)

    def _cross_entropy(self, dist: Any, probs1_b: Any, probs1: Any = None) -> Any:
        loss = self._kl_loss(dist, probs1_b, probs1)
        return self._entropy(probs1) + loss

    def _kl_loss(self, dist: Any, probs1_b: Any, probs1: Any = None) -> Any:
        q, p = self._second_parameters(dist, probs1_b=probs1_b), self._check_param_type(probs1)
        return p * log(p / q) + (1.0 - p) * log((1.0 - p) / (1.0 - q))


@public("nn.probability.distribution")
class Bernoulli(_TrialDistribution):
    """The Bernoulli distribution: 1 with probability ``probs``, else 0.

    >>> Bernoulli(0.25).prob(Tensor([0, 1]))
    Tensor(shape=[2], dtype=Float32, value= [ 7.50000000e-01,  2.50000000e-01])
    """

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.int32,
        name: str = "Bernoulli",
    ) -> None:
        self._initialize({"probs": probs}, seed, dtype, name)
        check_probabilities(self.probs)

    def _mean(self, probs1: Any = None) -> Any:
        return self._check_param_type(probs1)

    def _mode(self, probs1: Any = None) -> Any:
        return cast(self._check_param_type(probs1) > 0.5, self.dtype)

    def _var(self, probs1: Any = None) -> Any:
        p = self._check_param_type(probs1)
        return p * (1.0 - p)

    def _log_prob(self, value: Any, probs1: Any = None) -> Any:
        value = self._cast_value(value, self.parameter_type)
        p = self._check_param_type(probs1)
        epsilon = _MACHINE_EPSILON[str(p.dtype)]
        p = p.clip(epsilon, 1.0 - epsilon)
        return log(p) * value + log(1.0 - p) * (1.0 - value)

    def _cdf(self, value: Any, probs1: Any = None) -> Any:
        value = self._cast_value(value, self.parameter_type)
        p = self._check_param_type(probs1)
        below = where(value < 0.0, 0.0, 1.0 - p)
        return where(value < 1.0, below, 1.0)

    def _sample(self, shape: tuple[int, ...] = (), probs1: Any = None) -> Any:
        p = self._check_param_type(probs1)
        uniform_samples = uniform(self._sample_shape(shape, p), Tensor(0.0), Tensor(1.0), self.seed)
        return cast(uniform_samples < p, self.dtype)


@public("nn.probability.distribution")
class Geometric(_TrialDistribution):
    """The geometric distribution: the number of failures before the first success.

    >>> Geometric(0.5).prob(Tensor([0, 1]))
    Tensor(shape=[2], dtype=Float32, value= [ 5.00000000e-01,  2.50000000e-01])
    """

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.int32,
        name: str = "Geometric",
    ) -> None:
        self._initialize({"probs": probs}, seed, dtype, name)
        check_probabilities(self.probs)

    def _mean(self, probs1: Any = None) -> Any:
        p = self._check_param_type(probs1)
        return (1.0 - p) / p

    def _mode(self, probs1: Any = None) -> Any:
        return cast(zeros_like(self._check_param_type(probs1)), self.dtype)

    def _var(self, probs1: Any = None) -> Any:
        p = self._check_param_type(probs1)
        return (1.0 - p) / square_op(p)

    def _entropy(self, probs1: Any = None) -> Any:
        return super()._entropy(probs1) / self._check_param_type(probs1)

    def _kl_loss(self, dist: Any, probs1_b: Any, probs1: Any = None) -> Any:
        return super()._kl_loss(dist, probs1_b, probs1) / self._check_param_type(probs1)

    def _prob(self, value: Any, probs1: Any = None) -> Any:
        count, p = floor(self._cast_value(value, self.parameter_type)), self._check_param_type(probs1)
        return where(count < 0.0, 0.0, exp(log(1.0 - p) * count + log(p)))

    def _cdf(self, value: Any, probs1: Any = None) -> Any:
        count, p = floor(self._cast_value(value, self.parameter_type)), self._check_param_type(probs1)
        return where(count < 0.0, 0.0, 1.0 - pow_op(1.0 - p, count + 1.0))

    def _sample(self, shape: tuple[int, ...] = (), probs1: Any = None) -> Any:
        p = self._check_param_type(probs1)
        failures = log(self._sample_uniform(self._sample_shape(shape, p))) / log(1.0 - p)
        return cast(floor(failures), self.dtype)


@public("nn.probability.distribution")
class Categorical(ParametricDistribution):
    """The categorical distribution. The last axis of ``probs`` holds the probabilities of the categories.

    >>> Categorical([0.2, 0.3, 0.5]).cdf(Tensor([0, 1, 2]))
    Tensor(shape=[3], dtype=Float32, value= [ 2.00000003e-01,  5.00000000e-01,  1.00000000e+00])
    """

    printed_parameters = {"probs": "probs"}  # noqa: RUF012
    allowed_dtypes = (*INTS, *FLOATS)
    probs = parameter_property("probs")

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: DType = mstype.int32,
        name: str = "Categorical",
    ) -> None:
        self._initialize({"probs": probs}, seed, dtype, name)
        if self.probs is None:
            return
        if self.probs.ndim == 0:
            raise ArgumentValueError("probs for Categorical distribution must have rank >= 1.")
        check_probabilities(self.probs)
        total = self.probs.asnumpy().astype(np.float64).sum(axis=-1)
        if not np.allclose(total, 1.0, rtol=10 * _MACHINE_EPSILON[str(self.probs.dtype)]):
            raise ArgumentValueError(
                "Probabilities for each category should sum to one for Categorical distribution, but their sums are "
                f"from {total.min()} to {total.max()}."
            )
        if self.probs.ndim == 1:
            self._is_scalar_batch = True
        self._broadcast_shape = tuple(self.probs.shape[:-1])

    def _category_indices(self, probs: Any) -> Any:
        return cast(arange(probs.shape[-1]), probs.dtype)

    def _mean(self, probs: Any = None) -> Any:
        p = self._check_param_type(probs)
        return (self._category_indices(p) * p).sum(-1, keepdims=True)  # MindSpore keeps the axis

    def _mode(self, probs: Any = None) -> Any:
        return cast(argmax(self._check_param_type(probs), -1), self.dtype)

    def _var(self, probs: Any = None) -> Any:
        p = self._check_param_type(probs)
        categories = self._category_indices(p)
        square = (square_op(categories) * p).sum(-1, keepdims=True)
        return square - square_op((categories * p).sum(-1, keepdims=True))

    def _entropy(self, probs: Any = None) -> Any:
        p = self._check_param_type(probs)
        return squeeze(-(log(p) * p).sum(-1))

    def _kl_loss(self, dist: Any, probs_b: Any, probs: Any = None) -> Any:
        q, p = self._second_parameters(dist, probs_b=probs_b), self._check_param_type(probs)
        p, q = p / p.sum(-1, keepdims=True), q / q.sum(-1, keepdims=True)
        return squeeze((p * (log(p) - log(q))).sum(-1))

    def _cross_entropy(self, dist: Any, probs_b: Any, probs: Any = None) -> Any:
        loss = self._kl_loss(dist, probs_b, probs)
        return self._entropy(probs) + loss

    def _lookup(self, value: Any, table: Any, below: float, above: float | None) -> Any:
        """Look values up in a table whose last axis is the category. `below` and `above` replace out-of-range
        values.
        """
        count = table.shape[-1]
        value = cast(self._check_value(value, "value"), table.dtype)
        value = where(value > -1.0, trunc(value), value)  # values between -1 and 0 count as category 0
        shape = np.broadcast_shapes(tuple(value.shape), tuple(table.shape[:-1]))
        value = broadcast_to(value, shape)
        table = broadcast_to(table, (*shape, count))
        index = cast(value.clip(0.0, count - 1.0), mstype.int64)
        entry = gather_elements(table, -1, index.expand_dims(-1)).squeeze(-1)
        entry = where(value < 0.0, below, entry)
        return entry if above is None else where(value > count - 1.0, above, entry)

    def _log_prob(self, value: Any, probs: Any = None) -> Any:
        return self._lookup(value, log(self._check_param_type(probs)), math.nan, math.nan)

    def _cdf(self, value: Any, probs: Any = None) -> Any:
        p = self._check_param_type(probs)
        return self._lookup(value, cumsum(p, -1), 0.0, None)

    def _sample(self, shape: tuple[int, ...] = (), probs: Any = None) -> Any:
        p = self._check_param_type(probs)
        self._sample_shape(shape, p)
        count = int(np.prod(shape))
        indices = multinomial(p.reshape((-1, p.shape[-1])), count, True, self.seed)
        return cast(indices.T.reshape((*shape, *p.shape[:-1])), self.dtype)


@public("nn.probability.distribution")
class Poisson(ParametricDistribution):
    """The Poisson distribution: the number of events at a given rate.

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
        _reject_scalar(rate, "rate", int, float)
        self._initialize({"rate": rate}, seed, dtype, name)
        check_positive(self.rate, "rate")

    def _mean(self, rate: Any = None) -> Any:
        return self._check_param_type(rate)

    def _mode(self, rate: Any = None) -> Any:
        return floor(self._check_param_type(rate))

    def _var(self, rate: Any = None) -> Any:
        return self._check_param_type(rate)

    def _log_prob(self, value: Any, rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        value = cast(self._cast_value(value), rate.dtype)
        count = value.clip(0.0, None)
        log_probability = log(rate) * count - lgamma(count + 1.0)
        return where(value < 0.0, -math.inf, log_probability) - rate

    def _cdf(self, value: Any, rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        value = cast(self._cast_value(value), rate.dtype)
        return where(value < 0.0, 0.0, 1.0 - igamma(1.0 + value.clip(0.0, None), rate))

    def _sample(self, shape: tuple[int, ...] = (), rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        self._sample_shape(shape, rate)
        counts = random_poisson(shape, cast(rate, mstype.float32), self.seed, mstype.float32)
        return cast(counts, self.dtype)
