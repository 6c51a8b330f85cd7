"""Linear layers as operations: dense, linear, bidense, bias_add."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

from .sliding_window import check_same_dtype

__all__ = ["BiasAdd", "Dense", "bias_add", "bias_add_primitive", "bidense", "dense", "linear"]


@op("ops", dtype=SAME)
def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    try:
        return F.linear(input, weight, bias)
    except RuntimeError:  # checked only after an error, to keep calls of layers fast
        if input.ndim == 0 or input.shape[-1] != weight.shape[-1]:
            raise ArgumentValueError(
                f"For 'dense', the last axis of the input must be as long as that of the weight, but the shapes are "
                f"{list(input.shape)} and {list(weight.shape)}."
                + (
                    f" Dense({input.shape[-1]}, {len(weight)}) would take it."
                    if input.ndim and weight.ndim == 2
                    else ""
                )
            ) from None
        check_same_dtype("dense", input, weight)
        raise


@op("mint.nn.functional", dtype=SAME)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    return dense.raw(input, weight, bias)


Dense = primitive("Dense", dense)


@op("ops", dtype=SAME)
def bidense(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Bilinear map: input1 @ weight[k] @ input2 for each output k, plus a bias."""
    if weight.ndim != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise ArgumentValueError(
            f"For 'bidense', the weight must be (out, {input1.shape[-1]}, {input2.shape[-1]}), but got "
            f"{list(weight.shape)}."
        )
    return F.bilinear(input1, input2, weight, bias)


def _add_bias(name: str, x: Tensor, bias: Tensor, axis: int) -> Tensor:
    if not 2 <= x.ndim <= 5:
        raise ArgumentValueError(f"For '{name}', the input must have 2 to 5 axes, but got {list(x.shape)}.")
    if bias.ndim != 1 or bias.shape[0] != x.shape[axis]:
        raise ArgumentValueError(
            f"For '{name}', the bias must have one value per channel: {x.shape[axis]}, but its shape is "
            f"{list(bias.shape)}."
        )
    check_same_dtype(name, x, bias)
    return x + (bias if axis in (-1, x.ndim - 1) else bias.reshape(-1, *(1,) * (x.ndim - 2)))


@op("ops", dtype=SAME)
def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """Add a bias per channel along axis 1."""
    return _add_bias("bias_add", input_x, bias, 1)


@op(dtype=SAME)
def bias_add_primitive(input_x: Tensor, bias: Tensor, data_format: str = "NCHW") -> Tensor:
    """Add a bias per channel."""
    if data_format not in ("NCHW", "NHWC", "NCDHW"):
        raise ArgumentValueError(
            f"For 'BiasAdd', 'data_format' must be NCHW, NHWC or NCDHW, but got {data_format!r}."
        )
    return _add_bias("BiasAdd", input_x, bias, -1 if data_format == "NHWC" else 1)


BiasAdd = primitive("BiasAdd", bias_add_primitive)
