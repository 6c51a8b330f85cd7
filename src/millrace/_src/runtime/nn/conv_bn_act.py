"""Combined layers: convolution or dense layer with batch normalization and activation."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public

from .activation import get_activation
from .activation_shaped import LeakyReLU
from .argument_types import check_bool
from .cell import Cell
from .conv import Conv2d
from .linear import Dense
from .normalization import BatchNorm1d, BatchNorm2d

__all__ = ["Conv2dBnAct", "DenseBnAct"]


def _make_activation(activation: Any, alpha: float, owner: str) -> Any:
    if activation == "leakyrelu":
        return LeakyReLU(alpha)
    return get_activation(activation, owner) if isinstance(activation, str) else activation


@public("nn")
class Conv2dBnAct(Cell):
    """Conv2d with optional BatchNorm2d and activation.

    >>> list(Conv2dBnAct(3, 4, 3, has_bn=True, activation="relu").name_cells())
    ['conv', 'batchnorm', 'activation']
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bn: bool = False,
        momentum: float = 0.997,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.conv = Conv2d(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init,
        )  # fmt: skip
        self.has_bn, self.after_fake = check_bool(has_bn, "has_bn", "Conv2dBnAct"), after_fake
        if has_bn:
            self.batchnorm = BatchNorm2d(out_channels, eps, momentum)
        self.has_act = activation is not None
        self.activation = _make_activation(activation, alpha, "Conv2dBnAct")

    def construct(self, x: Any) -> Any:
        x = self.conv(x)
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x


@public("nn")
class DenseBnAct(Cell):
    """Dense with optional BatchNorm1d and activation."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
        has_bn: bool = False,
        momentum: float = 0.9,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self.has_bn, self.after_fake = check_bool(has_bn, "has_bn", "DenseBnAct"), after_fake
        if has_bn:
            self.batchnorm = BatchNorm1d(out_channels, eps, momentum)
        self.has_act = activation is not None
        self.activation = _make_activation(activation, alpha, "DenseBnAct")

    def construct(self, x: Any) -> Any:
        x = self.dense(x)
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x
