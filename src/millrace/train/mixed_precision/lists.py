"""What is computed in a smaller floating type at level O1, and what is not at O2; as in MindSpore 2.7.0."""

from __future__ import annotations

from typing import Any

from millrace import nn, ops

__all__ = ["BLACK", "WHITE", "cells_of", "get_black_list", "get_white_list"]

WHITE: list[Any] = [
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.Conv1dTranspose,
    nn.Conv2dTranspose,
    nn.Conv3dTranspose,
    nn.Dense,
    nn.LSTMCell,
    nn.RNNCell,
    nn.GRUCell,
    ops.Conv2D,
    ops.Conv3D,
    ops.Conv2DTranspose,
    ops.Conv3DTranspose,
    ops.Conv2DBackpropInput,
    ops.MatMul,
    ops.BatchMatMul,
    ops.PReLU,
    ops.ReLU,
    ops.Ger,
]
BLACK: list[Any] = [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm]

# Layers that are one operation and nothing else: where the operation is listed, so are they.
_LAYERS = {ops.PReLU: nn.PReLU, ops.ReLU: nn.ReLU}


def get_white_list() -> list[Any]:
    """The cells and operations that compute in the smaller type at level O1; a list of your own to add to.

    >>> nn.Dense in get_white_list(), nn.BatchNorm2d in get_white_list()
    (True, False)
    """
    return list(WHITE)


def get_black_list() -> list[Any]:
    """The cells that keep computing in float32 at level O2; a list of your own to add to.

    >>> [cell.__name__ for cell in get_black_list()]
    ['BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'LayerNorm']
    """
    return list(BLACK)


def cells_of(listed: list[Any]) -> tuple[type, ...]:
    """The classes of a list, and the layers that stand for its operations."""
    return tuple(listed) + tuple(layer for operation, layer in _LAYERS.items() if operation in listed)
