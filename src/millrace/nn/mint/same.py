"""Layers of ``mint.nn`` that ``nn`` has too, there under these or other names."""

from __future__ import annotations

from millrace.nn.activation import HSigmoid as Hardsigmoid
from millrace.nn.activation import HSwish as Hardswish
from millrace.nn.activation import LogSigmoid, Mish, ReLU, Sigmoid, Tanh
from millrace.nn.activation_shaped import HShrink as Hardshrink
from millrace.nn.activation_shaped import LogSoftmaxExt as LogSoftmax
from millrace.nn.activation_shaped import PReLUExt as PReLU
from millrace.nn.activation_shaped import SoftShrink as Softshrink
from millrace.nn.basic import Linear
from millrace.nn.dropout import DropoutExt as Dropout
from millrace.nn.embedding import EmbeddingExt as Embedding
from millrace.nn.image import PixelShuffle
from millrace.nn.normalization import LayerNormExt as LayerNorm
from millrace.nn.padding import (
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
from millrace.nn.pooling import AvgPool1dExt as AvgPool1d
from millrace.nn.pooling import AvgPool2dExt as AvgPool2d
from millrace.nn.pooling import AvgPool3dExt as AvgPool3d
from millrace.nn.pooling import MaxPool2dExt as MaxPool2d
from millrace.nn.pooling_other import AdaptiveAvgPool3d, AdaptiveMaxPool2d, MaxUnpool2d
from millrace.nn.shaping import Flatten, Identity

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
