"""Functions of neural networks with PyTorch's names and arguments."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace.ops.activation import (
    gelu_mint as gelu,
    leaky_relu_mint as leaky_relu,
    relu,
    sigmoid,
    silu_mint as silu,
)
from millrace.ops.affine import (
    dropout2d_mint as dropout2d,
    dropout_mint as dropout,
    embedding,
)
from millrace.ops.conv import (
    conv1d_mint as conv1d,
    conv2d_mint as conv2d,
    conv3d_mint as conv3d,
    conv_transpose2d,
)
from millrace.ops.elementwise import (
    tanh,
)
from millrace.ops.nonlinear import (
    elu_,
    elu_mint as elu,
    glu_mint as glu,
    hardtanh_,
    hardtanh_mint as hardtanh,
    logsigmoid_mint as logsigmoid,
    prelu,
    relu6_mint as relu6,
    relu_,
    threshold_,
    threshold_mint as threshold,
)
from millrace.ops.normalise import (
    batch_norm_mint as batch_norm,
    group_norm,
    layer_norm,
)
from millrace.ops.pool import (
    max_pool2d_mint as max_pool2d,
)
from millrace.ops.pool_means import (
    avg_pool1d_mint as avg_pool1d,
    avg_pool2d_mint as avg_pool2d,
    avg_pool3d_mint as avg_pool3d,
)
from millrace.ops.pool_other import (
    adaptive_avg_pool1d_mint as adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d_mint as adaptive_max_pool1d,
    adaptive_max_pool2d,
    max_unpool2d_mint as max_unpool2d,
)
from millrace.ops.products import (
    linear,
)
from millrace.ops.softmaxes import (
    log_softmax_mint as log_softmax,
    normalized as normalize,
    softmax_mint as softmax,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose2d",
    "dropout",
    "dropout2d",
    "elu",
    "elu_",
    "embedding",
    "gelu",
    "glu",
    "group_norm",
    "hardtanh",
    "hardtanh_",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool2d",
    "max_unpool2d",
    "normalize",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "sigmoid",
    "silu",
    "softmax",
    "tanh",
    "threshold",
    "threshold_",
]
