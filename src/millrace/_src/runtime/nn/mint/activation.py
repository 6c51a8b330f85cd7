"""Layers of ``mint.nn`` that hold no weights: activations, pooling, shapes, sizes."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.nn.activation import ParameterlessCell
from millrace._src.runtime.nn.argument_types import check_choice, check_number
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.padding import _ConstantPadNd
from millrace._src.runtime.ops.image import resize
from millrace._src.runtime.ops.nn import activation, nonlinear
from millrace._src.runtime.ops.nn import adaptive_pooling as pool_other
from millrace._src.runtime.ops.nn import dropout as affine
from millrace._src.runtime.ops.nn import softmax as softmaxes
from millrace._src.runtime.ops.nn.activation import gelu
from millrace._src.runtime.ops.nn.adaptive_pooling import adaptive_avg_pool2d
from millrace._src.runtime.ops.nn.nonlinear import glu, selu
from millrace._src.runtime.ops.nn.pixel_shuffle import fold, unfold

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool1d",
    "Dropout2d",
    "Fold",
    "Hardtanh",
    "ReLU6",
    "SiLU",
    "Softmax",
    "Threshold",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad3d",
]


class ELU(Cell):
    """alpha * (exp(x) - 1) below 0, x above."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def construct(self, input: Any) -> Any:
        return nonlinear.elu_mint(input, self.alpha, self.inplace)


class GELU(Cell):
    """Each element times the normal distribution function of it, exactly or by the formula with tanh."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = check_choice(approximate, "approximate", "GELU", ["none", "tanh"])

    def construct(self, input: Any) -> Any:
        return gelu(input, self.approximate)


class GLU(Cell):
    """The first half along an axis, times the logistic function of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return glu(input, self.dim)


class SELU(ParameterlessCell):
    """An exponential below 0 and a line above, scaled so that variances stay 1."""

    def construct(self, input: Any) -> Any:
        return selu(input)


class Hardtanh(Cell):
    """Each element within `min_val` and `max_val`."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.arguments = (min_val, max_val, inplace)

    def construct(self, input: Any) -> Any:
        return nonlinear.hardtanh_mint(input, *self.arguments)


class ReLU6(Cell):
    """Each element within 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return nonlinear.relu6_mint(input, self.inplace)


class SiLU(Cell):
    """Each element times its logistic function."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return activation.silu_mint(input, self.inplace)


class Threshold(Cell):
    """Each element above `threshold`, and `value` for the others."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.arguments = (threshold, value, inplace)

    def construct(self, input: Any) -> Any:
        return nonlinear.threshold_mint(input, *self.arguments)


class Softmax(Cell):
    """Exponentials, divided by their sum along an axis."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return softmaxes.softmax_mint(input, self.dim)


class Dropout2d(Cell):
    """Whole channels of (N, C, H, W) or (C, H, W) set to 0 with probability `p` while training."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        check_number(p, "p", "Dropout2d")
        if not 0 <= p <= 1:
            raise ArgumentValueError(
                f"For 'Dropout2d', the 'p' must be a number in range [0, 1], but got {p}."
            )
        self.p = p

    def construct(self, input: Any) -> Any:
        return affine.dropout2d_mint(input, self.p, True) if self.training else input


class AdaptiveAvgPool1d(Cell):
    """Means of as many parts of the last axis as wanted."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return pool_other.adaptive_avg_pool1d_mint(input, self.output_size)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """Means of as many parts of the last two axes as wanted; None leaves an axis as it is."""

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool2d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """Maxima of as many parts of the last axis as wanted, and their places if wanted."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return pool_other.adaptive_max_pool1d_mint(input, self.output_size, self.return_indices)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}, return_indices={self.return_indices}"


class Unfold(Cell):
    """Windows of (N, C, H, W) as columns."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.arguments = (kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        return unfold(input, *self.arguments)


class Fold(Cell):
    """Columns added up where they were windows of (N, C, H, W)."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.arguments = (output_size, kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        return fold(input, *self.arguments)


class ZeroPad1d(_ConstantPadNd):
    """A margin of zeros around the last axis."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class ZeroPad3d(_ConstantPadNd):
    """A margin of zeros around the last three axes."""

    count = 3

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class Upsample(Cell):
    """The input in another size, by one of several modes."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.arguments = (size, scale_factor, mode, align_corners, recompute_scale_factor)

    def construct(self, input: Any) -> Any:
        return resize.interpolate_mint(input, *self.arguments)


class UpsamplingNearest2d(Upsample):
    """(N, C, H, W) in another size, by the nearest pixel."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """(N, C, H, W) in another size, by straight lines between pixels."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
