"""Tensors made of numbers: zeros, ones, ranges, unit matrices, one-hot rows."""

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


def _lengths(size: Any, name: str) -> tuple[int, ...]:
    """The shape of a new tensor."""
    found = to_shape(size)
    if any(length < 0 for length in found):
        raise ArgumentValueError(
            f"For '{name}', each length of the shape must be at least 0, but got {found}."
        )
    return found


def _resolve_dtype(dtype: Any, name: str, default: torch.dtype = torch.float32) -> torch.dtype:
    return default if dtype is None else torch_type(dtype, name)


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def zeros(size: Any, dtype: Any = None) -> Tensor:
    """A tensor of zeros, float32 unless a type is given."""
    return torch.zeros(
        _lengths(size, "zeros"), dtype=_resolve_dtype(dtype, "Zeros"), device=creation_device()
    )


@op("ops", dtype=UNCHECKED, differentiable=False)
def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones, float32 unless a type is given."""
    return torch.ones(_lengths(shape, "ones"), dtype=_resolve_dtype(dtype, "Ones"), device=creation_device())


@op("mint:ones", dtype=UNCHECKED, differentiable=False)
def ones_mint(size: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones, float32 unless a type is given."""
    return torch.ones(_lengths(size, "ones"), dtype=_resolve_dtype(dtype, "Ones"), device=creation_device())


@op("mint", dtype=UNCHECKED, differentiable=False, random=True)
def empty(*size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor whose elements are whatever was in memory."""
    return torch.empty(
        _lengths(unpack_varargs(size), "empty"),
        dtype=_resolve_dtype(dtype, "empty"),
        device=creation_device(),
    )


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def zeros_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Zeros in the shape of a tensor, and in its type unless another is given."""
    return torch.zeros_like(input, dtype=dtype)


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def ones_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Ones in the shape of a tensor, and in its type unless another is given."""
    return torch.ones_like(input, dtype=dtype)


@op("mint", dtype=UNCHECKED, differentiable=False, random=True)
def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor in the shape of another, whose elements are whatever was in memory."""
    return torch.empty_like(input, dtype=dtype)


@op(dtype=SAME, differentiable=False)
def zeros_like_plain(x: Tensor) -> Tensor:
    """Zeros in the shape and type of a tensor."""
    return torch.zeros_like(x)


@op(dtype=SAME, differentiable=False)
def ones_like_plain(x: Tensor) -> Tensor:
    """Ones in the shape and type of a tensor."""
    return torch.ones_like(x)


def _value(value: Any, name: str) -> Any:
    if isinstance(value, (bool, int, float, complex)) or (isinstance(value, Tensor) and value.ndim == 0):
        return value
    raise ArgumentTypeError(f"For '{name}', the value must be a number or a 0-d Tensor, but got {value!r}.")


def _full(shape: tuple[int, ...], value: Any, kind: torch.dtype | None) -> Tensor:
    """A tensor of one value, which may be a tensor itself: nothing of it leaves for Python then."""
    if isinstance(value, Tensor):
        return value.to(kind or value.dtype).expand(shape).contiguous()
    if kind is not None and not (kind.is_floating_point or kind.is_complex) and isinstance(value, float):
        value = bool(value) if kind is torch.bool else int(value)
    return torch.full(shape, value, dtype=kind, device=creation_device())


@op("ops", dtype=UNCHECKED, differentiable=False)
def full(size: Any, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """A tensor of one value: int64, for floating values float32 (MindSpore cuts them to int64), or `dtype`."""
    if not isinstance(size, (list, tuple)):
        raise ArgumentTypeError(
            f"For 'ops.full', 'size' must be a tuple or list of ints, but got {type(size)}."
        )
    kind = _kind_of(fill_value) if dtype is None else torch_type(dtype, "full")
    return _full(_lengths(size, "full"), _value(fill_value, "full"), kind)


@op("mint:full", dtype=UNCHECKED, differentiable=False)
def full_mint(size: Any, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """A tensor of one value; its type is that of the value unless another is given."""
    return _full(_lengths(size, "full"), _value(fill_value, "full"), dtype)


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def full_like(input: Tensor, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """A tensor of one value in the shape of another, and in its type unless another is given."""
    return _full(tuple(input.shape), _value(fill_value, "full_like"), dtype or input.dtype)


@op("ops", dtype=UNCHECKED, differentiable=False)
def fill(type: Any, shape: Any, value: Tensor | float) -> Tensor:
    """A tensor of one value in a type."""
    return _full(_lengths(shape, "fill"), _value(value, "fill"), torch_type(type, "Fill"))


@op(dtype=UNCHECKED)
def fill_v2(shape: Any, value: Tensor) -> Tensor:
    """A tensor of one value, which is a 0-d tensor; the type is its type."""
    return value.expand(_lengths(shape, "FillV2")).contiguous()


@op("ops", "Tensor", dtype=SAME)
def fills(x: Tensor, value: Tensor | float) -> Tensor:
    """One value in the shape and type of a tensor."""
    return _full(tuple(x.shape), _value(value, "fills"), x.dtype)


@op("Tensor:fill", dtype=SAME)
def fill_method(x: Tensor, value: Tensor | float) -> Tensor:
    """One value in the shape and type of the tensor; None is 0."""
    return _full(tuple(x.shape), 0 if value is None else _value(value, "fill"), x.dtype)


@op("Tensor", dtype=SAME)
def fill_diagonal(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """The tensor with one value on its main diagonal; with `wrap` a tall matrix starts over below."""
    made = input.clone()
    made.fill_diagonal_(fill_value, wrap)
    return made


def _new(input: Tensor, size: tuple[Any, ...], dtype: Any, value: Any) -> Tensor:
    shape = _lengths(unpack_varargs(size), "new")
    return torch.full(shape, value, dtype=dtype or input.dtype, device=input.device)


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def new_zeros(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """Zeros in another shape, in the type of this tensor unless another is given."""
    return _new(input, size, dtype, 0)


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def new_ones(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """Ones in another shape, in the type of this tensor unless another is given."""
    return _new(input, size, dtype, 1)


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def new_full(input: Tensor, size: Any, fill_value: Tensor | float, *, dtype: Any = None) -> Tensor:
    """One value in another shape, in the type of this tensor unless another is given."""
    return _full(_lengths(size, "new_full"), _value(fill_value, "new_full"), dtype or input.dtype)


@op("Tensor", dtype=UNCHECKED, differentiable=False, random=True)
def new_empty(input: Tensor, *size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor in another shape and this tensor's type, whose elements are whatever was in memory."""
    return torch.empty(
        _lengths(unpack_varargs(size), "new_empty"), dtype=dtype or input.dtype, device=input.device
    )


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Ones on the main diagonal, zeros elsewhere."""
    rows = to_int(n, "n")
    return _unit(rows, rows if m is None else to_int(m, "m"), _resolve_dtype(dtype, "eye"))


@op(dtype=UNCHECKED, differentiable=False)
def eye_of(n: int, m: int, dtype: Any) -> Tensor:
    """Ones on the main diagonal, zeros elsewhere."""
    return _unit(to_int(n, "n"), to_int(m, "m"), torch_type(dtype, "Eye"))


def _unit(rows: int, columns: int, kind: torch.dtype) -> Tensor:
    if rows < 0 or columns < 0:
        raise ArgumentValueError(f"For 'eye', n and m can not be negative, but got {rows} and {columns}.")
    return torch.eye(rows, columns, dtype=kind, device=creation_device())


def to_scalar(value: Any, name: str) -> Any:
    """A number, or the value of a 0-d tensor (which leaves for Python: the length of the result depends on it)."""
    if isinstance(value, Tensor):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"For '{name}', start, end and step must be numbers, but got {value!r}.")
    return value


def _steps(start: Any, end: Any, step: Any, name: str) -> tuple[Any, Any, Any]:
    """Where a range begins and ends and how it goes on."""
    start, end, step = to_scalar(start, name), to_scalar(end, name), to_scalar(step, name)
    if step == 0:
        raise ArgumentValueError(f"For {name}, delta cannot be equal to zero.")
    if (end - start) * step < 0:
        way = "negative when limit > start" if step < 0 else "positive when limit < start"
        raise ArgumentValueError(f"For {name}, delta cannot be {way}.")
    return start, end, step


def _kind_of(*numbers: Any) -> torch.dtype:
    """float64 tensors stay, other floating numbers are float32, whole ones int64."""
    if any(isinstance(each, Tensor) and each.dtype is torch.float64 for each in numbers):
        return torch.float64
    whole = all(
        not each.is_floating_point() if isinstance(each, Tensor) else isinstance(each, int)
        for each in numbers
    )
    return torch.int64 if whole else torch.float32


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Numbers from `start` to before `end`; with one number, from 0 to before that."""
    if end is None:
        start, end = 0, start
    kind = _kind_of(start, end, step)
    made = torch.arange(*_steps(start, end, step, "arange"), dtype=kind, device=creation_device())
    return made if dtype is None else made.to(torch_type(dtype, "arange"))


@op("ops", "ops:tensor_range", dtype=UNCHECKED, differentiable=False)
def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Tensor:
    """Numbers from `start` to before `end`; more than `maxlen` of them are an error."""
    kind = _kind_of(start, end, step)
    start, end, step = _steps(start, end, step, "Range")
    if (count := math.ceil((end - start) / step)) > maxlen:
        raise ArgumentValueError(
            f"For Range, the result has {count} elements, more than maxlen, which is {maxlen}."
        )
    return torch.arange(start, end, step, dtype=kind, device=creation_device())


def _linear(start: Any, end: Any, steps: Any, kind: torch.dtype) -> Tensor:
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
    return torch.linspace(first, last, count, dtype=kind, device=creation_device())


@op("ops", dtype=UNCHECKED, differentiable=False)
def linspace(start: Tensor | float, end: Tensor | float, steps: Any) -> Tensor:
    """Numbers at equal distances from `start` to `end`, both among them."""
    double = any(isinstance(each, Tensor) and each.dtype is torch.float64 for each in (start, end))
    return _linear(start, end, steps, torch.float64 if double else torch.float32)


@op("mint:linspace", dtype=UNCHECKED, differentiable=False)
def linspace_mint(start: Tensor | float, end: Tensor | float, steps: Any, *, dtype: Any = None) -> Tensor:
    """Numbers at equal distances from `start` to `end`, both among them."""
    return _linear(start, end, steps, _resolve_dtype(dtype, "linspace"))


@op("ops", dtype=UNCHECKED, differentiable=False)
def logspace(
    start: Tensor | float, end: Tensor | float, steps: int, base: int = 10, *, dtype: Any = torch.float32
) -> Tensor:
    """Numbers from base ** start to base ** end whose logarithms have equal distances."""
    return _logarithmic(start, end, steps, base, dtype)


@op(dtype=UNCHECKED, differentiable=False)
def logspace_of(
    start: Tensor, end: Tensor, steps: int = 10, base: int = 10, dtype: Any = torch.float32
) -> Tensor:
    """Numbers from base ** start to base ** end whose logarithms have equal distances."""
    return _logarithmic(start, end, steps, base, dtype)


def _logarithmic(start: Any, end: Any, steps: int, base: int, dtype: Any) -> Tensor:
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
    """A new axis of length `depth`: `on_value` at the place that an index names, `off_value` elsewhere. An index
    outside names no place."""
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
    places = torch.arange(count, dtype=indices.dtype, device=indices.device)
    chosen = indices.unsqueeze(-1) == places
    if axis not in (-1, indices.ndim):
        chosen = chosen.movedim(-1, axis)
    return torch.where(chosen, *promote_operands(on_value, off_value))


@op("ops", dtype=BOOL, differentiable=False)
def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """Rows whose first elements are true, as many as `lengths` says; the row is as long as the longest, or `maxlen`."""
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
    """The powers of a vector's elements, from N - 1 down to 0, a row each."""
    if x.ndim != 1:
        raise ArgumentValueError(f"For 'vander', the input must be a vector, but got {x.ndim} axes.")
    count = x.shape[0] if N is None else to_int(N, "N")
    powers = torch.arange(count - 1, -1, -1, device=x.device)
    return torch.pow(x.unsqueeze(-1), powers)


@op(accepts=REAL, dtype=UNCHECKED, differentiable=False)
def ragged_range(starts: Tensor, limits: Tensor, deltas: Tensor, Tsplits: Any) -> tuple[Tensor, Tensor]:
    """Several ranges behind one another, with the place at which each starts (and the last ends)."""
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
    places = torch.arange(int(ends[-1]) if len(ends) else 0, device=starts.device)
    places = places - torch.repeat_interleave(splits[:-1], counts)
    values = torch.repeat_interleave(starts.to(wide), counts) + places * torch.repeat_interleave(step, counts)
    return splits.to(Tsplits), values.to(starts.dtype)


RaggedRange = primitive("RaggedRange", ragged_range)


@op("mint.nn.functional:one_hot", dtype=INT64, differentiable=False)
def one_hot_mint(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the number of each class, else 0; without `num_classes`, as many as the largest number needs."""
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise ArgumentTypeError(f"For 'one_hot', 'num_classes' must be an int, but got {num_classes!r}.")
    if tensor.is_floating_point():
        raise ArgumentTypeError(f"For 'one_hot', class numbers must be integers, but got {tensor.dtype}.")
    if num_classes < 0:
        return F.one_hot(tensor.long())
    classes = torch.arange(num_classes, device=tensor.device)
    return (tensor.unsqueeze(-1) == classes).long()
