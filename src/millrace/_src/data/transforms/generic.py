"""Transforms for data of any type: type conversion, one-hot labels, masks, slices, padding."""

from __future__ import annotations

import importlib.util
import sys
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import INT64_MAX, Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.public import export_names, public
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.columns import RaggedColumn
from millrace._src.data.kernels.vision.normalize import cast
from millrace._src.data.kernels.vision.validation import as_array, describe

from .argument_types import ArgumentRule, DataType, check_interval, check_positive, data_type
from .tensor_operation import TensorOperation

__all__ = [
    "Concatenate",
    "Duplicate",
    "Fill",
    "Mask",
    "OneHot",
    "PadEnd",
    "Plugin",
    "Relational",
    "Slice",
    "TypeCast",
    "Unique",
]


@public("dataset.transforms", "dataset.transforms.c_transforms")
@stable_id("enum.Relational")
class Relational(IntEnum):
    """Comparison operator of `Mask`.

    >>> Relational.GT.value
    2
    """

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


def _is_text(x: Any) -> bool:
    return x.dtype.kind in "US"


@public("dataset.transforms", "dataset.transforms.c_transforms")
class Concatenate(TensorOperation):
    """Concatenate one-dimensional columns, with an optional array before or after them.

    >>> Concatenate(append=np.array([9]))(np.array([1, 2])).tolist()
    [1, 2, 9]
    """

    num_inputs = None

    @checked
    def __init__(
        self, axis: int | None = 0, prepend: np.ndarray | None = None, append: np.ndarray | None = None
    ) -> None:
        if axis not in (0, -1, None):
            raise ArgumentValueError("only 1D concatenation supported.")
        for what, array in (("prepend", prepend), ("append", append)):
            if array is not None and array.ndim != 1:
                raise ArgumentValueError(f"can only {what} 1D arrays.")
        self.axis, self.prepend, self.append = axis, prepend, append

    def row(self, *values: Any) -> Any:
        first = values[0]
        for what, array in (("prepend", self.prepend), ("append", self.append)):
            if (
                array is not None
                and array.dtype != first.dtype
                and array.dtype.kind + first.dtype.kind not in ("UU", "SS")
            ):
                raise DataError(
                    f"Concatenate: input datatype does not match the {what} datatype, got input datatype: "
                    f"{first.dtype}, {what} datatype: {array.dtype}."
                )
        for value in values:
            if value.ndim != 1:
                raise DataError(f"Concatenate: only 1D input supported, got rank of input: {value.ndim}")
            if value.dtype != first.dtype and not _is_text(value):
                raise DataError(
                    f"Concatenate: the inputs have different types: {first.dtype} and {value.dtype}."
                )
        parts = [part for part in (self.prepend, *values, self.append) if part is not None]
        return np.concatenate(parts)


@public("dataset.transforms", "dataset.transforms.c_transforms")
class Duplicate(TensorOperation):
    """Duplicate a value, for two columns.

    >>> [v.tolist() for v in Duplicate()(np.array([1, 2]))]
    [[1, 2], [1, 2]]
    """

    def row(self, x: Any) -> Any:
        x = as_array(x)
        return x, x.copy()


@public("dataset.transforms", "dataset.transforms.c_transforms")
class Fill(TensorOperation):
    """Fill an array of the shape and type of the input with one value.

    >>> Fill(3)(np.array([1.5, 2.5])).tolist()
    [3.0, 3.0]
    """

    @checked
    def __init__(self, fill_value: str | float | bool | int | bytes) -> None:
        self.fill_value = fill_value

    def row(self, x: Any) -> Any:
        x, value = as_array(x), np.array(self.fill_value)
        if (_is_text(x) or _is_text(value)) and x.dtype.kind != value.dtype.kind:
            raise DataError(
                "Fill: fill_value and the input tensor must be of the same data type when involving strings or bytes, "
                f"but got fill_value of {value.dtype} and {describe(x)}."
            )
        return np.full(x.shape, value if _is_text(x) else cast(value, x.dtype))

    def batch(self, xs: Any) -> Any:
        return self.row(xs)


@public("dataset.transforms", "dataset.transforms.c_transforms")
class Mask(TensorOperation):
    """Compare each element with a constant; the result is boolean or of another type.

    A constant that the input's type cannot hold is compared by its value; MindSpore wraps it around first.

    >>> Mask(Relational.GT, 2)(np.array([1, 2, 3])).tolist()
    [False, False, True]
    """

    @checked
    def __init__(
        self,
        operator: Relational,
        constant: str | float | bool | int | bytes,
        dtype: mstype.DType = mstype.bool_,
    ) -> None:
        self.operator, self.constant, self.dtype = operator, constant, dtype

    def row(self, x: Any) -> Any:
        x, value = as_array(x), np.array(self.constant)
        if _is_text(x) != _is_text(value):
            raise DataError(
                "Mask: input datatype does not match the value datatype, both should be numeric or non-numerical in "
                f"the same time, but got {describe(x)} and a constant of {value.dtype}."
            )
        if _is_text(x):
            value = value.astype(x.dtype.kind)
        elif x.dtype.kind in "iu" and value.dtype.kind == "f":
            value = value.astype(np.int64)  # the constant takes the type of the input
        compare = (np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal)[
            self.operator
        ]
        return np.asarray(compare(x, value)).astype(mstype.np_dtype(self.dtype), copy=False)

    def batch(self, xs: Any) -> Any:
        return self.row(xs)


def _check_num_classes(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    check_positive(value)


@public("dataset.transforms", "dataset.transforms.c_transforms", "dataset.transforms.py_transforms:OneHotOp")
class OneHot(TensorOperation):
    """One-hot encode labels; with smoothing, a part of the one is distributed over all classes.

    Axes of length 1 are removed first. MindSpore 2.7.0 loses the ones of a smoothed 1-D input; here they stay.

    >>> OneHot(4)(np.array(2)).tolist(), OneHot(4, 0.2)(np.array(2)).tolist()
    ([0, 0, 1, 0], [0.05, 0.05, 0.8500000000000001, 0.05])
    """

    @checked
    def __init__(
        self,
        num_classes: Annotated[Any, ArgumentRule(_check_num_classes)],
        smoothing_rate: Annotated[int | float, Range(0.0, 1.0)] = 0.0,
    ) -> None:
        self.num_classes, self.smoothing_rate = num_classes, smoothing_rate

    def row(self, x: Any) -> Any:
        x, classes, rate = as_array(x).squeeze(), self.num_classes, self.smoothing_rate
        if x.ndim > 1:
            raise DataError(f"OneHot: Only support scalar or 1D input, got rank: {x.ndim} ({describe(x)})")
        if x.dtype.kind not in "iu":
            raise DataError(f"OneHot: Only support input of int type, but got: {x.dtype}")
        if x.size and (x.max() >= classes or x.min() < 0):
            worst = x.max() if x.max() >= classes else x.min()
            raise DataError(
                f"OneHot: index values should not bigger than num classes: {classes}, but got: {worst}"
            )
        hot = x[..., None] == np.arange(classes)
        if rate == 0:
            return hot.astype(x.dtype)
        return np.where(hot, 1 - rate + rate / classes, rate / classes)

    def batch(self, xs: Any) -> Any:
        # for rows of one number only: the result of `row` depends on the rank
        return self.row(xs) if xs.ndim == 1 and len(xs) > 1 else None


def _check_pad_shape(name: str, value: Any) -> None:
    check_type(value, (list,), name)
    for item in value:
        if item is None:
            continue
        if not isinstance(item, int):
            raise ArgumentTypeError("a value in the list is not an integer.")
        check_type(item, (int,), "")
        check_interval(item, 1, INT64_MAX)


@public("dataset.transforms", "dataset.transforms.c_transforms")
class PadEnd(TensorOperation):
    """Pad or truncate at the end to a given shape; None keeps a dimension.

    >>> PadEnd([4], 9)(np.array([1, 2])).tolist()
    [1, 2, 9, 9]
    """

    batch_column_types = (np.ndarray, RaggedColumn)
    json_lists = frozenset({"pad_shape"})

    @checked
    def __init__(
        self,
        pad_shape: Annotated[Any, ArgumentRule(_check_pad_shape)],
        pad_value: str | float | bool | int | bytes | None = None,
    ) -> None:
        self.pad_shape, self.pad_value = pad_shape, pad_value

    def row(self, x: Any) -> Any:
        x = as_array(x)
        value = np.array((b"" if x.dtype.kind == "S" else "") if _is_text(x) else 0)
        if self.pad_value is not None:
            value = np.array(self.pad_value)
        if _is_text(x) != _is_text(value):
            raise DataError(
                "PadEnd: can not pad numeric and string tensors together, but got: "
                f"{value.dtype} and {describe(x)}."
            )
        if _is_text(x) and x.dtype.kind != value.dtype.kind:
            raise DataError(
                f"PadEnd: can not pad string and byte tensors together, but got: {value.dtype} and {describe(x)}."
            )
        if x.ndim == 0:
            return x
        if x.ndim != len(self.pad_shape):
            raise DataError(
                f"PadEnd: invalid pad shape, as rank of input is: {x.ndim}, and rank of pad value: "
                f"{len(self.pad_shape)} ({describe(x)})."
            )
        shape = tuple([n if want is None else want for n, want in zip(x.shape, self.pad_shape)])
        overlap = tuple([slice(0, min(n, want)) for n, want in zip(x.shape, shape)])
        dtype = np.result_type(x.dtype, value.dtype) if _is_text(x) else x.dtype
        padded = np.full(shape, value if _is_text(x) else cast(value, x.dtype), dtype)
        padded[overlap] = x[overlap]
        return padded

    def batch(self, xs: Any) -> Any:
        if isinstance(xs, np.ndarray):
            return PadEnd([None, *self.pad_shape], self.pad_value).row(xs) if xs.ndim > 1 else None
        # rows of unequal length become a dense array
        if len(self.pad_shape) != 1 or self.pad_shape[0] is None or isinstance(self.pad_value, (str, bytes)):
            return None
        fill = cast(np.array(0 if self.pad_value is None else self.pad_value), xs.values.dtype)
        return xs.padded(self.pad_shape[0], fill)


def _slice_part(value: Any) -> None:
    if value is None:
        return
    check_type(value, (int, list, slice, bool, type(Ellipsis)), "slice")
    if isinstance(value, slice):
        for item in (value.start, value.stop, value.step):
            check_type(item, (int, type(None)), "slice")
    if isinstance(value, list):
        name = "slice" if value and isinstance(value[0], int) else "slice_option"
        for i, item in enumerate(value):
            check_type(item, (int,), f"{name}[{i}]")


@public("dataset.transforms", "dataset.transforms.c_transforms")
class Slice(TensorOperation):
    """Slice an array, one argument per dimension: an index, a list of indices, a slice, None or ... for all.

    An index keeps its dimension, with a length of one.

    >>> Slice(slice(1, 3))(np.array([5, 6, 7, 8])).tolist(), Slice(0)(np.array([5, 6])).tolist()
    ([6, 7], [5])
    """

    def __init__(self, *slices: Any) -> None:
        for part in slices:
            _slice_part(part)
        self.slices = slices

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> TensorOperation:
        slices = fields.get("slices")
        if set(fields) != {"slices"} or not isinstance(slices, tuple):
            raise ArgumentValueError("expected the argument slices, a list of slices")
        return cls(*[list(part) if isinstance(part, tuple) else part for part in slices])

    def row(self, x: Any) -> Any:
        x = as_array(x)
        if len(self.slices) > x.ndim:
            raise DataError(
                "Slice: Invalid shape, should be greater than slices index: "
                f"{len(self.slices)} slices for {describe(x)}."
            )
        for axis, part in enumerate(self.slices):
            if part is None or part is Ellipsis or isinstance(part, bool):
                continue
            if isinstance(part, slice):
                x = x[(slice(None),) * axis + (part,)]
                continue
            indices = [part] if isinstance(part, int) else part
            if not indices:
                raise DataError("Slice: Both indices and slices can not be empty.")
            for index in indices:
                if not -x.shape[axis] <= index < x.shape[axis]:
                    raise DataError(
                        f"Slice: Index {index} is out of bounds for dimension {axis} of {describe(x)}."
                    )
            x = np.take(x, indices, axis)
        return x


@public("dataset.transforms", "dataset.transforms.c_transforms")
class TypeCast(TensorOperation):
    """Cast an array to another type.

    >>> TypeCast(np.float32)(np.array([1, 2])).dtype
    dtype('float32')
    """

    @checked
    def __init__(self, data_type: DataType) -> None:
        self.data_type = data_type

    def row(self, x: Any) -> Any:
        return cast(x, data_type(self.data_type))

    def batch(self, xs: Any) -> Any:
        wanted = data_type(self.data_type)
        return cast(xs, wanted) if wanted.kind in "biufc" else None


@public("dataset.transforms", "dataset.transforms.c_transforms")
class Unique(TensorOperation):
    """Find the unique values of an array in order of appearance, the index of each element in them, and their counts.

    >>> [part.tolist() for part in Unique()(np.array([[5, 7], [5, 5]]))]
    [[5, 7], [0, 1, 0, 0], [3, 1]]
    """

    def row(self, x: Any) -> Any:
        x = as_array(x)
        if x.dtype.kind not in "iuf":
            raise DataError(f"Unique: only support numeric datatype of input, got {describe(x)}.")
        if x.ndim < 2:
            raise DataError(f"Unique: input must be at least 2-D in order to do unique op, got rank:{x.ndim}")
        values, first, inverse, counts = np.unique(
            x.ravel(), return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        return values[order], ranks[inverse].astype(np.int32), counts[order].astype(np.int32)


@public("dataset.transforms", "dataset.transforms.c_transforms")
class Plugin(TensorOperation):
    """Call a function of a Python file: ``func_name`` in ``lib_path``, with the row's arrays.

    MindSpore loads a C++ library here; Millrace loads a Python file instead. If `user_args` is given, the function
    gets it as a keyword argument of that name.

    >>> from pathlib import Path
    >>> _ = Path("plug.py").write_text("def double(x): return x * 2")
    >>> Plugin("plug.py", "double")(np.array(4))
    np.int64(8)
    """

    num_inputs = None

    @checked
    def __init__(self, lib_path: str, func_name: str, user_args: str | None = None) -> None:
        self.lib_path, self.func_name, self.user_args = lib_path, func_name, user_args

    def row(self, *values: Any) -> Any:
        function = self.__dict__.get("_function") or self._load()
        return function(*values, user_args=self.user_args) if self.user_args else function(*values)

    def _load(self) -> Any:
        path = Path(self.lib_path)
        spec = (
            importlib.util.spec_from_file_location(f"millrace_plugin_{path.stem}", path)
            if path.is_file()
            else None
        )
        if spec is None or spec.loader is None or path.suffix != ".py":
            raise DataError(f"Plugin: {self.lib_path!r} is not a Python file; plug-ins are .py files here.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses and pickle find a module by its name
        spec.loader.exec_module(module)
        function = getattr(module, self.func_name, None)
        if not callable(function):
            raise DataError(f"Plugin: {self.lib_path!r} has no function {self.func_name!r}.")
        self.__dict__["_function"] = function
        return function

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_function"}


# MindSpore has it there
export_names("enum", "dataset.transforms.c_transforms", "IntEnum")
