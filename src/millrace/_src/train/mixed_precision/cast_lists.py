"""White list of level O1 and black list of level O2, as in MindSpore 2.7.0."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.activation import ReLU
from millrace._src.runtime.nn.activation_shaped import PReLU
from millrace._src.runtime.nn.conv import Conv1d, Conv2d, Conv3d
from millrace._src.runtime.nn.conv_transpose import Conv1dTranspose, Conv2dTranspose, Conv3dTranspose
from millrace._src.runtime.nn.linear import Dense
from millrace._src.runtime.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, LayerNorm
from millrace._src.runtime.nn.recurrent import GRUCell, LSTMCell, RNNCell
from millrace._src.runtime.ops.linalg.matmul import BatchMatMul, Ger, MatMul
from millrace._src.runtime.ops.nn.activation import PReLU as PReLUPrimitive
from millrace._src.runtime.ops.nn.activation import ReLU as ReLUPrimitive
from millrace._src.runtime.ops.nn.conv import Conv2D, Conv3D
from millrace._src.runtime.ops.nn.conv_transpose import Conv2DBackpropInput, Conv2DTranspose, Conv3DTranspose

__all__ = ["BLACK", "WHITE", "cells_of", "get_black_list", "get_white_list"]

WHITE: list[Any] = [
    Conv1d,
    Conv2d,
    Conv3d,
    Conv1dTranspose,
    Conv2dTranspose,
    Conv3dTranspose,
    Dense,
    LSTMCell,
    RNNCell,
    GRUCell,
    Conv2D,
    Conv3D,
    Conv2DTranspose,
    Conv3DTranspose,
    Conv2DBackpropInput,
    MatMul,
    BatchMatMul,
    PReLUPrimitive,
    ReLUPrimitive,
    Ger,
]
BLACK: list[Any] = [BatchNorm1d, BatchNorm2d, BatchNorm3d, LayerNorm]

# Layers of a single operation: they are listed where the operation is listed.
_LAYERS = {PReLUPrimitive: PReLU, ReLUPrimitive: ReLU}


@public("amp")
def get_white_list() -> list[Any]:
    """A copy of the white list: cells and operations that compute in the smaller dtype at level O1.

    >>> from millrace import nn
    >>> nn.Dense in get_white_list(), nn.BatchNorm2d in get_white_list()
    (True, False)
    """
    return list(WHITE)


@public("amp")
def get_black_list() -> list[Any]:
    """A copy of the black list: cells that compute in float32 at level O2.

    >>> [cell.__name__ for cell in get_black_list()]
    ['BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'LayerNorm']
    """
    return list(BLACK)


def cells_of(listed: list[Any]) -> tuple[type, ...]:
    """Classes of a list, including the layers of its operations."""
    return tuple(listed) + tuple(layer for operation, layer in _LAYERS.items() if operation in listed)
