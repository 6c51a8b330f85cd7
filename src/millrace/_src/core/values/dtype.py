"""Element types (dtypes) with MindSpore's names: ``int32``, ``float32``, ``string`` and others."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import export_names, public
from millrace._src.core.stable_ids import stable_id

__all__ = [
    "DType",
    "Type",
    "bfloat16",
    "bool_",
    "byte",
    "cdouble",
    "cfloat",
    "complex128",
    "complex64",
    "double",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "float16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float_",
    "from_numpy",
    "get_py_obj_dtype",
    "half",
    "hifloat8",
    "int16",
    "int32",
    "int64",
    "int8",
    "int_",
    "intc",
    "intp",
    "list_",
    "long",
    "np_dtype",
    "number",
    "pytype_to_dtype",
    "qint4x2",
    "short",
    "single",
    "string",
    "tensor_type",
    "tuple_",
    "type_none",
    "type_size_in_bytes",
    "ubyte",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintc",
    "uintp",
    "ushort",
]


@stable_id("dtype.DType")
class DType:
    """An element type. There is one object per type, so ``is`` and ``==`` agree, also after pickling.

    >>> int32, str(int32), int32.numpy
    (millrace.int32, 'Int32', dtype('int32'))
    """

    __slots__ = ("label", "name", "numpy", "python")

    name: str
    label: str
    # The numpy dtype; None for the generic types (int_, number, list_ ...) and for those
    # that numpy lacks. Without the library ml_dtypes, bfloat16 is stored as its bits in uint16.
    numpy: np.dtype[Any] | None
    python: type | None

    def __getattr__(self, name: str) -> Any:
        # Called only for a missing attribute: the numpy dtype of a type that ml_dtypes defines.
        if name != "numpy":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        numpy_dtype = _load_ml_dtype(self.name)
        object.__setattr__(self, "numpy", numpy_dtype)
        return numpy_dtype

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self!r} cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self!r} cannot be changed: {name}")

    def __repr__(self) -> str:
        return f"millrace.{self.name}"

    def __str__(self) -> str:
        return self.label

    def __reduce__(self) -> tuple[Any, ...]:
        return (_by_name, (self.name,))

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DType:
        return self


Type = DType

_ALL: dict[str, DType] = {}


def _by_name(name: str) -> DType:
    return _ALL[name]


def _define(name: str, label: str, numpy: npt.DTypeLike | None = None, python: type | None = None) -> DType:
    dtype = DType()
    for field, value in (("name", name), ("label", label), ("python", python)):
        object.__setattr__(dtype, field, value)
    if name not in _EXTRA:
        object.__setattr__(dtype, "numpy", None if numpy is None else np.dtype(numpy))
    _ALL[name] = dtype
    return dtype


# Types that the library ml_dtypes adds to numpy, and the dtypes of arrays without it. The library is loaded when one of
# them is first used.
_EXTRA: dict[str, npt.DTypeLike | None] = {"bfloat16": np.uint16, "float8_e4m3fn": None, "float8_e5m2": None}


def _load_ml_dtype(name: str) -> np.dtype[Any] | None:
    try:
        numpy_dtype: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        return numpy_dtype
    except (ImportError, AttributeError):
        without = _EXTRA[name]
        return None if without is None else np.dtype(without)


bool_ = _define("bool", "Bool", np.bool_, bool)
int8 = byte = _define("int8", "Int8", np.int8, int)
int16 = short = _define("int16", "Int16", np.int16, int)
int32 = intc = _define("int32", "Int32", np.int32, int)
int64 = long = intp = _define("int64", "Int64", np.int64, int)
uint8 = ubyte = _define("uint8", "UInt8", np.uint8, int)
uint16 = ushort = _define("uint16", "UInt16", np.uint16, int)
uint32 = uintc = _define("uint32", "UInt32", np.uint32, int)
uint64 = uintp = _define("uint64", "UInt64", np.uint64, int)
float16 = half = _define("float16", "Float16", np.float16, float)
float32 = single = _define("float32", "Float32", np.float32, float)
float64 = double = _define("float64", "Float64", np.float64, float)
bfloat16 = _define("bfloat16", "BFloat16", None, float)
float8_e4m3fn = _define("float8_e4m3fn", "Float8E4M3FN", None, float)
float8_e5m2 = _define("float8_e5m2", "Float8E5M2", None, float)
hifloat8 = _define("hifloat8", "HiFloat8", None, float)
qint4x2 = _define("int4", "Int4", None, int)
complex64 = cfloat = _define("complex64", "Complex64", np.complex64, complex)
complex128 = cdouble = _define("complex128", "Complex128", np.complex128, complex)
string = _define("string_", "String", np.str_, str)

# Generic types: they name a family; no array has such a dtype.
int_ = _define("int", "Int", None, int)
uint = _define("uint", "UInt", None, int)
float_ = _define("float", "Float", None, float)
number = _define("number", "Number")
list_ = _define("list_", "List", None, list)
tuple_ = _define("tuple_", "Tuple", None, tuple)
type_none = _define("type_none", "None", None, type(None))
tensor_type = _define("tensor_type", "Tensor")

_CONCRETE = [
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64,
    complex64, complex128,
]  # fmt: skip
_FROM_NUMPY = {dtype.numpy: dtype for dtype in _CONCRETE}

_FROM_PYTHON: dict[type, DType] = {
    bool: bool_,
    int: int64,
    float: float64,
    complex: complex128,
    str: string,
    bytes: string,
    list: list_,
    tuple: tuple_,
    type(None): type_none,
}


def from_numpy(dtype: npt.DTypeLike) -> DType:
    """The type of an array; text and bytes are both ``string``.

    >>> from_numpy("float32"), from_numpy("<U5")
    (millrace.float32, millrace.string_)
    >>> from_numpy("datetime64[s]")
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentTypeError: numpy's datetime64[s] has no counterpart here; convert it
    """
    wanted = np.dtype(dtype)
    if wanted.kind in "US":
        return string
    element_type = _FROM_NUMPY.get(wanted.newbyteorder("="))
    if element_type is None and wanted.isbuiltin == 2:  # registered by another library
        element_type = next((_ALL[name] for name in _EXTRA if _ALL[name].numpy == wanted), None)
    if element_type is None:
        raise ArgumentTypeError(f"numpy's {wanted} has no counterpart here; convert it")
    return element_type


def np_dtype(value: Any) -> np.dtype[Any]:
    """The numpy dtype of a type: a DType, a numpy dtype, a Python type, or a name.

    >>> np_dtype(int32), np_dtype("uint8"), np_dtype(float)
    (dtype('int32'), dtype('uint8'), dtype('float64'))
    """
    if isinstance(value, DType):
        if value.numpy is None:
            raise ArgumentTypeError(f"{value!r} is not an element type of an array")
        return value.numpy
    if isinstance(value, str) and value in ("string", "bfloat16"):
        return np_dtype(string if value == "string" else bfloat16)
    numpy_dtype: np.dtype[Any] = np.dtype(value)
    return numpy_dtype


@public("common.dtype", "millrace")
def dtype_to_nptype(type_: DType) -> type[np.generic]:
    """The numpy scalar type of an element type.

    >>> dtype_to_nptype(float32)
    <class 'numpy.float32'>
    """
    return np_dtype(type_).type


@public("common.dtype", "millrace")
def dtype_to_pytype(type_: DType) -> type:
    """The Python type of a single value.

    >>> dtype_to_pytype(uint8)
    <class 'int'>
    """
    if type_.python is None:
        raise ArgumentTypeError(f"{type_!r} has no Python type")
    return type_.python


@public("common.dtype", "millrace")
def pytype_to_dtype(obj: Any) -> DType:
    """The element type for a Python type, a numpy type or dtype; an element type is returned as it is.

    >>> pytype_to_dtype(int), pytype_to_dtype(np.float32)
    (millrace.int64, millrace.float32)
    """
    if isinstance(obj, DType):
        return obj
    if isinstance(obj, np.dtype):
        return from_numpy(obj)
    if not isinstance(obj, type):
        raise ArgumentTypeError(
            "For 'pytype_to_dtype', the argument 'obj' must be a python type object,"
            f"such as int, float, str, etc. But got type {type(obj)}."
        )
    if obj in _FROM_PYTHON:
        return _FROM_PYTHON[obj]
    if issubclass(obj, np.generic):
        try:
            return from_numpy(obj)
        except TypeError:
            pass
    raise NotImplementedError(f"The python type {obj} cannot be converted to MindSpore type.")


@public("common.dtype", "millrace")
def get_py_obj_dtype(obj: Any) -> DType:
    """The element type of a value.

    >>> get_py_obj_dtype(2.5), get_py_obj_dtype(np.int8(1))
    (millrace.float64, millrace.int8)
    """
    if hasattr(obj, "shape") and not isinstance(obj, np.generic):
        return tensor_type
    return pytype_to_dtype(obj if isinstance(obj, (type, DType)) else type(obj))


@public("common.dtype")
def type_size_in_bytes(dtype: DType) -> int:
    """Bytes of one element.

    >>> type_size_in_bytes(float64)
    8
    """
    return int(np_dtype(dtype).itemsize)


export_names(
    __name__, "common.dtype", "Type", "bfloat16", "bool_", "byte", "cdouble", "cfloat", "complex128",
    "complex64", "double", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float_",
    "half", "hifloat8", "int16", "int32", "int64", "int8", "int_", "intc", "intp", "list_", "long",
    "number", "qint4x2", "short", "single", "string", "tensor_type", "tuple_", "type_none", "ubyte",
    "uint", "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ushort",
)  # fmt: skip
export_names(__name__, "common.dtype", unlisted=True, bool="bool_", float="float_", int="int_")
export_names(
    __name__, "millrace", "Type", "bfloat16", "bool_", "byte", "cdouble", "cfloat", "complex128",
    "complex64", "double", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float_",
    "half", "hifloat8", "int16", "int32", "int64", "int8", "int_", "intc", "intp", "list_", "long",
    "number", "qint4x2", "short", "single", "string", "tensor_type", "tuple_", "type_none", "ubyte",
    "uint", "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ushort",
)  # fmt: skip
