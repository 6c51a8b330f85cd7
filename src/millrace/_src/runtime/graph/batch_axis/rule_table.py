"""Table of batch-axis rules: one rule per family of operators. Operators outside of it are rejected.

The key is the name without overload and without the trailing underscore of the in-place variant. ``rows``
names the arguments that may hold the batch size, all of them shapes. Elsewhere it would be a value, and
results would depend on the batch size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from . import arithmetic_rules as arithmetic
from . import indexing_rules as indexing
from . import layout_rules as layout
from .arithmetic_rules import Rule, last_axes_rule, single_axis_rule
from .state import CallView, RowsMixed, State

__all__ = ["ELEMENTWISE", "METADATA", "RULES", "TableEntry"]


class TableEntry(NamedTuple):
    """A rule. With ``always`` it is applied to constants too."""

    rule: Rule
    rows: tuple[str, ...] = ()
    always: bool = False


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# In-place variants of these change the shape of one tensor and no element.
METADATA = frozenset({"squeeze", "t", "transpose", "unsqueeze"})

ELEMENTWISE = _names(
    """
    abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min copysign cos cosh deg2rad digamma div
    elu eq erf erfc erfinv exp exp2 expm1 fill floor floor_divide fmax fmin fmod frac ge gelu gt hardshrink
    hardsigmoid hardswish hardtanh heaviside hypot i0 isinf isnan isneginf isposinf le leaky_relu lerp lgamma log log10
    log1p log2 log_sigmoid_forward logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt
    masked_fill maximum minimum mish mul nan_to_num ne neg nextafter polygamma pow rad2deg reciprocal relu relu6
    remainder round rsqrt rsub selu sgn sigmoid sign signbit silu sin sinc sinh softplus softshrink special_entr
    special_erfcx special_i0e special_i1 special_i1e special_log_ndtr special_ndtr special_ndtri special_xlog1py
    special_zeta sqrt square sub tan tanh threshold trunc where xlogy zero _prelu_kernel copy
    """
)

_COPIES = ("_to_copy", "alias", "clone", "detach", "contiguous", "lift_fresh", "positive")
_REDUCTIONS = _names(
    """
    all amax amin any argmax argmin count_nonzero linalg_vector_norm logsumexp max mean median min mode nanmedian nansum
    norm prod std std_mean sum var var_mean kthvalue
    """
)
_UPSAMPLING = {
    "upsample_nearest1d": 1, "_upsample_nearest_exact1d": 1, "upsample_linear1d": 1, "upsample_nearest2d": 2,
    "_upsample_nearest_exact2d": 2, "upsample_bilinear2d": 2, "_upsample_bilinear2d_aa": 2, "upsample_bicubic2d": 2,
    "_upsample_bicubic2d_aa": 2, "upsample_nearest3d": 3, "_upsample_nearest_exact3d": 3, "upsample_trilinear3d": 3,
}  # fmt: skip
_POOLING = {
    "avg_pool2d": 2, "avg_pool3d": 3, "_adaptive_avg_pool2d": 2, "_adaptive_avg_pool3d": 3, "adaptive_max_pool2d": 2,
    "adaptive_max_pool3d": 3, "max_pool2d_with_indices": 2, "max_pool3d_with_indices": 3,
}  # fmt: skip
_PADDING = {
    "reflection_pad1d": 1, "reflection_pad2d": 2, "reflection_pad3d": 3, "replication_pad1d": 1,
    "replication_pad2d": 2, "replication_pad3d": 3,
}  # fmt: skip


def _empty(call: CallView) -> list[State]:
    for dims in call.results:
        if dims is None or math.prod([dim.offset for dim in dims]) != 0 or any(dim.times for dim in dims):
            raise RowsMixed("its memory is not initialised")
    return call.same(None)


def _positions(call: CallView) -> list[State]:
    raise RowsMixed("it numbers the rows")


def _constant(call: CallView) -> list[State]:
    raise RowsMixed("its length follows from the number of rows")


def _keep_axis(name: str, what: str) -> dict[str, TableEntry]:
    return {name: TableEntry(single_axis_rule(what))}


RULES: dict[str, TableEntry] = {
    **{name: TableEntry(arithmetic.elementwise) for name in ELEMENTWISE},
    **{name: TableEntry(layout.copy) for name in _COPIES},
    **{name: TableEntry(arithmetic.reduce) for name in _REDUCTIONS},
    **{
        name: TableEntry(last_axes_rule(count, "interpolates"), ("output_size",))
        for name, count in _UPSAMPLING.items()
    },
    **{name: TableEntry(last_axes_rule(count, "pools")) for name, count in _POOLING.items()},
    **{name: TableEntry(last_axes_rule(count, "pads")) for name, count in _PADDING.items()},
    "pixel_shuffle": TableEntry(last_axes_rule(3, "moves elements")),
    "pixel_unshuffle": TableEntry(last_axes_rule(3, "moves elements")),
    "im2col": TableEntry(last_axes_rule(3, "takes windows")),
    "col2im": TableEntry(last_axes_rule(2, "adds windows")),
    # along one axis
    **_keep_axis("_softmax", "normalises"),
    **_keep_axis("_log_softmax", "normalises"),
    **_keep_axis("softmax", "normalises"),
    **_keep_axis("log_softmax", "normalises"),
    **_keep_axis("cumsum", "sums"),
    **_keep_axis("cumprod", "multiplies"),
    **_keep_axis("cummax", "compares"),
    **_keep_axis("cummin", "compares"),
    **_keep_axis("logcumsumexp", "sums"),
    **_keep_axis("sort", "sorts"),
    **_keep_axis("argsort", "sorts"),
    **_keep_axis("topk", "selects"),
    **_keep_axis("glu", "splits"),
    # products
    "mm": TableEntry(arithmetic.mm),
    "bmm": TableEntry(arithmetic.bmm),
    "addmm": TableEntry(arithmetic.addmm),
    "baddbmm": TableEntry(arithmetic.baddbmm),
    "mv": TableEntry(arithmetic.mv),
    "linear": TableEntry(arithmetic.linear),
    "convolution": TableEntry(arithmetic.convolution),
    "_convolution": TableEntry(arithmetic.convolution),
    "mkldnn_convolution": TableEntry(arithmetic.convolution),
    # normalisation
    "native_layer_norm": TableEntry(arithmetic.layer_norm),
    "_fused_rms_norm": TableEntry(arithmetic.layer_norm),
    "native_group_norm": TableEntry(arithmetic.group_norm, ("N",)),
    "native_batch_norm": TableEntry(arithmetic.batch_norm),
    "_native_batch_norm_legit": TableEntry(arithmetic.batch_norm),
    "_native_batch_norm_legit_no_training": TableEntry(arithmetic.batch_norm),
    "native_dropout": TableEntry(arithmetic.dropout, always=True),
    # attention, recurrent layers, sampling
    "_scaled_dot_product_flash_attention_for_cpu": TableEntry(arithmetic.attention),
    "_scaled_dot_product_attention_math": TableEntry(arithmetic.attention),
    "mkldnn_rnn_layer": TableEntry(arithmetic.rnn_layer),
    "_thnn_fused_lstm_cell": TableEntry(arithmetic.lstm_cell),
    "grid_sampler_2d": TableEntry(arithmetic.grid_sampler),
    "grid_sampler_3d": TableEntry(arithmetic.grid_sampler),
    # shapes
    "view": TableEntry(layout.reshape, ("size",)),
    "_unsafe_view": TableEntry(layout.reshape, ("size",)),
    "reshape": TableEntry(layout.reshape, ("shape",)),
    "permute": TableEntry(layout.permute),
    "transpose": TableEntry(layout.transpose),
    "t": TableEntry(layout.transpose),
    "unsqueeze": TableEntry(layout.unsqueeze),
    "squeeze": TableEntry(layout.squeeze),
    "expand": TableEntry(layout.expand, ("size",)),
    "repeat": TableEntry(layout.repeat, ("repeats",)),
    "cat": TableEntry(layout.cat),
    "stack": TableEntry(layout.stack),
    "slice": TableEntry(layout.slice_, ("end",)),
    "narrow": TableEntry(layout.narrow),
    "select": TableEntry(layout.select),
    "split": TableEntry(layout.split),
    "split_with_sizes": TableEntry(layout.split),
    "unsafe_split": TableEntry(layout.split),
    "unsafe_split_with_sizes": TableEntry(layout.split),
    "unbind": TableEntry(layout.unbind),
    "flip": TableEntry(layout.flip),
    "roll": TableEntry(layout.roll),
    "unfold": TableEntry(layout.unfold),
    "tril": TableEntry(layout.diagonal_band),
    "triu": TableEntry(layout.diagonal_band),
    "constant_pad_nd": TableEntry(layout.constant_pad),
    # constants
    "zeros": TableEntry(layout.factory, ("size",)),
    "ones": TableEntry(layout.factory, ("size",)),
    "full": TableEntry(layout.factory, ("size",)),
    "new_zeros": TableEntry(layout.factory, ("size",)),
    "new_ones": TableEntry(layout.factory, ("size",)),
    "new_full": TableEntry(layout.factory, ("size",)),
    "zeros_like": TableEntry(layout.like),
    "ones_like": TableEntry(layout.like),
    "full_like": TableEntry(layout.like),
    "scalar_tensor": TableEntry(_constant),
    "empty": TableEntry(_empty, always=True),
    "arange": TableEntry(_positions, ("start", "end", "step")),
    "linspace": TableEntry(_positions, ("start", "end", "steps")),
    "eye": TableEntry(_positions, ("n", "m")),
    # elements by the values of a tensor
    "embedding": TableEntry(indexing.embedding),
    "index_select": TableEntry(indexing.index_select),
    "gather": TableEntry(indexing.gather),
    "index": TableEntry(indexing.index),
    "scatter": TableEntry(indexing.scatter),
    "scatter_add": TableEntry(indexing.scatter),
    "scatter_reduce": TableEntry(indexing.scatter),
}
