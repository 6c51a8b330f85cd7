"""``Tensor``: element type, shape and values in NumPy or PyTorch storage.

Here it is a thin view on a host array, which is all that the data pipeline needs. The runtime adds PyTorch storage and
operations when one of its packages is imported, or when a method is used that only it defines. This module depends on
the runtime only through the hooks at its end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

from . import dtype as mstype
from .dtype import DType
from .tensor_conversion import Array, as_array, cast, format_elements, promote, to_computable, to_storage
from .tensor_methods import METHODS

__all__ = ["Tensor", "is_runtime_loaded", "install_runtime", "load_runtime", "register_runtime"]

T = TypeVar("T", bound="Tensor")


@public("millrace", "common", "common.tensor")
class Tensor:
    """An array of one element type. It shares memory with the numpy array it was made from.

    Python floats become Float32 and Python integers Int64; numpy arrays keep their type.

    >>> tensor = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensor.shape, tensor.dtype
    ((2, 2), millrace.float32)
    >>> (tensor * 2).asnumpy().tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """

    # Either `_array` (with `_dtype`) or `_torch` is set. __getattr__ converts to the other on access; it costs nothing
    # where the attribute is set, so an operation of the runtime needs only one lookup.
    __slots__ = ("__dict__", "__weakref__", "_array", "_dtype", "_torch")
    _torch: Any
    # numpy's operators defer to those of Tensor, while np.sqrt(tensor) still works through __array__
    __array_priority__ = 1000

    def __init__(
        self,
        input_data: Any = None,
        dtype: DType | None = None,
        shape: Any = None,
        init: Any = None,
        const_arg: bool = False,
        device: str | None = None,
    ) -> None:
        storage = isinstance(input_data, Tensor) or type(input_data).__module__ == "torch"
        described = init is not None or shape is not None or (input_data is None and dtype is not None)
        if described or (storage and is_runtime_loaded()):
            load_runtime()
            self._begin(input_data, dtype, shape, init)
            return
        if dtype is not None and not (isinstance(dtype, DType) and dtype.numpy is not None):
            known = [known_dtype for known_dtype in mstype._ALL.values() if known_dtype.numpy is not None]
            raise ArgumentTypeError(f"For 'Tensor', the 'dtype' should be one of {known}, but got {dtype!r}.")
        array, source_dtype = _array_and_dtype(input_data)
        target = source_dtype if dtype is None else dtype
        self._array: Array = cast(array, source_dtype, target)
        self._dtype: DType = target

    @classmethod
    def _wrap(cls: type[T], array: Array, dtype: DType | None = None) -> T:
        tensor = cls.__new__(cls)
        tensor._array = array
        tensor._dtype = mstype.from_numpy(array.dtype) if dtype is None else dtype
        return tensor

    @staticmethod
    def from_numpy(array: Array) -> Tensor:
        """A tensor that shares the array's memory.

        >>> array = np.arange(3)
        >>> tensor = Tensor.from_numpy(array)
        >>> array[0] = 9
        >>> tensor.tolist()
        [9, 1, 2]
        """
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError("Expected a NumPy array.")
        return Tensor(array)

    @staticmethod
    def from_dlpack(source: Any) -> Tensor:
        """A tensor that shares memory with any CPU array that supports DLPack (torch, jax, numpy ...).

        >>> Tensor.from_dlpack(np.arange(2)).tolist()
        [0, 1]
        """
        return Tensor(np.from_dlpack(source))

    def __getattr__(self, name: str) -> Any:
        """Convert to the other storage, or load the runtime for one of its methods."""
        if name in _convert:
            return _convert[name](self)
        if (name == "_torch" or name in METHODS) and not _runtime_ready:
            load_runtime()
            return getattr(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    # --- properties -------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Length along each axis."""
        return tuple(self._array.shape)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._array.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return tuple(self._array.strides)

    @property
    def T(self) -> Tensor:
        """The tensor with its axes reversed."""
        return self._wrap(self._array.T, self._dtype)

    def asnumpy(self) -> Array:
        """The array behind the tensor; no copy, except for bfloat16 numbers where numpy cannot hold them.

        >>> Tensor([1, 2]).asnumpy()
        array([1, 2])
        """
        return to_computable(self._array, self._dtype)

    numpy = asnumpy

    def item(self) -> Any:
        """The only element, as a Python value.

        >>> Tensor(3).item()
        3
        """
        if self.size != 1:
            raise ArgumentValueError(
                f"The tensor should have only one element, but got {self.size}, "
                "more than one element is ambiguous."
            )
        return self.asnumpy().item()

    def tolist(self) -> Any:
        """The elements as nested lists.

        >>> Tensor([[1], [2]]).tolist()
        [[1], [2]]
        """
        return self.asnumpy().tolist()

    def astype(self, dtype: DType) -> Tensor:
        """A tensor of another element type.

        >>> Tensor([1.7]).astype(mstype.int32).tolist()
        [1]
        """
        return type(self)(self, dtype)

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape.

        >>> Tensor([1, 2, 3, 4]).reshape(2, 2).shape
        (2, 2)
        """
        return self._wrap(self._array.reshape(*shape), self._dtype)

    def copy(self) -> Tensor:
        """A copy of the tensor in separate memory.

        >>> Tensor([1]).copy().tolist()
        [1]
        """
        return self._wrap(self._array.copy(), self._dtype)

    # --- Python and numpy protocols ---------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.asnumpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"a {array.dtype} tensor cannot become {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        if self._dtype is mstype.string or self._dtype is mstype.bfloat16:
            raise BufferError(f"DLPack cannot carry {self._dtype}; use astype or asnumpy")
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device_type, number = self._array.__dlpack_device__()
        return int(device_type), int(number)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise ArgumentTypeError("Not support len of a 0-D tensor")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise ArgumentTypeError("Not support iteration over a 0-D tensor")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Tensor:
        return self._wrap(np.asarray(self._array[_index(index)]), self._dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        array, value_dtype = _array_and_dtype(value)
        self._array[_index(index)] = cast(array, value_dtype, self._dtype)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __index__(self) -> int:
        return operator.index(self._scalar())

    def _scalar(self) -> Any:
        if self.size != 1:
            raise ArgumentValueError("Only one element tensors can be converted to Python scalars")
        return self.asnumpy().item()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self._array, self._dtype))

    def __repr__(self) -> str:
        shape = list(self.shape)
        gap = "\n" if self.ndim > 1 else " "
        return f"Tensor(shape={shape}, dtype={self._dtype}, value={gap}{format_elements(self.asnumpy())})"

    def __str__(self) -> str:
        return str(self.asnumpy())

    # identity, because == compares element by element
    __hash__ = object.__hash__

    # --- comparison; the tables below the class define the arithmetic -----------------------------------

    def __eq__(self, other: object) -> Any:
        return _compare(self, other, np.equal, different=False)

    def __ne__(self, other: object) -> Any:
        return _compare(self, other, np.not_equal, different=True)

    def __lt__(self, other: Any) -> Any:
        return _binary(self, other, np.less, result=mstype.bool_)

    def __le__(self, other: Any) -> Any:
        return _binary(self, other, np.less_equal, result=mstype.bool_)

    def __gt__(self, other: Any) -> Any:
        return _binary(self, other, np.greater, result=mstype.bool_)

    def __ge__(self, other: Any) -> Any:
        return _binary(self, other, np.greater_equal, result=mstype.bool_)


def _method(function: Callable[..., Any], swapped: bool, divides: bool) -> Callable[[Any, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        return _binary(self, other, function, swapped=swapped, divides=divides)

    return method


_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
for _name, _function in _BINARY.items():
    _divides = _name == "truediv"
    setattr(Tensor, f"__{_name}__", _method(_function, False, _divides))
    setattr(Tensor, f"__r{_name}__", _method(_function, True, _divides))


def _single(function: Callable[..., Any]) -> Callable[[Any], Any]:
    def method(self: Tensor) -> Tensor:
        return self._wrap(to_storage(np.asarray(function(self.asnumpy())), self._dtype), self._dtype)

    return method


_UNARY: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert, "round": np.round,
}  # fmt: skip
for _name, _function in _UNARY.items():
    setattr(Tensor, f"__{_name}__", _single(_function))


# --- the runtime ----------------------------------------------------------------------------------------------

# Conversions: `_torch`, `_array` and `_dtype` of a tensor with the other storage.
_convert: dict[str, Callable[[Tensor], Any]] = {}
_loaders: list[Callable[[], object]] = []
_runtime_ready: list[bool] = []  # whether the loader has run: storage may be there before the methods


def register_runtime(load: Callable[[], object]) -> None:
    """Register the function that loads the runtime. The package calls it: `core` must not import the runtime."""
    _loaders[:] = [load]


def is_runtime_loaded() -> bool:
    """Whether tensors compute with PyTorch in this process."""
    return bool(_convert)


def load_runtime() -> None:
    """Load the runtime, which defines the operations of Tensor; an error names the extra if PyTorch is missing."""
    if _runtime_ready:
        return
    for load in _loaders:
        load()
    _runtime_ready[:] = [True]


def install_runtime(convert: dict[str, Callable[[Tensor], Any]], members: dict[str, Any]) -> None:
    """Install storage conversions, and members that replace or extend those above."""
    _convert.update(convert)
    for name, member in members.items():
        setattr(Tensor, name, member)


def _rebuild(cls: type[Tensor], array: Array, dtype: DType) -> Tensor:
    return cls._wrap(array, dtype)


def _index(index: Any) -> Any:
    """Convert tensors inside an index to numpy arrays."""
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    return index.asnumpy() if isinstance(index, Tensor) else index


def _array_and_dtype(value: Any) -> tuple[Array, DType]:
    return (value._array, value._dtype) if isinstance(value, Tensor) else as_array(value)


def _binary(
    left: Tensor,
    right: Any,
    function: Callable[..., Any],
    *,
    swapped: bool = False,
    divides: bool = False,
    result: DType | None = None,
) -> Any:
    """Apply a numpy function to a tensor and a tensor, array or number, in their common type."""
    if not isinstance(right, (Tensor, np.ndarray, np.generic, bool, int, float, complex)):
        return NotImplemented
    scalar = isinstance(right, (bool, int, float, complex)) and not isinstance(right, np.generic)
    array, right_dtype = _array_and_dtype(right)
    common = promote(left._dtype, right if scalar else right_dtype)
    if divides and common.python in (bool, int):
        common = mstype.float32
    a = to_computable(cast(left._array, left._dtype, common), common)
    if isinstance(right, int) and common.python is int:
        # in MindSpore a Python integer wraps around: uint8 3 + 300 is 47
        b = np.array(int(right) & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(a.dtype)
    else:
        b = to_computable(cast(array, right_dtype, common), common)
    with np.errstate(all="ignore"):
        values = np.asarray(function(b, a) if swapped else function(a, b))
    return left._wrap(values) if result is mstype.bool_ else left._wrap(to_storage(values, common), common)


def _compare(left: Tensor, right: object, function: Callable[..., Any], different: bool) -> Any:
    """== and !=: objects that equal no number (None, a list, text) are different."""
    if isinstance(right, (str, bytes)) or (isinstance(right, Tensor) and left._dtype is mstype.string):
        array = right._array if isinstance(right, Tensor) else np.asarray(right)
        if left._dtype is not mstype.string or left._array.dtype.kind != array.dtype.kind:
            return different
        return left._wrap(np.asarray(left._array != array if different else left._array == array))
    if left._dtype is mstype.string or (isinstance(right, Tensor) and right._dtype is mstype.string):
        return different
    mask = _binary(left, right, function, result=mstype.bool_)
    return different if mask is NotImplemented else mask
