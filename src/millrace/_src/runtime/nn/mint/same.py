"""Layers of ``mint.nn`` that ``nn`` defines too, under the same or other names."""

from __future__ import annotations

from millrace._src.runtime.nn.activation import HSigmoid as Hardsigmoid
from millrace._src.runtime.nn.activation import HSwish as Hardswish
from millrace._src.runtime.nn.activation import LogSigmoid, Mish, ReLU, Sigmoid, Tanh
from millrace._src.runtime.nn.activation_shaped import HShrink as Hardshrink
from millrace._src.runtime.nn.activation_shaped import SoftShrink as Softshrink
from millrace._src.runtime.nn.adaptive_pooling import AdaptiveAvgPool3d, AdaptiveMaxPool2d
from millrace._src.runtime.nn.array_layers import Flatten
from millrace._src.runtime.nn.containers import Identity
from millrace._src.runtime.nn.image import PixelShuffle
from millrace._src.runtime.nn.mint.activation import LogSoftmaxExt as LogSoftmax
from millrace._src.runtime.nn.mint.activation import PReLUExt as PReLU
from millrace._src.runtime.nn.mint.dropout import DropoutExt as Dropout
from millrace._src.runtime.nn.mint.embedding import EmbeddingExt as Embedding
from millrace._src.runtime.nn.mint.linear import Linear
from millrace._src.runtime.nn.mint.normalization import LayerNormExt as LayerNorm
from millrace._src.runtime.nn.mint.pooling import AvgPool1dExt as AvgPool1d
from millrace._src.runtime.nn.mint.pooling import AvgPool2dExt as AvgPool2d
from millrace._src.runtime.nn.mint.pooling import AvgPool3dExt as AvgPool3d
from millrace._src.runtime.nn.mint.pooling import MaxPool2dExt as MaxPool2d
from millrace._src.runtime.nn.padding import (
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad2d,
)
from millrace._src.runtime.nn.unpooling import MaxUnpool2d

__all__ = [
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Dropout",
    "Embedding",
    "Flatten",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Identity",
    "LayerNorm",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MaxPool2d",
    "MaxUnpool2d",
    "Mish",
    "PReLU",
    "PixelShuffle",
    "ReLU",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Sigmoid",
    "Softshrink",
    "Tanh",
    "ZeroPad2d",
]
