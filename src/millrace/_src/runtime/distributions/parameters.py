"""Conversion and validation of distribution and bijector parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = [
    "FLOATS",
    "INTS",
    "as_tensor",
    "batch_shape",
    "check_positive",
    "check_less",
    "check_dtype",
    "check_probabilities",
    "check_tensor",
    "is_scalar_batch",
    "init_arguments",
    "parameter_type",
]

FLOATS = (mstype.float16, mstype.float32, mstype.float64, mstype.bfloat16)
INTS = (
    mstype.int8, mstype.int16, mstype.int32, mstype.int64,
    mstype.uint8, mstype.uint16, mstype.uint32, mstype.uint64,
)  # fmt: skip


def init_arguments(param: dict[str, Any]) -> dict[str, Any]:
    """The constructor arguments to store, from ``dict(locals())``."""
    return {name: value for name, value in param.items() if name != "self" and not name.startswith("_")}


def as_tensor(value: Any, dtype: DType = mstype.float32) -> Tensor:
    """Convert a number, list, array or tensor to a tensor. A Parameter is returned unchanged."""
    if isinstance(value, Parameter):
        return value
    if isinstance(value, bool):
        raise ArgumentTypeError("Input cannot be Type Bool")
    if isinstance(value, (Tensor, np.ndarray, list, int, float)):
        return Tensor(value, dtype=dtype)
    raise ArgumentTypeError(f"Unable to convert input of type {type(value)} to a Tensor of type {dtype}")


def parameter_type(values: dict[str, Any], default: DType | None) -> DType:
    """The common dtype of the parameters; float32 if that dtype is not suited for computation."""
    common_dtype: DType | None = None
    for name, value in values.items():
        if not hasattr(value, "dtype"):
            continue
        dtype = Tensor(value).dtype if isinstance(value, np.ndarray) else value.dtype
        if common_dtype is not None and dtype != common_dtype:
            raise ArgumentTypeError(
                f"{name} should have the same dtype as other arguments, {common_dtype}, but got {dtype}."
            )
        common_dtype = dtype
    if common_dtype is None:
        return mstype.float32 if default is None or default in INTS else default
    return mstype.float32 if common_dtype in INTS or common_dtype == mstype.float64 else common_dtype


def batch_shape(values: dict[str, Any]) -> tuple[int, ...] | None:
    """The broadcast shape of the parameters, or None if one of them is None."""
    if any(value is None for value in values.values()):
        return None
    shapes = {name: as_tensor(value).shape for name, value in values.items()}
    try:
        return tuple(np.broadcast_shapes(*shapes.values()))
    except ValueError as error:
        shape_list = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        raise ArgumentValueError(
            f"The shapes of parameters need to broadcast, but got {shape_list}."
        ) from error


def is_scalar_batch(values: dict[str, Any]) -> bool:
    """Whether all parameters that are set are Python numbers."""
    return all(value is None or isinstance(value, (int, float)) for value in values.values())


def check_dtype(dtype: Any, name: str, owner: str, allowed: tuple[DType, ...]) -> None:
    """Check that a dtype is one of the allowed dtypes."""
    if dtype not in allowed:
        allowed_names = ", ".join(f"mindspore.{str(allowed_dtype).lower()}" for allowed_dtype in allowed)
        raise ArgumentTypeError(
            f"For '{owner}', the '{name}' should be one of [{allowed_names}], but got '{dtype}'."
        )


def check_tensor(value: Any, name: str) -> Tensor:
    """Check that a value or a parameter of a call is a tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            f"For {name}, input type must be a Tensor or Parameter, but got {type(value).__name__}. "
            f"Write Tensor({value!r})."
            if isinstance(value, (int, float, list))
            else f"For {name}, input type must be a Tensor or Parameter, but got {type(value).__name__}."
        )
    return value


def check_positive(value: Tensor | None, name: str, or_zero: bool = False) -> None:
    """Check that all elements are above 0, or at least 0."""
    if value is None:
        return
    array = value.asnumpy()
    if not (array >= 0 if or_zero else array > 0).all():
        expected = "greater than or equal to zero" if or_zero else "greater than zero"
        raise ArgumentValueError(f"{name} must be {expected}, but got {array.min()}.")


def check_less(low: Tensor | None, high: Tensor | None, low_name: str, high_name: str) -> None:
    """Check that each element of `low` is below that of `high`."""
    if low is None or high is None or isinstance(low, Parameter) or isinstance(high, Parameter):
        return
    if not (low.asnumpy() < high.asnumpy()).all():
        raise ArgumentValueError(f"{low_name} must be less than {high_name}, but got {low} and {high}.")


def check_probabilities(probs: Tensor | None) -> None:
    """Check that all elements are in the open interval (0, 1)."""
    if probs is None:
        return
    array = probs.asnumpy()
    if not (array > 0).all():
        raise ArgumentValueError(f"Probabilities must be greater than zero, but got {array.min()}.")
    if not (array < 1).all():
        raise ArgumentValueError(f"Probabilities must be less than one, but got {array.max()}.")
