"""Tensor creation: zeros, full, arange, linspace, eye, one_hot, sequence_mask, vander."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import promote_operands, to_int, to_shape, unpack_varargs
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, INT64, REAL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.device_placement import creation_device

from .cast import torch_type

__all__ = [
    "Eye",
    "Fill",
    "FillDiagonal",
    "FillV2",
    "Fills",
    "LinSpace",
    "LogSpace",
    "OneHot",
    "Ones",
    "OnesLike",
    "RaggedRange",
    "Range",
    "Zeros",
    "ZerosLike",
    "arange",
    "empty",
    "empty_like",
    "eye",
    "eye_of",
    "fill",
    "fill_diagonal",
    "fill_method",
    "fill_v2",
    "fills",
    "full",
    "full_like",
    "full_mint",
    "linspace",
    "linspace_mint",
    "logspace",
    "logspace_of",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "one_hot",
    "one_hot_mint",
    "ones",
    "ones_like",
    "ones_like_plain",
    "ones_mint",
    "ragged_range",
    "range",
    "sequence_mask",
    "vander",
    "zeros",
    "zeros_like",
    "zeros_like_plain",
]


def _parse_shape(size: Any, name: str) -> tuple[int, ...]:
    """Check the shape of a new tensor."""
    lengths = to_shape(size)
    if any(length < 0 for length in lengths):
        raise ArgumentValueError(
            f"For '{name}', each length of the shape must be at least 0, but got {lengths}."
        )
    return lengths


def _resolve_dtype(dtype: Any, name: str, default: torch.dtype = torch.float32) -> torch.dtype:
    return default if dtype is None else torch_type(dtype, name)


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def zeros(size: Any, dtype: Any = None) -> Tensor:
    """Tensor of zeros, float32 by default."""
    return torch.zeros(
        _parse_shape(size, "zeros"), dtype=_resolve_dtype(dtype, "Zeros"), device=creation_device()
    )


@op("ops", dtype=UNCHECKED, differentiable=False)
def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Tensor of ones, float32 by default."""
    return torch.ones(
        _parse_shape(shape, "ones"), dtype=_resolve_dtype(dtype, "Ones"), device=creation_device()
    )


@op("mint:ones", dtype=UNCHECKED, differentiable=False)
def ones_mint(size: Any, dtype: Any = None) -> Tensor:
    """Tensor of ones, float32 by default."""
    return torch.ones(
        _parse_shape(size, "ones"), dtype=_resolve_dtype(dtype, "Ones"), device=creation_device()
    )


@op("mint", dtype=UNCHECKED, differentiable=False, random=True)
def empty(*size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Tensor with uninitialized elements."""
    return torch.empty(
        _parse_shape(unpack_varargs(size), "empty"),
        dtype=_resolve_dtype(dtype, "empty"),
        device=creation_device(),
    )


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def zeros_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Tensor of zeros with the shape of `input`, and its dtype by default."""
    return torch.zeros_like(input, dtype=dtype)


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def ones_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Tensor of ones with the shape of `input`, and its dtype by default."""
    return torch.ones_like(input, dtype=dtype)


@op("mint", dtype=UNCHECKED, differentiable=False, random=True)
def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Uninitialized tensor with the shape of `input`."""
    return torch.empty_like(input, dtype=dtype)


@op(dtype=SAME, differentiable=False)
def zeros_like_plain(x: Tensor) -> Tensor:
    """Tensor of zeros with the shape and dtype of `x`."""
    return torch.zeros_like(x)


@op(dtype=SAME, differentiable=False)
def ones_like_plain(x: Tensor) -> Tensor:
    """Tensor of ones with the shape and dtype of `x`."""
    return torch.ones_like(x)


def _check_fill_value(value: Any, name: str) -> Any:
    if isinstance(value, (bool, int, float, complex)) or (isinstance(value, Tensor) and value.ndim == 0):
        return value
    raise ArgumentTypeError(f"For '{name}', the value must be a number or a 0-d Tensor, but got {value!r}.")


def _full(shape: tuple[int, ...], value: Any, dtype: torch.dtype | None) -> Tensor:
    """Tensor filled with one value. A tensor value is not read from Python."""
    if isinstance(value, Tensor):
        return value.to(dtype or value.dtype).expand(shape).contiguous()
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex) and isinstance(value, float):
        value = bool(value) if dtype is torch.bool else int(value)
    return torch.full(shape, value, dtype=dtype, device=creation_device())


@op("ops", dtype=UNCHECKED, differentiable=False)
def full(size: Any, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """Tensor filled with one value: int64, float32 for floating values (MindSpore truncates them to int64), or
    `dtype`.
    """
    if not isinstance(size, (list, tuple)):
        raise ArgumentTypeError(
            f"For 'ops.full', 'size' must be a tuple or list of ints, but got {type(size)}."
        )
    result_dtype = _infer_number_dtype(fill_value) if dtype is None else torch_type(dtype, "full")
    return _full(_parse_shape(size, "full"), _check_fill_value(fill_value, "full"), result_dtype)


@op("mint:full", dtype=UNCHECKED, differentiable=False)
def full_mint(size: Any, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """Tensor filled with one value, by default in the dtype of the value."""
    return _full(_parse_shape(size, "full"), _check_fill_value(fill_value, "full"), dtype)


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def full_like(input: Tensor, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """Tensor filled with one value, with the shape of `input`, and its dtype by default."""
    return _full(tuple(input.shape), _check_fill_value(fill_value, "full_like"), dtype or input.dtype)


@op("ops", dtype=UNCHECKED, differentiable=False)
def fill(type: Any, shape: Any, value: Tensor | float) -> Tensor:
    """Tensor of the given dtype and shape, filled with one value."""
    return _full(_parse_shape(shape, "fill"), _check_fill_value(value, "fill"), torch_type(type, "Fill"))


@op(dtype=UNCHECKED)
def fill_v2(shape: Any, value: Tensor) -> Tensor:
    """Tensor filled with the value of a 0-d tensor, in its dtype."""
    return value.expand(_parse_shape(shape, "FillV2")).contiguous()


@op("ops", "Tensor", dtype=SAME)
def fills(x: Tensor, value: Tensor | float) -> Tensor:
    """Tensor filled with one value, with the shape and dtype of `x`."""
    return _full(tuple(x.shape), _check_fill_value(value, "fills"), x.dtype)


@op("Tensor:fill", dtype=SAME)
def fill_method(x: Tensor, value: Tensor | float) -> Tensor:
    """Tensor filled with one value, with the shape and dtype of the tensor; None is 0."""
    return _full(tuple(x.shape), 0 if value is None else _check_fill_value(value, "fill"), x.dtype)


@op("Tensor", dtype=SAME)
def fill_diagonal(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Copy of the tensor with the main diagonal filled with one value. With `wrap`, the diagonal of a tall matrix is
    repeated after each block of columns.
    """
    filled = input.clone()
    filled.fill_diagonal_(fill_value, wrap)
    return filled


def _create_like(input: Tensor, size: tuple[Any, ...], dtype: Any, value: Any) -> Tensor:
    shape = _parse_shape(unpack_varargs(size), "new")
    return torch.full(shape, value, dtype=dtype or input.dtype, device=input.device)


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def new_zeros(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """Tensor of zeros of the given size, by default in the dtype of this tensor."""
    return _create_like(input, size, dtype, 0)


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def new_ones(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """Tensor of ones of the given size, by default in the dtype of this tensor."""
    return _create_like(input, size, dtype, 1)


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def new_full(input: Tensor, size: Any, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """Tensor of the given size filled with one value, by default in the dtype of this tensor."""
    return _full(
        _parse_shape(size, "new_full"), _check_fill_value(fill_value, "new_full"), dtype or input.dtype
    )


@op("Tensor", dtype=UNCHECKED, differentiable=False, random=True)
def new_empty(input: Tensor, *size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Uninitialized tensor of the given size, by default in the dtype of this tensor."""
    return torch.empty(
        _parse_shape(unpack_varargs(size), "new_empty"), dtype=dtype or input.dtype, device=input.device
    )


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Identity matrix: ones on the main diagonal, zeros elsewhere."""
    rows = to_int(n, "n")
    return _identity_matrix(rows, rows if m is None else to_int(m, "m"), _resolve_dtype(dtype, "eye"))


@op(dtype=UNCHECKED, differentiable=False)
def eye_of(n: int, m: int, dtype: Any) -> Tensor:
    """Identity matrix: ones on the main diagonal, zeros elsewhere."""
    return _identity_matrix(to_int(n, "n"), to_int(m, "m"), torch_type(dtype, "Eye"))


def _identity_matrix(rows: int, columns: int, dtype: torch.dtype) -> Tensor:
    if rows < 0 or columns < 0:
        raise ArgumentValueError(f"For 'eye', n and m can not be negative, but got {rows} and {columns}.")
    return torch.eye(rows, columns, dtype=dtype, device=creation_device())


def to_scalar(value: Any, name: str) -> Any:
    """Python number of a number or a 0-d tensor. A tensor's value is read, since the length of the result depends on
    it.
    """
    if isinstance(value, Tensor):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"For '{name}', start, end and step must be numbers, but got {value!r}.")
    return value


def _parse_range(start: Any, end: Any, step: Any, name: str) -> tuple[Any, Any, Any]:
    """Check start, end and step of a range."""
    start, end, step = to_scalar(start, name), to_scalar(end, name), to_scalar(step, name)
    if step == 0:
        raise ArgumentValueError(f"For {name}, delta cannot be equal to zero.")
    if (end - start) * step < 0:
        way = "negative when limit > start" if step < 0 else "positive when limit < start"
        raise ArgumentValueError(f"For {name}, delta cannot be {way}.")
    return start, end, step


def _infer_number_dtype(*numbers: Any) -> torch.dtype:
    """Dtype of a range: float64 if a tensor is float64, float32 for other floating numbers, int64 for integers."""
    if any(isinstance(each, Tensor) and each.dtype is torch.float64 for each in numbers):
        return torch.float64
    whole = all(
        not each.is_floating_point() if isinstance(each, Tensor) else isinstance(each, int)
        for each in numbers
    )
    return torch.int64 if whole else torch.float32


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Evenly spaced values in [start, end) with step `step`; one number is the end, and the start is 0."""
    if end is None:
        start, end = 0, start
    number_dtype = _infer_number_dtype(start, end, step)
    numbers = torch.arange(
        *_parse_range(start, end, step, "arange"), dtype=number_dtype, device=creation_device()
    )
    return numbers if dtype is None else numbers.to(torch_type(dtype, "arange"))


@op("ops", "ops:tensor_range", dtype=UNCHECKED, differentiable=False)
def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Tensor:
    """Evenly spaced values in [start, end). More than `maxlen` of them are an error."""
    number_dtype = _infer_number_dtype(start, end, step)
    start, end, step = _parse_range(start, end, step, "Range")
    if (count := math.ceil((end - start) / step)) > maxlen:
        raise ArgumentValueError(
            f"For Range, the result has {count} elements, more than maxlen, which is {maxlen}."
        )
    return torch.arange(start, end, step, dtype=number_dtype, device=creation_device())


def _linspace(start: Any, end: Any, steps: Any, dtype: torch.dtype) -> Tensor:
    count = to_int(steps, "steps")
    if count <= 0:
        raise ArgumentValueError(
            f"For 'linspace', the number of steps must be greater than 0, but got {count}."
        )
    for each in (start, end):
        if isinstance(each, Tensor) and each.ndim:
            raise ArgumentValueError(
                f"For 'linspace', start and end must be 0-d, but got shape {tuple(each.shape)}."
            )
    first, last = (each if isinstance(each, Tensor) else to_scalar(each, "linspace") for each in (start, end))
    return torch.linspace(first, last, count, dtype=dtype, device=creation_device())


@op("ops", dtype=UNCHECKED, differentiable=False)
def linspace(start: Tensor | float, end: Tensor | float, steps: Any) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    double = any(isinstance(each, Tensor) and each.dtype is torch.float64 for each in (start, end))
    return _linspace(start, end, steps, torch.float64 if double else torch.float32)


@op("mint:linspace", dtype=UNCHECKED, differentiable=False)
def linspace_mint(start: Tensor | float, end: Tensor | float, steps: Any, *, dtype: Any = None) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    return _linspace(start, end, steps, _resolve_dtype(dtype, "linspace"))


@op("ops", dtype=UNCHECKED, differentiable=False)
def logspace(
    start: Tensor | float, end: Tensor | float, steps: int, base: int = 10, *, dtype: Any = torch.float32
) -> Tensor:
    """`steps` numbers from base ** start to base ** end, evenly spaced on a logarithmic scale."""
    return _logspace(start, end, steps, base, dtype)


@op(dtype=UNCHECKED, differentiable=False)
def logspace_of(
    start: Tensor, end: Tensor, steps: int = 10, base: int = 10, dtype: Any = torch.float32
) -> Tensor:
    """`steps` numbers from base ** start to base ** end, evenly spaced on a logarithmic scale."""
    return _logspace(start, end, steps, base, dtype)


def _logspace(start: Any, end: Any, steps: int, base: int, dtype: Any) -> Tensor:
    if torch_type(dtype, "LogSpace") not in (torch.float16, torch.float32, torch.float64):
        raise ArgumentTypeError(
            f"For 'LogSpace', the 'dtype' must be float16, float32 or float64, but got {dtype}."
        )
    if to_int(steps, "steps") < 0:
        raise ArgumentValueError(f"For 'logspace', steps must be at least 0, but got {steps}.")
    return torch.logspace(
        start, end, steps, float(to_int(base, "base")), dtype=dtype, device=creation_device()
    )


@op("ops", dtype=UNCHECKED, differentiable=False)
def one_hot(
    indices: Tensor, depth: Any, on_value: Tensor | float = 1, off_value: Tensor | float = 0, axis: int = -1
) -> Tensor:
    """One-hot encoding: a new axis of length `depth` with `on_value` at each index and `off_value` elsewhere. An index
    out of range has no `on_value`.
    """
    if indices.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'one_hot', indices must be int32 or int64, but got {indices.dtype}.")
    count = to_int(depth, "depth")
    if count < 0:
        raise ArgumentValueError(
            f"For 'one_hot', the depth value must be greater than or equal to 0, but got {count}."
        )
    if not -1 <= to_int(axis, "axis") <= indices.ndim:
        raise ArgumentValueError(
            f"For 'one_hot', the axis value must be in [-1,{indices.ndim}], but got {axis}."
        )
    classes = torch.arange(count, dtype=indices.dtype, device=indices.device)
    chosen = indices.unsqueeze(-1) == classes
    if axis not in (-1, indices.ndim):
        chosen = chosen.movedim(-1, axis)
    return torch.where(chosen, *promote_operands(on_value, off_value))


@op("ops", dtype=BOOL, differentiable=False)
def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """Boolean mask whose rows are true in the first `lengths[i]` elements. A row has `maxlen` elements, by default the
    largest length.
    """
    if maxlen is None:
        maxlen = int(lengths.max())
    elif to_int(maxlen, "maxlen") < 0:
        raise ArgumentValueError(f"For 'sequence_mask', maxlen must be at least 0, but got {maxlen}.")
    return torch.arange(maxlen, device=lengths.device) < lengths.unsqueeze(-1)


Zeros = primitive("Zeros", zeros, init=())
Ones = primitive("Ones", ones, init=())
ZerosLike = primitive("ZerosLike", zeros_like_plain, init=())
OnesLike = primitive("OnesLike", ones_like_plain, init=())
Fill = primitive("Fill", fill, init=())
FillV2 = primitive("FillV2", fill_v2, init=())
Fills = primitive("Fills", fills, init=())
FillDiagonal = primitive("FillDiagonal", fill_diagonal, init=("fill_value", "wrap"))
Eye = primitive("Eye", eye_of, init=())
Range = primitive("Range", range, init=("maxlen",))
LinSpace = primitive("LinSpace", linspace, init=())
LogSpace = primitive("LogSpace", logspace_of, init=("steps", "base", "dtype"))
OneHot = primitive("OneHot", one_hot, init=("axis",))


@op("ops", dtype=UNCHECKED)
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Vandermonde matrix: the powers N - 1 to 0 of each element of a vector."""
    if x.ndim != 1:
        raise ArgumentValueError(f"For 'vander', the input must be a vector, but got {x.ndim} axes.")
    count = x.shape[0] if N is None else to_int(N, "N")
    powers = torch.arange(count - 1, -1, -1, device=x.device)
    return torch.pow(x.unsqueeze(-1), powers)


@op(accepts=REAL, dtype=UNCHECKED, differentiable=False)
def ragged_range(starts: Tensor, limits: Tensor, deltas: Tensor, Tsplits: Any) -> tuple[Tensor, Tensor]:
    """Several ranges, concatenated, with the offsets at which each starts (and the last ends)."""
    if Tsplits not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'RaggedRange', 'Tsplits' must be int32 or int64, but got {Tsplits}.")
    shapes = {tuple(part.shape) for part in (starts, limits, deltas) if part.ndim}
    if len(shapes) > 1 or any(len(shape) > 1 for shape in shapes):
        raise ArgumentValueError(
            f"For 'RaggedRange', starts, limits and deltas must be lists of one length or numbers, but the shapes are "
            f"{[list(part.shape) for part in (starts, limits, deltas)]}."
        )
    starts, limits, deltas = torch.broadcast_tensors(*(part.reshape(-1) for part in (starts, limits, deltas)))
    if bool((deltas == 0).any()):
        raise ArgumentValueError(f"For 'RaggedRange', a delta must not be 0, but got {deltas.tolist()}.")
    wide = torch.float64 if starts.is_floating_point() else torch.int64
    apart, step = (limits.to(wide) - starts.to(wide)), deltas.to(wide)
    counts = torch.ceil(apart / step).clamp_min(0).long()
    ends = torch.cumsum(counts, 0)
    splits = torch.cat([ends.new_zeros(1), ends])
    offsets = torch.arange(int(ends[-1]) if len(ends) else 0, device=starts.device)
    offsets = offsets - torch.repeat_interleave(splits[:-1], counts)
    values = torch.repeat_interleave(starts.to(wide), counts) + offsets * torch.repeat_interleave(
        step, counts
    )
    return splits.to(Tsplits), values.to(starts.dtype)


RaggedRange = primitive("RaggedRange", ragged_range)


@op("mint.nn.functional:one_hot", dtype=INT64, differentiable=False)
def one_hot_mint(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot encoding of class indices. Without `num_classes`, the largest index plus one is used."""
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise ArgumentTypeError(f"For 'one_hot', 'num_classes' must be an int, but got {num_classes!r}.")
    if tensor.is_floating_point():
        raise ArgumentTypeError(f"For 'one_hot', class numbers must be integers, but got {tensor.dtype}.")
    if num_classes < 0:
        return F.one_hot(tensor.long())
    classes = torch.arange(num_classes, device=tensor.device)
    return (tensor.unsqueeze(-1) == classes).long()
