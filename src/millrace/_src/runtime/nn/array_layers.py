"""Layers that shape, cut, clip and measure tensors."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.array.creation import one_hot
from millrace._src.runtime.ops.array.diagonal import diag_embed, matrix_set_diag, tril, triu
from millrace._src.runtime.ops.array.diagonal import diagonal as diagonal_op
from millrace._src.runtime.ops.array.pad import mirror_pad, pad_axes
from millrace._src.runtime.ops.array.reshape import flatten, reshape
from millrace._src.runtime.ops.array.slicing import roll
from millrace._src.runtime.ops.image import quality as layers_more
from millrace._src.runtime.ops.image.boxes import extract_patches
from millrace._src.runtime.tensor.storage import to_torch_dtype

from .activation import ParameterlessCell
from .argument_types import check_choice, check_kind
from .cell import Cell

__all__ = [
    "ClipByNorm",
    "Flatten",
    "Identity",
    "L1Regularizer",
    "MatrixDiag",
    "MatrixDiagPart",
    "MatrixSetDiag",
    "Norm",
    "OneHot",
    "Pad",
    "Roll",
    "Tril",
    "Triu",
    "Unflatten",
    "Unfold",
]


class Flatten(Cell):
    """The axes from `start_dim` to `end_dim` as one.

    >>> from millrace import Tensor
    >>> Flatten()(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).shape
    (1, 4)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        for name, value in (("start_dim", start_dim), ("end_dim", end_dim)):
            check_kind(value, name, "Flatten", int)
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Any) -> Any:
        ndim = x.ndim
        if not (-ndim <= self.start_dim < ndim and -ndim <= self.end_dim < ndim):
            raise ArgumentValueError(
                f"For 'Flatten', 'start_dim' or 'end_dim' out of range: the shape is {x.shape}, but got "
                f"{self.start_dim} and {self.end_dim}."
            )
        return flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Unflatten(Cell):
    """One axis as several."""

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        check_kind(axis, "axis", "Unflatten", int)
        check_kind(unflattened_size, "unflattened_size", "Unflatten", tuple, list)
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input_x: Any) -> Any:
        axis, shape = self.axis, input_x.shape
        if not -len(shape) <= axis < len(shape):
            raise ArgumentValueError(
                f"For 'Unflatten', 'axis' must be within the axes of the input, but got {axis} and the shape {shape}."
            )
        axis %= len(shape)
        return reshape(input_x, (*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))


class Identity(Cell):
    """The input itself, whatever the layer is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input


class ClipByNorm(Cell):
    """A tensor whose norm is above `clip_norm`, scaled down to it; called with both."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis = None if axis is None else check_kind(axis, "axis", "ClipByNorm", int, tuple, list)

    def construct(self, x: Any, clip_norm: Any) -> Any:
        return layers_more.clipped_to_norm(x, clip_norm, self.axis)


class L1Regularizer(Cell):
    """The sum of the absolute values of weights, times `scale`."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        check_kind(scale, "scale", "L1Regularizer", int, float)
        if scale <= 0:
            raise ArgumentValueError(
                f"For 'L1Regularizer', the 'scale' must be greater than 0, but got {scale}."
            )
        self.scale = scale

    def construct(self, weights: Any) -> Any:
        return layers_more.size_of_weights(weights, self.scale)


class Norm(Cell):
    """The square root of the sum of squares along axes; along all of them where none is named."""

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis = check_kind(axis, "axis", "Norm", int, tuple)
        self.keep_dims = check_kind(keep_dims, "keep_dims", "Norm", bool)

    def construct(self, x: Any) -> Any:
        return layers_more.length_along(x, self.axis, self.keep_dims)

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class OneHot(Cell):
    """`on_value` at the place that each index names on a new axis of length `depth`, `off_value` elsewhere."""

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        self.axis, self.depth, self.dtype = axis, depth, dtype
        self.on_value, self.off_value = on_value, off_value
        to_torch_dtype(dtype)

    def construct(self, indices: Any) -> Any:
        return one_hot(indices, self.depth, self.on_value, self.off_value, self.axis).astype(self.dtype)


class Pad(Cell):
    """A margin around a tensor: a pair of widths for each axis.

    >>> from millrace import Tensor
    >>> Pad(((0, 0), (1, 1)))(Tensor([[1.0, 2.0]])).tolist()
    [[0.0, 1.0, 2.0, 0.0]]
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        if not isinstance(paddings, tuple):
            raise ArgumentTypeError(
                f"For 'Pad', the type of 'paddings' must be tuple, but got {type(paddings).__name__}."
            )
        if any(len(pair) != 2 for pair in paddings) or len(paddings) > 4:
            raise ArgumentValueError(
                f"For 'Pad', the dimension of 'paddings' must be (n, 2), but got {paddings}."
            )
        self.mode = check_choice(mode, "mode", "Pad", ["CONSTANT", "REFLECT", "SYMMETRIC"])
        self.paddings = paddings

    def construct(self, x: Any) -> Any:
        if self.mode == "CONSTANT":
            return pad_axes(x, self.paddings)
        return mirror_pad(x, self.paddings, self.mode)


class Unfold(Cell):
    """Windows of (N, C, H, W) as channels."""

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            check_kind(value, name, "Unfold", tuple, list)
            if len(value) != 4 or value[0] != 1 or value[3] != 1:
                what = name[:-1]
                raise ArgumentValueError(
                    f"For 'Unfold' the format of '{name}' must be [1, {what}_row, {what}_col, 1], but got {value}."
                )
        self.arguments = (tuple(ksizes), tuple(strides), tuple(rates), padding)

    def construct(self, input_x: Any) -> Any:
        return extract_patches(input_x, *self.arguments)


class Tril(ParameterlessCell):
    """The elements below the diagonal `k` and on it."""

    def construct(self, x: Any, k: int = 0) -> Any:
        return tril(x, k)


class Triu(ParameterlessCell):
    """The elements above the diagonal `k` and on it."""

    def construct(self, x: Any, k: int = 0) -> Any:
        return triu(x, k)


class MatrixDiag(ParameterlessCell):
    """Matrices with the last axis as their diagonal."""

    def construct(self, input_x: Any) -> Any:
        return diag_embed(input_x)


class MatrixDiagPart(ParameterlessCell):
    """The diagonals of matrices."""

    def construct(self, input_x: Any) -> Any:
        return diagonal_op(input_x, 0, -2, -1)


class MatrixSetDiag(ParameterlessCell):
    """Matrices with another diagonal."""

    def construct(self, input_x: Any, diagonal: Any) -> Any:
        return matrix_set_diag(input_x, diagonal)


class Roll(Cell):
    """The elements moved along axes; what leaves at the end comes back at the start."""

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift = check_kind(shift, "shift", "Roll", int, tuple, list)
        self.axis = check_kind(axis, "axis", "Roll", int, tuple, list)

    def construct(self, input_x: Any) -> Any:
        return roll(input_x, self.shift, self.axis)
