"""NumPy array creation: array, zeros, arange, linspace, eye, meshgrid, vander."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.array.creation import to_scalar
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.storage import to_torch_dtype, wrap, wrap_all

from .type_promotion import cast_result, resolve_dtype, to_array

__all__ = [
    "arange",
    "array",
    "asarray",
    "asfarray",
    "diag",
    "diag_indices",
    "diagflat",
    "diagonal",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "geomspace",
    "identity",
    "indices",
    "ix_",
    "linspace",
    "logspace",
    "meshgrid",
    "mgrid",
    "ogrid",
    "ones",
    "ones_like",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "vander",
    "zeros",
    "zeros_like",
]


def _check_shape(shape: Any) -> tuple[int, ...]:
    lengths = to_shape(shape)
    if any(length < 0 for length in lengths):
        raise ArgumentValueError(f"no length of a shape may be negative, but got {lengths}.")
    return lengths


@op("numpy", dtype=UNCHECKED)
def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Tensor from a number, nested lists, or another tensor; Python numbers become int32 and float32."""
    tensor = cast_result(to_array(obj), dtype)
    if copy and tensor is obj:
        tensor = tensor.clone()
    return tensor.reshape((1,) * max(ndmin - tensor.ndim, 0) + tuple(tensor.shape))


@op("numpy", dtype=UNCHECKED)
def asarray(a: Any, dtype: Any = None) -> Tensor:
    """Tensor from a number, nested lists, or another tensor, which is not copied."""
    return cast_result(to_array(a), dtype)


@op("numpy", dtype=UNCHECKED)
def asfarray(a: Any, dtype: Any = torch.float32) -> Tensor:
    """Floating tensor from a number, nested lists, or another tensor."""
    float_dtype = resolve_dtype(dtype, torch.float32)
    return to_array(a).to(
        float_dtype if float_dtype is not None and float_dtype.is_floating_point else torch.float32
    )


@op("numpy", dtype=UNCHECKED, differentiable=False)
def zeros(shape: Any, dtype: Any = torch.float32) -> Tensor:
    """Tensor of zeros."""
    return torch.zeros(_check_shape(shape), dtype=to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def ones(shape: Any, dtype: Any = torch.float32) -> Tensor:
    """Tensor of ones."""
    return torch.ones(_check_shape(shape), dtype=to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def empty(shape: Any, dtype: Any = torch.float32) -> Tensor:
    """Tensor with uninitialized elements."""
    return torch.empty(_check_shape(shape), dtype=to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED)
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """Tensor filled with one value, or with values that are broadcast."""
    value = cast_result(to_array(fill_value), dtype)
    return torch.broadcast_to(value, _check_shape(shape)).clone()


def _parse_like(a: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], torch.dtype, torch.device]:
    model = to_array(a)
    wanted = tuple(model.shape) if shape is None else _check_shape(shape)
    return wanted, resolve_dtype(dtype) or model.dtype, model.device


@op("numpy", dtype=UNCHECKED, differentiable=False)
def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Tensor of zeros with the shape and dtype of a value by default."""
    wanted, like_dtype, device = _parse_like(a, dtype, shape)
    return torch.zeros(wanted, dtype=like_dtype, device=device)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Tensor of ones with the shape and dtype of a value by default."""
    wanted, like_dtype, device = _parse_like(a, dtype, shape)
    return torch.ones(wanted, dtype=like_dtype, device=device)


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Uninitialized tensor with the shape and dtype of a value by default."""
    wanted, like_dtype, device = _parse_like(prototype, dtype, shape)
    return torch.empty(wanted, dtype=like_dtype, device=device)


@op("numpy", dtype=UNCHECKED)
def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Tensor filled with one value, with the shape and dtype of another by default."""
    wanted, like_dtype, device = _parse_like(a, dtype, shape)
    return torch.broadcast_to(to_array(fill_value).to(like_dtype).to(device), wanted).clone()


@op("numpy", dtype=UNCHECKED, differentiable=False)
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    """Evenly spaced values in [start, stop); one number is the stop, and the start is 0. Integers are int32."""
    if stop is None:
        start, stop = 0, start
    numbers = [to_scalar(each, "arange") for each in (start, stop, 1 if step is None else step)]
    if numbers[2] == 0:
        raise ArgumentValueError("For 'arange', the step must not be 0.")
    whole = all(isinstance(each, int) for each in numbers)
    if (numbers[1] - numbers[0]) * numbers[2] <= 0:
        return torch.zeros(0, dtype=resolve_dtype(dtype) or (torch.int32 if whole else torch.float32))
    values = torch.arange(*numbers, dtype=torch.int32 if whole else torch.float32)
    return cast_result(values, dtype)


def _linspace(start: Any, stop: Any, num: int, endpoint: bool, axis: int) -> tuple[Tensor, Tensor]:
    """Evenly spaced values along a new axis, and the step; in float32 at least."""
    first, last = (to_array(each) for each in (start, stop))
    first, last = (each if each.is_floating_point() else each.to(torch.float32) for each in (first, last))
    first, last = torch.broadcast_tensors(first, last)
    count = to_int(num, "num")
    if count < 0:
        raise ArgumentValueError(
            f"For 'linspace', the number of elements must be at least 0, but got {count}."
        )
    gap = (last - first) / max(count - 1 if endpoint else count, 1)
    steps = torch.arange(count, dtype=first.dtype, device=first.device)
    values = first + steps.reshape((-1,) + (1,) * first.ndim) * gap
    if endpoint and count > 1:
        values = torch.cat((values[:-1], last.unsqueeze(0)))
    return (values if axis == 0 else values.movedim(0, axis)), gap


@op("numpy", dtype=UNCHECKED)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced values from `start` to `stop`; with `retstep` also the step."""
    values, gap = _linspace(start, stop, num, endpoint, axis)
    return (cast_result(values, dtype), gap) if retstep else cast_result(values, dtype)


@op("numpy", dtype=UNCHECKED)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Values from base ** start to base ** stop, evenly spaced on a logarithmic scale."""
    exponents, _ = _linspace(start, stop, num, endpoint, axis)
    return cast_result(torch.pow(to_array(base).to(exponents.dtype), exponents), dtype)


@op("numpy", dtype=UNCHECKED)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """Values from `start` to `stop` in geometric progression."""
    first, last = (to_array(each).to(torch.float32) for each in (start, stop))
    exponents, _ = _linspace(torch.zeros_like(first), torch.log2(last / first), num, endpoint, axis)
    return cast_result(first * torch.exp2(exponents), dtype)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = torch.float32) -> Tensor:
    """Ones on a diagonal, zeros elsewhere."""
    rows, columns = to_int(N, "N"), to_int(N if M is None else M, "M")
    if min(rows, columns) < 0:
        raise ArgumentValueError(f"For 'eye', N and M can not be negative, but got {rows} and {columns}.")
    below = torch.arange(columns) - torch.arange(rows).unsqueeze(-1)
    return (below == to_int(k, "k")).to(to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def identity(n: int, dtype: Any = torch.float32) -> Tensor:
    """Identity matrix."""
    return eye.raw(n, dtype=dtype)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = torch.float32) -> Tensor:
    """Ones on and below a diagonal, zeros above."""
    rows, columns = to_int(N, "N"), to_int(N if M is None else M, "M")
    return torch.ones(_check_shape((rows, columns)), dtype=to_torch_dtype(dtype)).tril(to_int(k, "k"))


def _to_matrix(m: Any) -> Tensor:
    tensor = to_array(m)
    return tensor if tensor.ndim > 1 else tensor.expand(tensor.numel(), tensor.numel())


@op("numpy", dtype=UNCHECKED)
def tril(m: Any, k: int = 0) -> Tensor:
    """Lower triangle of matrices; the other elements are zero. A vector is used as each row."""
    return torch.tril(_to_matrix(m), to_int(k, "k"))


@op("numpy", dtype=UNCHECKED)
def triu(m: Any, k: int = 0) -> Tensor:
    """Upper triangle of matrices; the other elements are zero. A vector is used as each row."""
    return torch.triu(_to_matrix(m), to_int(k, "k"))


def _triangle_indices(rows: int, columns: int, k: int, lower: bool) -> tuple[Tensor, ...]:
    make = torch.tril_indices if lower else torch.triu_indices
    height, width = _check_shape((rows, columns))
    return tuple(make(height, width, k, dtype=torch.int32))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def tril_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """Row and column indices of the lower triangle of an n x m matrix."""
    return _triangle_indices(n, n if m is None else m, k, lower=True)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def triu_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """Row and column indices of the upper triangle of an n x m matrix."""
    return _triangle_indices(n, n if m is None else m, k, lower=False)


def _check_matrix(arr: Tensor) -> tuple[int, int]:
    if arr.ndim != 2:
        raise ArgumentValueError(f"input array must be 2-d, but got {arr.ndim} axes.")
    return arr.shape[0], arr.shape[1]


@op("numpy", dtype=UNCHECKED, differentiable=False)
def tril_indices_from(arr: Tensor, k: int = 0) -> Any:
    """Row and column indices of the lower triangle of a matrix."""
    return _triangle_indices(*_check_matrix(arr), k, lower=True)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def triu_indices_from(arr: Tensor, k: int = 0) -> Any:
    """Row and column indices of the upper triangle of a matrix."""
    return _triangle_indices(*_check_matrix(arr), k, lower=False)


@op("numpy", dtype=UNCHECKED)
def diag(v: Any, k: int = 0) -> Tensor:
    """Matrix with a vector on a diagonal, or the diagonal of a matrix."""
    tensor = to_array(v)
    if tensor.ndim not in (1, 2):
        raise ArgumentValueError("Input must be 1- or 2-d.")
    return torch.diag(tensor, to_int(k, "k"))


@op("numpy", dtype=UNCHECKED)
def diagflat(v: Any, k: int = 0) -> Tensor:
    """Matrix with the flattened input on a diagonal."""
    return torch.diagflat(to_array(v), to_int(k, "k"))


@op("numpy", dtype=UNCHECKED)
def diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Diagonal of two axes, as a new last axis."""
    return torch.diagonal(a, offset, axis1, axis2)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def diag_indices(n: int, ndim: int = 2) -> Any:
    """Indices of the main diagonal of a tensor with `ndim` axes of length n."""
    if to_int(n, "n") < 0 or to_int(ndim, "ndim") < 0:
        raise ArgumentValueError(
            f"For 'diag_indices', n and ndim can not be negative, but got {n} and {ndim}."
        )
    return (torch.arange(n, dtype=torch.int32),) * ndim


@op("numpy", dtype=UNCHECKED, differentiable=False)
def ix_(*args: Any) -> Any:
    """Open mesh of several vectors, for indexing."""
    parts = [to_array(each) for each in args]
    if any(part.ndim != 1 for part in parts):
        raise ArgumentValueError("Cross index must be 1 dimensional.")
    return tuple(
        part.reshape([-1 if axis == index else 1 for axis in range(len(parts))])
        for index, part in enumerate(parts)
    )


@op("numpy", dtype=UNCHECKED, differentiable=False)
def indices(dimensions: Any, dtype: Any = torch.int32, sparse: bool = False) -> Any:
    """Grid of indices: one tensor per axis with the index along it."""
    lines = [torch.arange(length, dtype=to_torch_dtype(dtype)) for length in _check_shape(dimensions)]
    return list(ix_.raw(*lines)) if sparse else list(torch.meshgrid(*lines, indexing="ij"))


@op("numpy", dtype=UNCHECKED)
def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate grids of several vectors; `sparse` keeps the other axes at length 1."""
    if indexing not in ("xy", "ij"):
        raise ArgumentTypeError(f"For 'meshgrid', 'indexing' must be 'xy' or 'ij', but got {indexing!r}.")
    grids = list(ix_.raw(*(to_array(each).reshape(-1) for each in xi)))
    if indexing == "xy" and len(grids) > 1:
        grids = [grid.transpose(0, 1) for grid in grids]
    return grids if sparse else [grid.clone() for grid in torch.broadcast_tensors(*grids)]


class _Grid:
    """``mgrid[0:2, 0:3]``: grids from slices. A step such as 5j is a number of elements, including the end."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, keys: Any) -> Any:
        slices = keys if isinstance(keys, tuple) else (keys,)
        lines = []
        for each in slices:
            start = 0 if each.start is None else each.start
            if isinstance(each.step, complex):
                lines.append(linspace.raw(start, each.stop, int(abs(each.step))))
            else:
                lines.append(arange.raw(start, each.stop, each.step))
        if not isinstance(keys, tuple):
            return wrap(lines[0])
        grid_dtype = torch.float32 if any(line.is_floating_point() for line in lines) else torch.int32
        grids = meshgrid.raw(*(line.to(grid_dtype) for line in lines), indexing="ij", sparse=self.sparse)
        return wrap_all(grids) if self.sparse else wrap(torch.stack(grids))


mgrid = _Grid(sparse=False)

ogrid = _Grid(sparse=True)

export_names(__name__, "numpy", "mgrid", "ogrid")


@op("numpy", dtype=UNCHECKED)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """Vandermonde matrix: the powers of each element of a vector."""
    vector = to_array(x)
    if vector.ndim != 1:
        raise ArgumentValueError(f"For 'vander', x must be 1-d, but got {vector.ndim} axes.")
    count = vector.shape[0] if N is None else to_int(N, "N")
    powers = torch.arange(count, dtype=torch.int32, device=vector.device)
    return torch.pow(vector.unsqueeze(-1), powers if increasing else powers.flip(0))
