"""Tensor properties and conversion to Python and NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.core.values.tensor_conversion import Array, format_elements, to_computable

from .error_translation import translate_error
from .storage import DTYPES_FROM_TORCH, as_torch_tensor, to_numpy, to_torch_dtype, wrap

__all__ = ["TensorProperties", "is_tensor"]


class TensorProperties:
    """Members that replace those of the same name in core's Tensor."""

    def _begin(self: Any, data: Any, dtype: Any, shape: Any, init: Any) -> None:
        """The part of the constructor for Tensors, PyTorch tensors and initializers."""
        if init is not None:
            if data is not None or shape is None or dtype is None:
                raise ArgumentValueError(
                    "For 'Tensor', 'init' requires 'shape' and 'dtype', and excludes 'input_data'."
                )
            from .initializer import defer_initialization

            defer_initialization(self, init, shape, dtype)
            return
        if data is None:
            from .initializer import defer_initialization
            from .symbolic_shape import make_abstract

            if not make_abstract(self, shape, dtype):
                defer_initialization(self, "zeros", shape, dtype)
            return
        if shape is not None:
            raise ArgumentValueError("For 'Tensor', pass 'shape' with 'init', not with 'input_data'.")
        if isinstance(data, Tensor) and data.dtype.python is str:
            self._array, self._dtype = data._array, data._dtype
            return
        self._torch = as_torch_tensor(data, dtype)

    @property
    def shape(self: Any) -> tuple[int, ...]:
        """Length along each axis."""
        return tuple(_storage(self).shape)

    @property
    def dtype(self: Any) -> DType:
        """Element type."""
        return self._dtype if _holds_numpy_array(self) else DTYPES_FROM_TORCH[self._torch.dtype]

    @property
    def ndim(self: Any) -> int:
        """Number of axes."""
        return int(_storage(self).ndim)

    @property
    def size(self: Any) -> int:
        """Number of elements."""
        return max(0, math.prod(_storage(self).shape))  # an unknown length is -1

    @property
    def itemsize(self: Any) -> int:
        """Bytes of one element."""
        return int(_storage(self).itemsize)

    @property
    def nbytes(self: Any) -> int:
        """Bytes of all elements."""
        return int(_storage(self).nbytes)

    @property
    def strides(self: Any) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        held = _storage(self)
        if isinstance(held, np.ndarray):
            return tuple(held.strides)
        return tuple(step * held.itemsize for step in held.stride())

    @property
    def T(self: Any) -> Tensor:
        """The tensor with its axes reversed."""
        data = self._torch
        return wrap(data.permute(*range(data.ndim - 1, -1, -1)))

    @property
    def mT(self: Any) -> Tensor:
        """Matrices with their last two axes swapped."""
        if self.ndim < 2:
            raise ArgumentValueError(f"For tensor.mT, there must be at least 2 axes, but got {self.ndim}.")
        return wrap(self._torch.transpose(-2, -1))

    @property
    def mH(self: Any) -> Tensor:
        """The conjugate transpose of matrices."""
        if self.ndim < 2:
            raise ArgumentValueError(f"For tensor.mH, there must be at least 2 axes, but got {self.ndim}.")
        return wrap(torch.conj_physical(self._torch.transpose(-2, -1)))

    @property
    def H(self: Any) -> Tensor:
        """The conjugate transpose of a matrix."""
        if self.ndim != 2:
            raise ArgumentValueError(f"For tensor.H only support 2-D Tensor, but got {self.ndim}-D.")
        return wrap(torch.conj_physical(self._torch.transpose(0, 1)))

    @property
    def device(self: Any) -> str:
        """The device of the elements: ``"CPU"``, or ``"GPU:0"``."""
        device = self._torch.device
        return "CPU" if device.type == "cpu" else f"GPU:{device.index or 0}"

    def asnumpy(self: Any) -> Array:
        """The elements as an array: shared memory on the CPU, a copy from a device."""
        if _holds_numpy_array(self) and "_lazy" not in self.__dict__:
            return to_computable(self._array, self._dtype)
        return to_computable(to_numpy(self), DTYPES_FROM_TORCH[self._torch.dtype])

    numpy = asnumpy

    def astype(self: Any, dtype: Any, copy: bool = True) -> Tensor:
        """Cast to another dtype."""
        if _holds_numpy_array(self) and (self._dtype is mstype.string or dtype is mstype.string):
            return type(self)(self._array, dtype)
        try:
            return wrap(self._torch.to(to_torch_dtype(dtype)))
        except RuntimeError as error:
            raise translate_error("astype", error, (self, dtype)) from None

    def reshape(self: Any, *shape: Any) -> Tensor:
        """The same elements in another shape."""
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        elif len(shape) == 1 and isinstance(shape[0], Tensor):
            shape = tuple(shape[0].tolist())
        try:
            return wrap(self._torch.reshape(tuple(map(int, shape))))
        except (RuntimeError, TypeError, ValueError) as error:
            raise translate_error("reshape", error, (self, *shape)) from None

    def copy(self: Any) -> Tensor:
        """A copy with separate memory."""
        if _holds_numpy_array(self) and self._dtype is mstype.string:
            return self._wrap(self._array.copy(), self._dtype)
        return wrap(self._torch.clone())

    def item(self: Any) -> Any:
        """The only element, as a Python value."""
        if self.size != 1:
            raise ArgumentValueError(
                f"The tensor should have only one element, but got {self.size}, "
                "more than one element is ambiguous."
            )
        return self.asnumpy().item() if self._dtype is mstype.string else self._torch.item()

    def _scalar(self: Any) -> Any:
        if self.size != 1:
            raise ArgumentValueError("Only one element tensors can be converted to Python scalars")
        return self.item()

    def __len__(self: Any) -> int:
        shape = _storage(self).shape
        if not shape:
            raise ArgumentTypeError("Not support len of a 0-D tensor")
        return int(shape[0])

    def __iter__(self: Any) -> Iterator[Tensor]:
        if not _storage(self).shape:
            raise ArgumentTypeError("Not support iteration over a 0-D tensor")
        return (self[i] for i in range(len(self)))

    def __contains__(self: Any, value: Any) -> bool:
        matches = self == value
        return bool(matches.asnumpy().any()) if isinstance(matches, Tensor) else bool(matches)

    def __dlpack__(self: Any, **options: Any) -> Any:
        if _holds_numpy_array(self) and self._dtype is mstype.string:
            raise BufferError(f"DLPack cannot carry {self._dtype}; use asnumpy")
        if self.dtype is mstype.bfloat16 and not _is_torch(options):
            raise BufferError(f"DLPack cannot carry {self.dtype} to numpy; use astype or asnumpy")
        return self._torch.detach().__dlpack__(**options)

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        if _holds_numpy_array(self) and self._dtype is mstype.string:
            return (1, 0)
        device_type, device_id = self._torch.__dlpack_device__()
        return int(device_type), int(device_id)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.asnumpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"a {array.dtype} tensor cannot become {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def has_init(self: Any) -> bool:
        """Whether the values are still to be initialized."""
        return "_lazy" in self.__dict__ and min(self.shape, default=0) >= 0

    def init_data(
        self: Any, slice_index: Any = None, shape: Any = None, opt_shard_group: Any = None
    ) -> Tensor:
        """Run the initializer now."""
        self._torch  # noqa: B018 (the access materializes it)
        return self

    def __repr__(self: Any) -> str:
        gap = "\n" if self.ndim > 1 else " "
        lazy = self.__dict__.get("_lazy")
        shown = (
            format_elements(self.asnumpy())
            if lazy is None
            else "<uninitialized>"
            if min(lazy.shape, default=0) >= 0
            else ""
        )
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value={gap}{shown})"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Tensor:
        duplicate = self.copy()
        memo[id(self)] = duplicate
        return duplicate

    def __format__(self: Any, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)


def _is_torch(options: dict[str, Any]) -> bool:
    return "max_version" not in options


def _holds_numpy_array(tensor: Any) -> bool:
    """Whether a tensor still holds the NumPy array of the data pipeline."""
    try:
        object.__getattribute__(tensor, "_torch")
    except AttributeError:
        return True
    return False


def _storage(tensor: Any) -> torch.Tensor | Array:
    """The current storage of a tensor."""
    try:
        held: torch.Tensor | Array = object.__getattribute__(tensor, "_torch")
    except AttributeError:
        lazy = tensor.__dict__.get("_lazy")
        held = tensor._array if lazy is None else lazy
    return held


@public("millrace")
def is_tensor(obj: Any) -> bool:
    """Whether a value is a Tensor.

    >>> is_tensor(Tensor([1])), is_tensor(1)
    (True, False)
    """
    return isinstance(obj, Tensor)
