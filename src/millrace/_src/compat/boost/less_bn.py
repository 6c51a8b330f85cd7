"""Networks with a normalized last dense layer instead of BatchNorm layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.linear import Dense
from millrace._src.runtime.ops.linalg.matmul import matmul
from millrace._src.runtime.ops.nn.normalization import L2Normalize
from millrace._src.runtime.tensor.initializer import initializer
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["CommonHeadLastFN", "LessBN"]


class CommonHeadLastFN(Cell):
    """A dense layer with L2-normalized inputs and weights and a trainable scale."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
    ) -> None:
        super().__init__()
        shape = (out_channels, in_channels)
        self.weight = Parameter(initializer(weight_init, shape), name="weight")
        self.multiplier = Parameter(Tensor([1.0]), name="multiplier")
        self.has_bias = has_bias
        if has_bias:
            self.bias = Parameter(initializer(bias_init, (out_channels,)), name="bias")

    def construct(self, x: Any) -> Any:
        logits = matmul(L2Normalize(1)(x), L2Normalize(1)(self.weight).T)
        logits = logits + self.bias if self.has_bias else logits
        return self.multiplier * logits


@public("boost")
class LessBN(Cell):
    """A network; with `fn_flag` the last dense layer of each part is normalized and has no bias.

    >>> from millrace import nn
    >>> net = LessBN(nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 2)), fn_flag=True)
    >>> [type(cell).__name__ for cell in net.network]
    ['Dense', 'CommonHeadLastFN']
    """

    def __init__(self, network: Any, fn_flag: bool = False) -> None:
        super().__init__()
        if not isinstance(network, Cell):
            raise ArgumentTypeError(
                f"For 'LessBN', the 'network' must be a Cell, but got {type(network).__name__}."
            )
        self.network = network
        if "less_bn" not in network.get_flags():
            network.add_flags(less_bn=True)
            if fn_flag:
                _normalise_last(network)

    def construct(self, *inputs: Any) -> Any:
        return self.network(*inputs)


def _normalise_last(net: Cell) -> None:
    last = None
    for name, cell in net.name_cells().items():
        if cell is net:
            continue
        if isinstance(cell, Dense):
            last = name, cell
        else:
            _normalise_last(cell)
    if last is not None:
        name, dense = last
        layer = CommonHeadLastFN(dense.in_channels, dense.out_channels, dense.weight, has_bias=False)
        for each in layer.get_parameters():
            each.name = f"{dense.weight.name.removesuffix('weight')}{each.name}"
        layer.set_train(dense.training)
        if isinstance(net._cells.get(name), Dense):
            net._cells[name] = layer
