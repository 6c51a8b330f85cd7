"""``Bijector``: base class of invertible transforms with the log-determinant of their Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributions import parameters as parameter_checks
from millrace._src.runtime.distributions.distribution import Distribution
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.array.cast import cast

__all__ = ["Bijector"]

QUERY_METHODS = ("forward", "forward_log_jacobian", "inverse", "inverse_log_jacobian")


@public("nn.probability.bijector")
class Bijector(Cell):
    """Base class of all bijectors, also of user-defined ones.

    A subclass implements ``_forward``, ``_inverse``, ``_forward_log_jacobian`` and ``_inverse_log_jacobian``.
    Calling a bijector with a method name calls that method. Calling it with a distribution returns a
    TransformedDistribution.

    >>> class Double(Bijector):
    ...     def __init__(self):
    ...         super().__init__(is_constant_jacobian=True, name="Double", param={})
    ...
    ...     def _forward(self, x):
    ...         return x * 2
    >>> Double()("forward", Tensor([1.5]))
    Tensor(shape=[1], dtype=Float32, value= [ 3.00000000e+00])
    """

    def __init__(
        self,
        is_constant_jacobian: bool = False,
        is_injective: bool = True,
        name: str | None = None,
        dtype: DType | None = None,
        param: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self._name: str = check_argument_type(name, "name", owner, str)
        self._is_constant_jacobian: bool = check_argument_type(
            is_constant_jacobian, "is_constant_jacobian", owner, bool
        )
        self._is_injective: bool = check_argument_type(is_injective, "is_injective", owner, bool)
        if dtype is not None:
            parameter_checks.check_dtype(dtype, "dtype", owner, parameter_checks.FLOATS)
        self._dtype = dtype
        self._parameters = parameter_checks.init_arguments(param or {})
        self.default_parameters: list[Any] = []
        self.parameter_names: list[str] = []
        self.common_dtype: DType | None = None
        values = self._parameters.get("param_dict")
        self._batch_shape = None if values is None else parameter_checks.batch_shape(values)
        self._is_scalar_batch = values is not None and parameter_checks.is_scalar_batch(values)

    @property
    def name(self) -> str:
        """The name of the bijector."""
        return self._name

    @property
    def dtype(self) -> DType | None:
        """The required dtype of input values, or None for any floating dtype."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor arguments."""
        return self._parameters

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian is the same for all inputs."""
        return self._is_constant_jacobian

    @property
    def is_injective(self) -> bool:
        """Whether the transform is one-to-one."""
        return self._is_injective

    @property
    def batch_shape(self) -> tuple[int, ...] | None:
        """The broadcast shape of the parameters."""
        return self._batch_shape

    @property
    def is_scalar_batch(self) -> bool:
        """Whether all parameters are Python numbers."""
        return self._is_scalar_batch

    def _add_parameter(self, value: Any, name: str) -> Tensor:
        if isinstance(value, bool) or value is None:
            raise ArgumentTypeError(f"{name} cannot be type {type(value)}")
        tensor = value if isinstance(value, Tensor) else Tensor(value)
        if self.dtype is not None and tensor.dtype != self.dtype:
            raise ArgumentTypeError(
                f"{name} should have the same dtype as the bijector's dtype, {self.dtype}."
            )
        if self.common_dtype not in (None, tensor.dtype):
            raise ArgumentTypeError(
                f"{name} should have the same dtype as other arguments, {self.common_dtype}, but got {tensor.dtype}."
            )
        parameter_checks.check_dtype(
            tensor.dtype, f"dtype of {name}", type(self).__name__, parameter_checks.FLOATS
        )
        self.common_dtype = tensor.dtype
        self.default_parameters.append(value)
        self.parameter_names.append(name)
        return tensor

    def _check_value(self, value: Any, name: str) -> Tensor:
        return parameter_checks.check_tensor(value, name)

    def _check_value_dtype(self, value: Any) -> Tensor:
        """Check that a value is a floating tensor, of the bijector's dtype if it has one."""
        parameter_checks.check_tensor(value, "input value of bijector")
        allowed = parameter_checks.FLOATS if self.dtype is None else (self.dtype,)
        if value.dtype not in allowed:
            expected = "Float" if self.dtype is None else self.dtype
            raise ArgumentTypeError(
                f"For input value of bijector, the type must be or be subclass of {expected}, but got {value.dtype}. "
                "Write value.astype(...)."
            )
        return value

    def cast_param_by_value(self, value: Tensor, para: Tensor) -> Tensor:
        """Cast a parameter to the dtype of a value."""
        return cast(para, value.dtype)

    def shape_mapping(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The output shape for an input shape."""
        return tuple(np.broadcast_shapes(tuple(shape), self.batch_shape or ()))

    def _dispatch(self, method: str, *args: Any, **kwargs: Any) -> Any:
        implementation = getattr(self, f"_{method}", None)
        if implementation is None:
            raise NotImplementedError(f"{method} is not implemented for {self.name} bijector.")
        return implementation(*args, **kwargs)

    def forward(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply the transform to a value."""
        return self._dispatch("forward", value, *args, **kwargs)

    def inverse(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply the inverse transform to a value."""
        return self._dispatch("inverse", value, *args, **kwargs)

    def forward_log_jacobian(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The log of the absolute derivative of the forward transform."""
        return self._dispatch("forward_log_jacobian", value, *args, **kwargs)

    def inverse_log_jacobian(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The log of the absolute derivative of the inverse transform."""
        return self._dispatch("inverse_log_jacobian", value, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Distribution):
            from millrace._src.runtime.distributions.transformed_distribution import TransformedDistribution

            return TransformedDistribution(self, args[0])
        return super().__call__(*args, **kwargs)

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if name not in QUERY_METHODS:
            raise NotImplementedError(
                f"{name} is not implemented for {self.name} bijector. Use one of {QUERY_METHODS}."
            )
        return getattr(self, name)(*args, **kwargs)
