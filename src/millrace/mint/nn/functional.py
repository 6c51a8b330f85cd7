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
    one_hot_mint as one_hot,
    pad_mint as pad,
)
from millrace.ops.blocks import (
    fold,
    pixel_shuffle,
    unfold,
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
from millrace.ops.layout import (
    flatten_mint as flatten,
)
from millrace.ops.losses import (
    binary_cross_entropy_mint as binary_cross_entropy,
    binary_cross_entropy_with_logits_mint as binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div_mint as kl_div,
    mse_loss,
    nll_loss_mint as nll_loss,
)
from millrace.ops.margins import (
    soft_margin_loss,
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
from millrace.ops.resize import (
    grid_sample,
    interpolate_mint as interpolate,
    upsample_mint as upsample,
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
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose2d",
    "cross_entropy",
    "dropout",
    "dropout2d",
    "elu",
    "elu_",
    "embedding",
    "flatten",
    "fold",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "hardtanh",
    "hardtanh_",
    "interpolate",
    "kl_div",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool2d",
    "max_unpool2d",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pixel_shuffle",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "sigmoid",
    "silu",
    "soft_margin_loss",
    "softmax",
    "tanh",
    "threshold",
    "threshold_",
    "unfold",
    "upsample",
]
