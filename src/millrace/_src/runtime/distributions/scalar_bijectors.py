"""Bijectors: power transform, exponential, affine, softplus, Gumbel CDF, inverse."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributions.parameters import check_positive
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.array.where import where
from millrace._src.runtime.ops.math.elementwise_unary import abs as abs_op
from millrace._src.runtime.ops.math.elementwise_unary import exp, expm1, log, log1p
from millrace._src.runtime.ops.nn.activation import logsigmoid

from .bijector import Bijector

__all__ = ["Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]


class _ParametricBijector(Bijector):
    """A bijector with parameters. Each parameter is also an attribute."""

    def _initialize(self, values: dict[str, Any], name: str, constant: bool = False) -> None:
        Bijector.__init__(self, constant, True, name, None, {**values, "name": name, "param_dict": values})
        for key, value in values.items():
            setattr(self, f"_{key}", self._add_parameter(value, key))

    def _cast_parameters(self, value: Any) -> tuple[Any, ...]:
        """The checked value, followed by the parameters in its dtype."""
        value = self._check_value_dtype(value)
        return value, *(cast(getattr(self, f"_{name}"), value.dtype) for name in self.parameter_names)

    def extend_repr(self) -> str:
        if not self.is_scalar_batch:
            return f"batch_shape = {self.batch_shape}"
        return ", ".join(f"{name} = {getattr(self, '_' + name)}" for name in self.parameter_names)


@public("nn.probability.bijector")
class PowerTransform(_ParametricBijector):
    """Power transform ``(1 + x * power) ** (1 / power)``; the exponential if ``power`` is 0.

    >>> PowerTransform(2.0).forward(Tensor([4.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 3.00000000e+00])
    """

    def __init__(self, power: Any = 0.0, name: str = "PowerTransform") -> None:
        self._initialize({"power": power}, name)
        check_positive(self._power, "Power", or_zero=True)

    @property
    def power(self) -> Tensor:
        """The exponent."""
        return self._power

    @staticmethod
    def _nonzero_power(power: Any) -> tuple[Any, Any]:
        """A mask of where the power is 0, and a power that is safe to divide by."""
        zero = power == 0.0
        return zero, where(zero, 1.0, power)

    def _forward(self, x: Any) -> Any:
        x, power = self._cast_parameters(x)
        zero, power = self._nonzero_power(power)
        return where(zero, exp(x), exp(log1p(x * power) / power))

    def _inverse(self, y: Any) -> Any:
        y, power = self._cast_parameters(y)
        zero, power = self._nonzero_power(power)
        return where(zero, log(y), expm1(log(y) * power) / power)

    def _forward_log_jacobian(self, x: Any) -> Any:
        x, power = self._cast_parameters(x)
        zero, power = self._nonzero_power(power)
        return where(zero, x, (1.0 / power - 1.0) * log1p(x * power))

    def _inverse_log_jacobian(self, y: Any) -> Any:
        y, power = self._cast_parameters(y)
        return (power - 1.0) * log(y)


@public("nn.probability.bijector")
class Exp(PowerTransform):
    """Exponential.

    >>> Exp().inverse(Tensor([1.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 0.00000000e+00])
    """

    def __init__(self, name: str = "Exp") -> None:
        super().__init__(0.0, name)

    def extend_repr(self) -> str:
        return "exp"


@public("nn.probability.bijector")
class ScalarAffine(_ParametricBijector):
    """Affine transform ``scale * x + shift``.

    >>> ScalarAffine(2.0, 1.0).forward(Tensor([3.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 7.00000000e+00])
    """

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine") -> None:
        self._initialize({"scale": scale, "shift": shift}, name, constant=True)

    @property
    def scale(self) -> Tensor:
        """The scale factor."""
        return self._scale

    @property
    def shift(self) -> Tensor:
        """The offset."""
        return self._shift

    def _forward(self, x: Any) -> Any:
        x, scale, shift = self._cast_parameters(x)
        return scale * x + shift

    def _inverse(self, y: Any) -> Any:
        y, scale, shift = self._cast_parameters(y)
        return (y - shift) / scale

    def _forward_log_jacobian(self, x: Any) -> Any:
        return log(abs_op(self._cast_parameters(x)[1]))

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return -log(abs_op(self._cast_parameters(y)[1]))


@public("nn.probability.bijector")
class Softplus(_ParametricBijector):
    """Softplus ``log(1 + exp(sharpness * x)) / sharpness``.

    >>> Softplus().forward(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 6.93147182e-01])
    """

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus") -> None:
        self._initialize({"sharpness": sharpness}, name)

    @property
    def sharpness(self) -> Tensor:
        """The sharpness."""
        return self._sharpness

    def _forward(self, x: Any) -> Any:
        x, sharpness = self._cast_parameters(x)
        return -logsigmoid(-sharpness * x) / sharpness

    def _inverse(self, y: Any) -> Any:
        y, sharpness = self._cast_parameters(y)
        return _inverse_softplus(sharpness * y) / sharpness

    def _forward_log_jacobian(self, x: Any) -> Any:
        x, sharpness = self._cast_parameters(x)
        return logsigmoid(sharpness * x)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        y, sharpness = self._cast_parameters(y)
        return sharpness * y - _inverse_softplus(sharpness * y)


def _inverse_softplus(y: Any) -> Any:
    """Inverse of softplus with sharpness 1."""
    return y + log(-expm1(-y))


@public("nn.probability.bijector")
class GumbelCDF(_ParametricBijector):
    """Cumulative distribution function of the Gumbel distribution.

    >>> GumbelCDF(0.0, 1.0).forward(Tensor([0.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 3.67879450e-01])
    """

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF") -> None:
        self._initialize({"loc": loc, "scale": scale}, name)
        check_positive(self._scale, "scale")

    @property
    def loc(self) -> Tensor:
        """The location."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._scale

    def _forward(self, x: Any) -> Any:
        x, loc, scale = self._cast_parameters(x)
        return exp(-exp(-(x - loc) / scale))

    def _inverse(self, y: Any) -> Any:
        y, loc, scale = self._cast_parameters(y)
        return loc - scale * log(-log(y))

    def _forward_log_jacobian(self, x: Any) -> Any:
        x, loc, scale = self._cast_parameters(x)
        z = (x - loc) / scale
        return -z - exp(-z) - log(scale)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        y, _, scale = self._cast_parameters(y)
        return log(scale / (-y * log(y)))


@public("nn.probability.bijector")
class Invert(Bijector):
    """The inverse of a bijector.

    >>> Invert(Exp()).forward(Tensor([1.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 0.00000000e+00])
    """

    def __init__(self, bijector: Bijector, name: str = "") -> None:
        check_argument_type(bijector, "bijector", "Invert", Bijector)
        name = name or f"Invert{bijector.name}"
        constant, injective = bijector.is_constant_jacobian, bijector.is_injective
        super().__init__(constant, injective, name, bijector.dtype, {"bijector": bijector, "name": name})
        self._bijector = bijector
        self._batch_shape = bijector.batch_shape
        self._is_scalar_batch = bijector.is_scalar_batch

    @property
    def bijector(self) -> Bijector:
        """The inverted bijector."""
        return self._bijector

    def _forward(self, x: Any) -> Any:
        return self.bijector("inverse", x)

    def _inverse(self, y: Any) -> Any:
        return self.bijector("forward", y)

    def _forward_log_jacobian(self, x: Any) -> Any:
        return self.bijector("inverse_log_jacobian", x)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return self.bijector("forward_log_jacobian", y)
