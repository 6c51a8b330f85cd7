"""Layers that reshape, pad, clip, roll and measure tensors, and ``TimeDistributed``."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.array.concat_split import stack, unbind
from millrace._src.runtime.ops.array.creation import one_hot
from millrace._src.runtime.ops.array.diagonal import diag_embed, matrix_set_diag, tril, triu
from millrace._src.runtime.ops.array.diagonal import diagonal as diagonal_op
from millrace._src.runtime.ops.array.flip_roll import roll
from millrace._src.runtime.ops.array.pad import mirror_pad, pad_primitive
from millrace._src.runtime.ops.array.reshape import flatten, reshape
from millrace._src.runtime.ops.linalg import norm
from millrace._src.runtime.ops.nn.fold import extract_patches
from millrace._src.runtime.ops.optimizer import gradient_clipping
from millrace._src.runtime.tensor.storage import to_torch_dtype

from .activation import ParameterlessCell
from .argument_types import check_argument_type, check_choice
from .cell import Cell

__all__ = [
    "ClipByNorm",
    "Flatten",
    "L1Regularizer",
    "MatrixDiag",
    "MatrixDiagPart",
    "MatrixSetDiag",
    "Norm",
    "OneHot",
    "Pad",
    "Roll",
    "TimeDistributed",
    "Tril",
    "Triu",
    "Unflatten",
    "Unfold",
]


@public("nn", "mint.nn")
class Flatten(Cell):
    """Flatten the axes from `start_dim` to `end_dim`.

    >>> from millrace import Tensor
    >>> Flatten()(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).shape
    (1, 4)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        for name, value in (("start_dim", start_dim), ("end_dim", end_dim)):
            check_argument_type(value, name, "Flatten", int)
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Any) -> Any:
        ndim = x.ndim
        if not (-ndim <= self.start_dim < ndim and -ndim <= self.end_dim < ndim):
            raise ArgumentValueError(
                f"For 'Flatten', 'start_dim' or 'end_dim' out of range: the shape is {x.shape}, but got "
                f"{self.start_dim} and {self.end_dim}."
            )
        return flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


@public("nn")
class Unflatten(Cell):
    """Split one axis into several."""

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        check_argument_type(axis, "axis", "Unflatten", int)
        check_argument_type(unflattened_size, "unflattened_size", "Unflatten", tuple, list)
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input_x: Any) -> Any:
        axis, shape = self.axis, input_x.shape
        if not -len(shape) <= axis < len(shape):
            raise ArgumentValueError(
                f"For 'Unflatten', 'axis' must be within the axes of the input, but got {axis} and the shape {shape}."
            )
        axis %= len(shape)
        return reshape(input_x, (*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))


@public("nn")
class ClipByNorm(Cell):
    """Scale a tensor down to `clip_norm` if its norm is larger."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis = (
            None if axis is None else check_argument_type(axis, "axis", "ClipByNorm", int, tuple, list)
        )

    def construct(self, x: Any, clip_norm: Any) -> Any:
        return gradient_clipping.clip_by_norm_along(x, clip_norm, self.axis)


@public("nn")
class L1Regularizer(Cell):
    """L1 regularization: the sum of absolute values of weights, times `scale`."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        check_argument_type(scale, "scale", "L1Regularizer", int, float)
        if scale <= 0:
            raise ArgumentValueError(
                f"For 'L1Regularizer', the 'scale' must be greater than 0, but got {scale}."
            )
        self.scale = scale

    def construct(self, weights: Any) -> Any:
        return norm.l1_penalty(weights, self.scale)


@public("nn")
class Norm(Cell):
    """L2 norm along axes; along all axes by default."""

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis = check_argument_type(axis, "axis", "Norm", int, tuple)
        self.keep_dims = check_argument_type(keep_dims, "keep_dims", "Norm", bool)

    def construct(self, x: Any) -> Any:
        return norm.l2_norm(x, self.axis, self.keep_dims)

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


@public("nn")
class OneHot(Cell):
    """One-hot encoding: `on_value` at each index on a new axis of length `depth`, `off_value` elsewhere."""

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


@public("nn")
class Pad(Cell):
    """Pad a tensor: a pair of widths for each axis.

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
            return pad_primitive(x, self.paddings)
        return mirror_pad(x, self.paddings, self.mode)


@public("nn")
class Unfold(Cell):
    """Extract sliding windows of (N, C, H, W) as channels."""

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            check_argument_type(value, name, "Unfold", tuple, list)
            if len(value) != 4 or value[0] != 1 or value[3] != 1:
                what = name[:-1]
                raise ArgumentValueError(
                    f"For 'Unfold' the format of '{name}' must be [1, {what}_row, {what}_col, 1], but got {value}."
                )
        self.arguments = (tuple(ksizes), tuple(strides), tuple(rates), padding)

    def construct(self, input_x: Any) -> Any:
        return extract_patches(input_x, *self.arguments)


@public("nn")
class Tril(ParameterlessCell):
    """Lower triangle: the elements on and below the diagonal `k`."""

    def construct(self, x: Any, k: int = 0) -> Any:
        return tril(x, k)


@public("nn")
class Triu(ParameterlessCell):
    """Upper triangle: the elements on and above the diagonal `k`."""

    def construct(self, x: Any, k: int = 0) -> Any:
        return triu(x, k)


@public("nn")
class MatrixDiag(ParameterlessCell):
    """Diagonal matrices with the last axis as their diagonal."""

    def construct(self, input_x: Any) -> Any:
        return diag_embed(input_x)


@public("nn")
class MatrixDiagPart(ParameterlessCell):
    """The diagonals of matrices."""

    def construct(self, input_x: Any) -> Any:
        return diagonal_op(input_x, 0, -2, -1)


@public("nn")
class MatrixSetDiag(ParameterlessCell):
    """Replace the diagonals of matrices."""

    def construct(self, input_x: Any, diagonal: Any) -> Any:
        return matrix_set_diag(input_x, diagonal)


@public("nn")
class Roll(Cell):
    """Roll the elements along axes, with wrap-around."""

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift = check_argument_type(shift, "shift", "Roll", int, tuple, list)
        self.axis = check_argument_type(axis, "axis", "Roll", int, tuple, list)

    def construct(self, input_x: Any) -> Any:
        return roll(input_x, self.shift, self.axis)


@public("nn")
class TimeDistributed(Cell):
    """Applies a layer to every time step."""

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not callable(layer):
            raise ArgumentTypeError(
                "For 'TimeDistributed', the 'layer' must be Cell or Primitive instance, but got type: "
                f"{type(layer).__name__}."
            )
        for name, value in (("time_axis", time_axis), ("reshape_with_axis", reshape_with_axis or 0)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise ArgumentTypeError(
                    f"For 'TimeDistributed', the '{name}' must be int, but got {value!r}."
                )
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs: Any) -> Any:
        if inputs.ndim < 3:
            raise ArgumentValueError(
                f"For 'TimeDistributed', the inputs shape must be at least 3D, but got {inputs.ndim}."
            )
        axis = self.time_axis % inputs.ndim
        return stack([self.layer(part) for part in unbind(inputs, axis)], axis)
