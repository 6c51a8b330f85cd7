"""Functions of neural networks with PyTorch's names and arguments."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.ops.array.creation import (
    one_hot_mint as one_hot,
)
from millrace._src.runtime.ops.array.pad import (
    pad_mint as pad,
)
from millrace._src.runtime.ops.array.reshape import (
    flatten_mint as flatten,
)
from millrace._src.runtime.ops.image.grid_sample import (
    grid_sample,
)
from millrace._src.runtime.ops.image.resize import (
    interpolate_mint as interpolate,
    upsample_mint as upsample,
)
from millrace._src.runtime.ops.math.trigonometric import (
    tanh,
)
from millrace._src.runtime.ops.nn.activation import (
    elu_,
    elu_mint as elu,
    gelu_mint as gelu,
    glu_mint as glu,
    hardtanh_,
    hardtanh_mint as hardtanh,
    leaky_relu_mint as leaky_relu,
    logsigmoid_mint as logsigmoid,
    prelu,
    relu,
    relu6_mint as relu6,
    relu_,
    sigmoid,
    silu_mint as silu,
    threshold_,
    threshold_mint as threshold,
)
from millrace._src.runtime.ops.nn.adaptive_pooling import (
    adaptive_avg_pool1d_mint as adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d_mint as adaptive_max_pool1d,
    adaptive_max_pool2d,
)
from millrace._src.runtime.ops.nn.avg_pooling import (
    avg_pool1d_mint as avg_pool1d,
    avg_pool2d_mint as avg_pool2d,
    avg_pool3d_mint as avg_pool3d,
)
from millrace._src.runtime.ops.nn.conv import (
    conv1d_mint as conv1d,
    conv2d_mint as conv2d,
    conv3d_mint as conv3d,
)
from millrace._src.runtime.ops.nn.conv_transpose import (
    conv_transpose2d,
)
from millrace._src.runtime.ops.nn.dropout import (
    dropout2d_mint as dropout2d,
    dropout_mint as dropout,
)
from millrace._src.runtime.ops.nn.embedding import (
    embedding,
)
from millrace._src.runtime.ops.nn.fold import (
    fold,
    unfold,
)
from millrace._src.runtime.ops.nn.linear import (
    linear,
)
from millrace._src.runtime.ops.nn.loss import (
    binary_cross_entropy_mint as binary_cross_entropy,
    binary_cross_entropy_with_logits_mint as binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div_mint as kl_div,
    mse_loss,
    nll_loss_mint as nll_loss,
)
from millrace._src.runtime.ops.nn.margin_loss import (
    soft_margin_loss,
)
from millrace._src.runtime.ops.nn.max_pooling import (
    max_pool2d_mint as max_pool2d,
)
from millrace._src.runtime.ops.nn.normalization import (
    batch_norm_mint as batch_norm,
    group_norm,
    layer_norm,
    normalized as normalize,
)
from millrace._src.runtime.ops.nn.pixel_shuffle import (
    pixel_shuffle,
)
from millrace._src.runtime.ops.nn.softmax import (
    log_softmax_mint as log_softmax,
    softmax_mint as softmax,
)
from millrace._src.runtime.ops.nn.unpooling import (
    max_unpool2d_mint as max_unpool2d,
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
