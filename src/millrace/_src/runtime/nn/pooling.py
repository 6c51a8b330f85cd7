"""Max, average, Lp and fractional pooling layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.ops.nn import avg_pooling, max_pooling
from millrace._src.runtime.ops.nn.avg_pooling import (
    lp_pool1d,
    lp_pool2d,
)
from millrace._src.runtime.ops.nn.fractional_pooling import fractional_max_pool2d, fractional_max_pool3d

from .argument_types import check_argument_type, check_bool, check_choice
from .cell import Cell

__all__ = [
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]


def _check_sizes(value: Any, count: int, name: str, owner: str, least: int = 1) -> tuple[int, ...]:
    """One int per axis, with MindSpore's error texts of pooling layers."""
    check_argument_type(value, name, owner, int, tuple)
    sizes = value if isinstance(value, tuple) else (value,) * count
    sizes = sizes * count if len(sizes) == 1 else sizes
    if any(isinstance(size, bool) or not isinstance(size, int) for size in sizes):
        raise ArgumentTypeError(f"For '{owner}', the '{name}' must hold ints, but got {value!r}.")
    if len(sizes) != count or min(sizes) < least:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be an positive int number or a tuple of {count}, but got {value}"
        )
    return sizes


class _PoolNd(Cell):
    """Base class of pooling layers: kernel size, stride and padding."""

    count = 2

    def _set_window(
        self, kernel_size: Any, stride: Any, pad_mode: Any, padding: Any, data_format: str = "NCHW"
    ) -> None:
        owner, count = type(self).__name__, self.count
        kernel, steps = (
            _check_sizes(kernel_size, count, "kernel_size", owner),
            _check_sizes(stride, count, "stride", owner),
        )
        around = _check_sizes(padding, count, "padding", owner, 0)
        if not isinstance(pad_mode, str):
            raise ArgumentTypeError(f"For '{owner}', the 'pad_mode' must be str, but got {pad_mode!r}.")
        self.pad_mode = check_choice(pad_mode.upper(), "pad_mode", owner, ["VALID", "SAME", "PAD"])
        self.mode = self.pad_mode.lower()
        if self.mode != "pad" and any(around):
            raise ArgumentValueError(
                f"For {owner}, the parameter 'padding' can not be set to non-default value when pad_mode is not 'pad', "
                f"but got pad_mode:{pad_mode} and padding {padding}. Pass pad_mode='pad'."
            )
        self.data_format = check_choice(data_format, "format", owner, ["NCHW", "NHWC"])
        self.kernel_size, self.stride = kernel_size, stride
        # 1-D pooling uses the second of two axes
        self.window = (1, *kernel) if count == 1 else kernel
        self.steps = (1, *steps) if count == 1 else steps
        self.pads = tuple((p, p) for p in ((0, *around) if count == 1 else around))

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class _MaxPoolNd(_PoolNd):
    """Base class of max pooling."""

    def _set_max_options(
        self,
        kernel_size: Any,
        stride: Any,
        pad_mode: Any,
        padding: Any,
        dilation: Any,
        return_indices: bool,
        ceil_mode: bool,
        data_format: str = "NCHW",
    ) -> None:
        owner, count = type(self).__name__, self.count
        self._set_window(kernel_size, stride, pad_mode, padding, data_format)
        dilated = _check_sizes(dilation, count, "dilation", owner)
        self.dilation = (1, *dilated) if count == 1 else dilated
        self.return_indices = check_bool(return_indices, "return_indices", owner)
        self.ceil_mode = check_bool(ceil_mode, "ceil_mode", owner)
        if self.mode != "pad" and (set(dilated) != {1} or return_indices or ceil_mode):
            raise ArgumentValueError(
                f"For {owner}, the parameter 'padding', 'dilation', 'return_indices', 'ceil_mode' can not be set to "
                f"non-default value when pad_mode is not 'pad', but got pad_mode:{pad_mode}."
            )
        if count == 1:
            # as in MindSpore's repr
            self.kernel_size = (1, *self.window) if self.mode == "pad" else self.window
            self.stride = (1, *self.steps) if self.mode == "pad" else self.steps

    def construct(self, x: Any) -> Any:
        if self.mode == "pad":
            return max_pooling.max_pool_with_indices(
                x,
                self.count,
                self.window,
                self.steps,
                self.pads,
                self.dilation,
                self.ceil_mode,
                self.return_indices,
                self.data_format,
            )
        return max_pooling.max_pool_nd(
            x, self.count, self.window, self.steps, self.mode, self.pads, False, self.data_format
        )


@public("nn")
class MaxPool1d(_MaxPoolNd):
    """Max pooling over (N, C, L) or (C, L)."""

    count = 1

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self._set_max_options(kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode)


@public("nn")
class MaxPool2d(_MaxPoolNd):
    """Max pooling over (N, C, H, W) or (C, H, W); padding is never a maximum.

    >>> MaxPool2d(3, 2, pad_mode="same")
    MaxPool2d(kernel_size=3, stride=2, pad_mode=SAME)
    """

    count = 2

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        self._set_max_options(
            kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode, data_format
        )


@public("nn")
class MaxPool3d(_MaxPoolNd):
    """Max pooling over (N, C, D, H, W) or (C, D, H, W)."""

    count = 3

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self._set_max_options(kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode)


class _AvgPoolNd(_PoolNd):
    """Base class of average pooling. Padding counts with "pad" by default; with "same" only over three axes."""

    def _set_mean_options(
        self,
        kernel_size: Any,
        stride: Any,
        pad_mode: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        owner = type(self).__name__
        self._set_window(kernel_size, stride, pad_mode, padding, data_format)
        self.ceil_mode = check_bool(ceil_mode, "ceil_mode", owner)
        self.count_include_pad = check_bool(count_include_pad, "count_include_pad", owner)
        if divisor_override is not None and divisor_override <= 0:
            raise ArgumentValueError(
                f"For '{owner}', the 'divisor_override' must be > 0, but got {divisor_override}."
            )
        self.divisor_override = divisor_override
        if self.count == 1 and self.mode != "pad":
            self.kernel_size, self.stride = self.window, self.steps

    def construct(self, x: Any) -> Any:
        counted = self.count_include_pad and (self.mode == "pad" or self.count == 3)
        return avg_pooling.avg_pool_nd(
            x, self.count, self.window, self.steps, self.mode, self.pads, self.ceil_mode, counted,
            self.divisor_override or 0, self.data_format,
        )  # fmt: skip


@public("nn")
class AvgPool1d(_AvgPoolNd):
    """Average pooling over (N, C, L) or (C, L)."""

    count = 1

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self._set_mean_options(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)


@public("nn")
class AvgPool2d(_AvgPoolNd):
    """Average pooling over (N, C, H, W) or (C, H, W).

    >>> from millrace import Tensor
    >>> AvgPool2d(2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
    [[[[2.5]]]]
    """

    count = 2

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        self._set_mean_options(
            kernel_size,
            stride,
            pad_mode,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
            data_format,
        )


@public("nn")
class AvgPool3d(_AvgPoolNd):
    """Average pooling over (N, C, D, H, W) or (C, D, H, W)."""

    count = 3

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self._set_mean_options(
            kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override
        )


@public("nn")
class LPPool1d(Cell):
    """Lp pooling: the norm of each window of (N, C, L)."""

    def __init__(
        self, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.arguments = (norm_type, kernel_size, stride, ceil_mode)

    def construct(self, x: Any) -> Any:
        return lp_pool1d(x, *self.arguments)


@public("nn")
class LPPool2d(Cell):
    """Lp pooling: the norm of each window of (N, C, H, W)."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.arguments = (norm_type, kernel_size, stride, ceil_mode)

    def construct(self, x: Any) -> Any:
        return lp_pool2d(x, *self.arguments)


class _FractionalMaxPoolNd(Cell):
    """Base class of fractional max pooling layers."""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        # as in MindSpore, the size takes precedence over the ratio
        ratio = None if output_size is not None else output_ratio
        self.arguments = (kernel_size, output_size, ratio, return_indices, _random_samples)


@public("nn")
class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Fractional max pooling over two axes: windows at random positions."""

    def construct(self, input: Any) -> Any:
        return fractional_max_pool2d(input, *self.arguments)


@public("nn")
class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Fractional max pooling over three axes: windows at random positions."""

    def construct(self, input: Any) -> Any:
        return fractional_max_pool3d(input, *self.arguments)
