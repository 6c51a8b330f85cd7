"""Diagonals and triangles of matrices: diag, tril, triu, matrix_diag, matrix_band_part, block_diag."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Diag",
    "DiagPart",
    "MatrixBandPart",
    "MatrixDiagPartV3",
    "MatrixDiagV3",
    "MatrixSetDiagV3",
    "Tril",
    "TrilIndices",
    "Triu",
    "TriuIndices",
    "block_diag",
    "diag",
    "diag_embed",
    "diag_mint",
    "diag_part",
    "diagflat",
    "diagonal",
    "diagonal_method",
    "matrix_band_part",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_diag_primitive",
    "matrix_set_diag",
    "tril",
    "tril_indices",
    "tril_indices_primitive",
    "triu",
    "triu_indices",
    "triu_indices_primitive",
]


@op("ops", "Tensor", dtype=SAME)
def diag(input: Tensor) -> Tensor:
    """Tensor with the input on its diagonal; it has each axis of the input twice."""
    if not input.ndim:
        raise ArgumentValueError("For 'diag', the input must have at least one axis, but got a 0-d tensor.")
    return torch.diag(input.reshape(-1)).reshape((*input.shape, *input.shape))


@op("mint:diag", dtype=SAME)
def diag_mint(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrix with a vector on a diagonal, or the diagonal of a matrix."""
    return torch.diag(input, diagonal)


@op(dtype=SAME)
def diag_part(x: Tensor) -> Tensor:
    """Diagonal of a tensor that has each axis twice."""
    half = x.ndim // 2
    shape = tuple(x.shape[:half])
    if not x.ndim or x.ndim % 2 or tuple(x.shape[half:]) != shape:
        raise ArgumentValueError(
            f"For 'DiagPart', the input must have each axis twice, but got {tuple(x.shape)}."
        )
    count = math.prod(shape)
    return x.reshape(count, count).diagonal().reshape(shape)


@op("ops", dtype=SAME)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Diagonal of two axes, as a new last axis."""
    return torch.diagonal(input, offset, dim1, dim2)


@op("Tensor:diagonal", dtype=SAME, also={"dim1": "axis1", "dim2": "axis2"})
def diagonal_method(input: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Diagonal of two axes, as a new last axis."""
    return torch.diagonal(input, offset, axis1, axis2)


@op("ops", "Tensor", dtype=SAME)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Matrix with the flattened input on a diagonal."""
    return torch.diagflat(input, to_int(offset, "offset"))


@op("ops", dtype=SAME)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last axis of the input as their diagonals."""
    return torch.diag_embed(input, offset, dim1, dim2)


def _check_matrices(input: Tensor, name: str) -> Tensor:
    if input.ndim < 2:
        raise ArgumentValueError(
            f"For '{name}', the x's rank must be greater than or equal to 2, but got {input.ndim}."
        )
    return input


@op("ops", "mint", "Tensor", dtype=SAME)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Lower triangle of matrices; the other elements are zero."""
    return torch.tril(_check_matrices(input, "Tril"), to_int(diagonal, "diagonal"))


@op("ops", "mint", "Tensor", dtype=SAME)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Upper triangle of matrices; the other elements are zero."""
    return torch.triu(_check_matrices(input, "Triu"), to_int(diagonal, "diagonal"))


def _triangle_indices(row: Any, col: Any, offset: Any, dtype: Any, lower: bool) -> Tensor:
    rows, columns = to_int(row, "row"), to_int(col, "col")
    if min(rows, columns) < 0:
        raise ArgumentValueError(
            f"the numbers of rows and columns must be at least 0, but got {rows} and {columns}."
        )
    if dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"the 'dtype' of indices must be int32 or int64, but got {dtype}.")
    make = torch.tril_indices if lower else torch.triu_indices
    return make(rows, columns, to_int(offset, "offset"), dtype=dtype)


@op("ops", dtype=UNCHECKED, differentiable=False)
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = torch.int64) -> Tensor:
    """Row and column indices of the lower triangle of a matrix."""
    return _triangle_indices(row, col, offset, dtype, lower=True)


@op("ops", dtype=UNCHECKED, differentiable=False)
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = torch.int64) -> Tensor:
    """Row and column indices of the upper triangle of a matrix."""
    return _triangle_indices(row, col, offset, dtype, lower=False)


@op(dtype=UNCHECKED, differentiable=False)
def tril_indices_primitive(row: int, col: int, offset: int = 0, dtype: Any = torch.int32) -> Tensor:
    """Row and column indices of the lower triangle of a matrix."""
    return _triangle_indices(row, col, offset, dtype, lower=True)


@op(dtype=UNCHECKED, differentiable=False)
def triu_indices_primitive(row: int, col: int, offset: int = 0, dtype: Any = torch.int32) -> Tensor:
    """Row and column indices of the upper triangle of a matrix."""
    return _triangle_indices(row, col, offset, dtype, lower=False)


@op("ops", dtype=SAME)
def matrix_band_part(x: Tensor, lower: Any, upper: Any) -> Tensor:
    """Band matrix: `lower` diagonals below and `upper` diagonals above the main one are kept (all if negative), other
    elements are zero.
    """
    _check_matrices(x, "MatrixBandPart")
    rows = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1)
    below = rows - torch.arange(x.shape[-1], device=x.device)
    low, high = (torch.as_tensor(each, device=x.device) for each in (lower, upper))
    low, high = (each.reshape((*each.shape, 1, 1)) for each in (low, high))
    inside = ((low < 0) | (below <= low)) & ((high < 0) | (-below <= high))
    return torch.where(inside, x, torch.zeros((), dtype=x.dtype, device=x.device))


class _DiagonalBand:
    """Positions of the diagonals k[0] to k[1] of a matrix in a table with one diagonal per row, the highest first."""

    def __init__(self, k: Any, rows: int, columns: int, align: str, device: torch.device) -> None:
        wanted = to_shape(k)
        self.low, self.high = wanted[0], wanted[-1]
        self.single = len(wanted) == 1 or self.low == self.high
        if align not in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
            raise ArgumentValueError(
                f"the 'align' must be RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT: {align!r}."
            )
        if len(wanted) > 2 or self.low > self.high or not -rows < self.low or not self.high < max(columns, 1):
            raise ArgumentValueError(
                f"'k' is diagonals from {wanted[0]} to {wanted[-1]} of a {rows} x {columns} matrix."
            )
        self.offsets = torch.arange(self.high, self.low - 1, -1, device=device).unsqueeze(-1)
        lengths = torch.minimum(rows + self.offsets.clamp(max=0), columns - self.offsets.clamp(min=0))
        self.longest = min(rows + min(self.high, 0), columns - max(self.low, 0))
        above, below = align.split("_")
        left = ((self.offsets >= 0) & (above == "LEFT")) | ((self.offsets <= 0) & (below == "LEFT"))
        self.shift = torch.where(
            left, 0, self.longest - lengths
        )  # number of padding cells before the first element of each row
        self.lengths = lengths


@op("ops", dtype=SAME)
def matrix_diag_part(x: Tensor, k: Any, padding_value: Any, align: str = "RIGHT_LEFT") -> Tensor:
    """Diagonals k[0] to k[1] of matrices, one per row, the highest first. Short ones are padded with `padding_value`;
    `align` determines the side for superdiagonals and for subdiagonals.
    """
    _check_matrices(x, "MatrixDiagPartV3")
    bands = _DiagonalBand(k, x.shape[-2], x.shape[-1], align, x.device)
    position = torch.arange(bands.longest, device=x.device) - bands.shift
    inside = (position >= 0) & (position < bands.lengths)
    position = position.clamp(min=0)
    row, column = position - bands.offsets.clamp(max=0), position + bands.offsets.clamp(min=0)
    taken = x[..., row.clamp(max=x.shape[-2] - 1), column.clamp(max=x.shape[-1] - 1)]
    diagonals = torch.where(inside, taken, torch.as_tensor(padding_value, device=x.device).to(x.dtype))
    return diagonals.squeeze(-2) if bands.single else diagonals


def _insert_diagonals(table: Tensor, bands: _DiagonalBand, rows: int, columns: int, fill: Tensor) -> Tensor:
    """Matrices with the diagonals of a table, and `fill` elsewhere."""
    if bands.single:
        table = table.unsqueeze(-2)
    row = torch.arange(rows, device=table.device).unsqueeze(-1)
    offset = torch.arange(columns, device=table.device) - row
    inside = (offset >= bands.low) & (offset <= bands.high)
    line = (bands.high - offset).clamp(0, bands.high - bands.low)
    position = torch.minimum(row, row + offset) + bands.shift[line, 0]
    return torch.where(inside, table[..., line, position.clamp(0, table.shape[-1] - 1)], fill)


@op("ops", dtype=SAME)
def matrix_diag(
    x: Tensor,
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the given diagonals, one per row of `x`, and `padding_value` elsewhere."""
    return _matrix_diag(x, k, num_rows, num_cols, padding_value, align)


@op(dtype=SAME)
def matrix_diag_primitive(
    x: Tensor, k: Any, num_rows: Any, num_cols: Any, padding_value: Any, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with the given diagonals, one per row of `x`, and `padding_value` elsewhere."""
    return _matrix_diag(x, k, num_rows, num_cols, padding_value, align)


def _matrix_diag(x: Tensor, k: Any, num_rows: Any, num_cols: Any, padding_value: Any, align: str) -> Tensor:
    wanted = to_shape(k)
    least = x.shape[-1] - min(wanted[-1], 0), x.shape[-1] + max(wanted[0], 0)
    rows, columns = to_int(num_rows, "num_rows"), to_int(num_cols, "num_cols")
    if rows == columns == -1:
        rows = columns = max(least)
    rows, columns = least[0] if rows == -1 else rows, least[1] if columns == -1 else columns
    if rows < least[0] or columns < least[1]:
        raise ArgumentValueError(
            f"For 'matrix_diag', {rows} x {columns} is too small for diagonals of {x.shape[-1]}."
        )
    bands = _DiagonalBand(k, rows, columns, align, x.device)
    return _insert_diagonals(
        x, bands, rows, columns, torch.as_tensor(padding_value, device=x.device).to(x.dtype)
    )


@op("ops", dtype=SAME)
def matrix_set_diag(x: Tensor, diagonal: Tensor, k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with some diagonals replaced by the rows of `diagonal`."""
    _check_matrices(x, "MatrixSetDiagV3")
    bands = _DiagonalBand(k, x.shape[-2], x.shape[-1], align, x.device)
    if diagonal.shape[-1] != bands.longest:
        raise ArgumentValueError(
            f"For 'matrix_set_diag', the diagonals must be {bands.longest} long, but got shape {tuple(diagonal.shape)}."
        )
    return _insert_diagonals(diagonal, bands, x.shape[-2], x.shape[-1], x)


Diag = primitive("Diag", diag, init=())
DiagPart = primitive("DiagPart", diag_part, init=())
Tril = primitive("Tril", tril, init=("diagonal",))
Triu = primitive("Triu", triu, init=("diagonal",))
TrilIndices = primitive("TrilIndices", tril_indices_primitive, init=("row", "col", "offset", "dtype"))
TriuIndices = primitive("TriuIndices", triu_indices_primitive, init=("row", "col", "offset", "dtype"))
MatrixBandPart = primitive("MatrixBandPart", matrix_band_part, init=())
MatrixDiagPartV3 = primitive("MatrixDiagPartV3", matrix_diag_part, init=("align",))
MatrixDiagV3 = primitive("MatrixDiagV3", matrix_diag_primitive, init=("align",))
MatrixSetDiagV3 = primitive("MatrixSetDiagV3", matrix_set_diag, init=("align",))


@op("ops", dtype=UNCHECKED)
def block_diag(*inputs: Tensor) -> Tensor:
    """Block-diagonal matrix of several matrices; vectors are rows."""
    for each in inputs:
        if not isinstance(each, Tensor):
            raise ArgumentTypeError(f"For 'block_diag', each input must be a Tensor, but got {each!r}.")
    return torch.block_diag(*inputs)
