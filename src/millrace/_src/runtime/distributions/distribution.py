"""``Distribution``: base class with density, moments, divergences and sampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributions import parameters as parameter_checks
from millrace._src.runtime.nn.argument_types import check_argument_type, check_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.array.broadcast import broadcast_to
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.math.elementwise_unary import exp, log, sqrt, square
from millrace._src.runtime.ops.random.uniform_normal import uniform

__all__ = ["Distribution", "ParametricDistribution", "parameter_property"]

QUERY_METHODS = (
    "cdf", "cross_entropy", "entropy", "get_dist_args", "get_dist_type", "kl_loss", "log_cdf", "log_prob",
    "log_survival", "mean", "mode", "prob", "sample", "sd", "survival_function", "var",
)  # fmt: skip


@public("nn.probability.distribution")
class Distribution(Cell):
    """Base class of all distributions, also of user-defined ones.

    A subclass passes ``param`` with an entry ``param_dict`` (its parameters by name), calls
    ``_add_parameter`` for each parameter, and implements some of ``_log_prob`` or ``_prob``, ``_cdf``,
    ``_mean``, ``_sd`` or ``_var``, and ``_sample``. The other methods are derived: ``prob`` from
    ``_log_prob``, ``var`` from ``_sd``, ``survival_function`` from ``_cdf``. Calling the distribution with a
    method name calls that method: ``dist("prob", x)``.

    >>> class Half(Distribution):  # the density 2x between 0 and a
    ...     def __init__(self, a, seed=None, dtype=Tensor(1.0).dtype, name="Half"):
    ...         super().__init__(seed, dtype, name, {"param_dict": {"a": a}})
    ...         self.a = self._add_parameter(a, "a")
    ...
    ...     def _prob(self, value, a=None):
    ...         a = self._check_param_type(a)
    ...         return 2 * self._check_value(value, "value") / a**2
    >>> Half(2.0).log_prob(Tensor([2.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 0.00000000e+00])
    """

    def __init__(self, seed: int | None, dtype: DType, name: str, param: dict[str, Any]) -> None:
        super().__init__()
        check_argument_type(name, "name", type(self).__name__, str)
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise ArgumentTypeError(f"For '{name}', the 'seed' must be int, but got '{type(seed).__name__}'")
        self._name = name
        self._seed = 0 if seed is None else check_int(seed, "seed", name, 0)
        self._dtype = dtype
        self._parameters = parameter_checks.init_arguments(param)
        self._reset_parameters()
        if "distribution" not in self._parameters:
            values = self._parameters.get("param_dict", {})
            self.parameter_type = parameter_checks.parameter_type(values, dtype)
            self._batch_shape = parameter_checks.batch_shape(values)
            self._is_scalar_batch = parameter_checks.is_scalar_batch(values)
            self._broadcast_shape = self._batch_shape

    # --- properties ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the distribution."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the samples."""
        return self._dtype

    @property
    def seed(self) -> int:
        """The random seed of the samples; 0 by default."""
        return self._seed

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor arguments."""
        return self._parameters

    @property
    def is_scalar_batch(self) -> bool:
        """Whether all parameters are Python numbers."""
        return self._is_scalar_batch

    @property
    def batch_shape(self) -> tuple[int, ...] | None:
        """The broadcast shape of the parameters, or None if a parameter is passed only in calls."""
        return self._batch_shape

    @property
    def broadcast_shape(self) -> tuple[int, ...] | None:
        """The shape of one sample."""
        return self._broadcast_shape

    # --- for subclasses --------------------------------------------------------------------------------------

    def _reset_parameters(self) -> None:
        self.default_parameters: list[Tensor | None] = []
        self.parameter_names: list[str] = []

    def _add_parameter(self, value: Any, name: str) -> Tensor | None:
        """Convert a parameter to a tensor and store it as the default for calls."""
        tensor = None if value is None else parameter_checks.as_tensor(value, self.parameter_type)
        self.default_parameters.append(tensor)
        self.parameter_names.append(name)
        return tensor

    def _check_param_type(self, *args: Any) -> Any:
        """The parameters of a call, cast to one dtype and broadcast to one shape. None selects the default."""
        values = []
        for arg, name, default in zip(args, self.parameter_names, self.default_parameters, strict=False):
            if arg is None and default is None:
                raise ArgumentTypeError(
                    f"the type {name} must be subclass of Tensor. It can not be None since it is not specified during "
                    f"initialization. Pass '{name}' in this call or to {type(self).__name__}(...)."
                )
            value = default if arg is None else parameter_checks.check_tensor(arg, name)
            values.append(cast(value, self.parameter_type))
        if len(values) == 1:
            return values[0]
        shapes = [value.shape for value in values]
        if all(shape == shapes[0] for shape in shapes):
            return tuple(values)
        try:
            common_shape = tuple(np.broadcast_shapes(*shapes))
        except ValueError as error:
            shape_list = ", ".join(
                f"{name}: {shape}" for name, shape in zip(self.parameter_names, shapes, strict=False)
            )
            raise ArgumentValueError(
                f"For '{type(self).__name__}', the shapes of parameters need to broadcast, but got {shape_list}."
            ) from error
        return tuple(broadcast_to(value, common_shape) for value in values)

    def _check_value(self, value: Any, name: str) -> Any:
        """Check that a value is a tensor."""
        return parameter_checks.check_tensor(value, name)

    def _not_implemented(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{method} is not implemented for {self.name} distribution.")

    def _dispatch(
        self,
        method: str,
        implementations: Mapping[str, Callable[[Any], Any] | None],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Call the first method that the class implements and apply its transform to the result."""
        for method_name, transform in implementations.items():
            implementation = getattr(self, method_name, None)
            if implementation is not None:
                value = implementation(*args, **kwargs)
                return value if transform is None else transform(value)
        raise self._not_implemented(method)

    # --- queries ---------------------------------------------------------------------------------------------

    def prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability density or mass at a value."""
        return self._dispatch("prob", {"_prob": None, "_log_prob": exp}, value, *args, **kwargs)

    def log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The log of the probability density or mass at a value."""
        return self._dispatch("log_prob", {"_log_prob": None, "_prob": log}, value, *args, **kwargs)

    def cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The cumulative distribution function at a value."""
        implementations = {
            "_cdf": None,
            "_log_cdf": exp,
            "_survival_function": _complement,
            "_log_survival": lambda x: _complement(exp(x)),
        }
        return self._dispatch("cdf", implementations, value, *args, **kwargs)

    def log_cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The log of the cumulative distribution function at a value."""
        if hasattr(self, "_log_cdf"):
            return self._log_cdf(value, *args, **kwargs)
        return log(self.cdf(value, *args, **kwargs))

    def survival_function(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The survival function at a value: 1 - cdf."""
        implementations = {"_survival_function": None, "_log_survival": exp, "cdf": _complement}
        return self._dispatch("survival_function", implementations, value, *args, **kwargs)

    def log_survival(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The log of the survival function at a value."""
        if hasattr(self, "_log_survival"):
            return self._log_survival(value, *args, **kwargs)
        return log(self.survival_function(value, *args, **kwargs))

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """The mean."""
        return self._dispatch("mean", {"_mean": None}, *args, **kwargs)

    def mode(self, *args: Any, **kwargs: Any) -> Any:
        """The mode."""
        return self._dispatch("mode", {"_mode": None}, *args, **kwargs)

    def sd(self, *args: Any, **kwargs: Any) -> Any:
        """The standard deviation."""
        return self._dispatch("sd", {"_sd": None, "_var": sqrt}, *args, **kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """The variance."""
        return self._dispatch("var", {"_var": None, "_sd": square}, *args, **kwargs)

    def entropy(self, *args: Any, **kwargs: Any) -> Any:
        """The entropy."""
        return self._dispatch("entropy", {"_entropy": None}, *args, **kwargs)

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Any:
        """The cross entropy with another distribution of type ``dist``."""
        return self._dispatch("cross_entropy", {"_cross_entropy": None}, dist, *args, **kwargs)

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Any:
        """The Kullback-Leibler divergence from another distribution of type ``dist``."""
        return self._dispatch("kl_loss", {"_kl_loss": None}, dist, *args, **kwargs)

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        """Random samples; ``shape`` is the shape of the sample batch."""
        return self._dispatch("sample", {"_sample": None}, *args, **kwargs)

    def get_dist_args(self, *args: Any, **kwargs: Any) -> Any:
        """The parameters: those of this call, else the defaults of the distribution."""
        return self._dispatch("get_dist_args", {"_get_dist_args": None}, *args, **kwargs)

    def get_dist_type(self) -> str:
        """The type name that ``kl_loss`` and ``cross_entropy`` expect as ``dist``."""
        dist_type: str = self._dispatch("get_dist_type", {"_get_dist_type": None})
        return dist_type

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if name not in QUERY_METHODS:
            raise self._not_implemented(name)
        return getattr(self, name)(*args, **kwargs)


def _complement(x: Any) -> Any:
    return 1.0 - x


def parameter_property(name: str) -> Any:
    """A property that returns a constructor parameter."""
    return property(lambda self: getattr(self, f"_{name}"), doc=f"The parameter '{name}', or None.")


class ParametricDistribution(Distribution):
    """A named distribution whose parameters calls may override."""

    printed_parameters: dict[str, str] = {}  # parameter -> its label in repr  # noqa: RUF012
    allowed_dtypes: tuple[DType, ...] = parameter_checks.FLOATS

    def _initialize(self, values: dict[str, Any], seed: Any, dtype: Any, name: Any) -> None:
        """Shared part of every ``__init__``."""
        parameter_checks.check_dtype(dtype, "dtype", type(self).__name__, self.allowed_dtypes)
        param = {**values, "seed": seed, "dtype": dtype, "name": name, "param_dict": values}
        Distribution.__init__(self, seed, dtype, name, param)
        self._add_parameters(values)

    def _add_parameters(self, values: dict[str, Any]) -> None:
        for key, value in values.items():
            setattr(self, f"_{key}", self._add_parameter(value, key))

    def extend_repr(self) -> str:
        if not self.printed_parameters:
            return ""
        if not self.is_scalar_batch:
            return f"batch_shape = {self._broadcast_shape}"
        return ", ".join(
            f"{label} = {getattr(self, '_' + key)}" for key, label in self.printed_parameters.items()
        )

    def _get_dist_type(self) -> str:
        return type(self).__name__

    def _get_dist_args(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        values = [*args, *(kwargs.get(name) for name in self.parameter_names[len(args) :])]
        return tuple(
            default if value is None else parameter_checks.check_tensor(value, name)
            for value, name, default in zip(
                values, self.parameter_names, self.default_parameters, strict=True
            )
        )

    def _cast_value(self, value: Any, dtype: DType | None = None) -> Any:
        return cast(self._check_value(value, "value"), dtype or self.dtype)

    def _second_parameters(self, dist: Any, **parameters: Any) -> Any:
        """The parameters of the second distribution, which must have the same type."""
        expected = type(self).__name__
        if dist is None:
            raise ArgumentValueError("Input dist must be a constant which is not None.")
        if dist != expected:
            raise ArgumentValueError(f"Expected dist input is {expected}, but got {dist}.")
        tensors = [
            cast(parameter_checks.check_tensor(value, name), self.parameter_type)
            for name, value in parameters.items()
        ]
        return tensors[0] if len(tensors) == 1 else tensors

    def _sample_shape(self, shape: Any, *parameters: Tensor) -> tuple[int, ...]:
        """The full shape of the samples."""
        if not isinstance(shape, tuple):
            raise ArgumentTypeError(
                f"For shape, input type must be a tuple, but got {type(shape).__name__}. Write ({shape!r},) for "
                "a number of samples."
            )
        return (*shape, *parameters[0].shape)

    def _sample_uniform(self, shape: tuple[int, ...]) -> Any:
        """Uniform samples in the open interval (0, 1)."""
        lower_bound = 2.0**-25  # half of the smallest sampled step
        return uniform(shape, Tensor(0.0), Tensor(1.0), self.seed).clip(lower_bound, None)
