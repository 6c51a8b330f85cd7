"""Biases, maps of two inputs, embeddings and dropout."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.array.pad import pad as pad_of
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, INT64, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op, register_alias

from .sliding_window import check_same_dtype

__all__ = [
    "BiasAdd",
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "DropoutDoMask",
    "DropoutGenMask",
    "bias_add",
    "bias_added",
    "bidense",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout2d_mask",
    "dropout2d_mint",
    "dropout3d",
    "dropout3d_mask",
    "dropout_bits",
    "dropout_by_bits",
    "dropout_mask",
    "dropout_mint",
    "embedding",
    "one_hot_mint",
    "pad_mint",
]


@op("ops", dtype=SAME)
def bidense(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[k] @ input2 for each output k, plus a bias."""
    if weight.ndim != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise ArgumentValueError(
            f"For 'bidense', the weight must be (out, {input1.shape[-1]}, {input2.shape[-1]}), but got "
            f"{list(weight.shape)}."
        )
    return F.bilinear(input1, input2, weight, bias)


def _biased(name: str, x: Tensor, bias: Tensor, axis: int) -> Tensor:
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
    """A value per channel added, along axis 1."""
    return _biased("bias_add", input_x, bias, 1)


@op(dtype=SAME)
def bias_added(input_x: Tensor, bias: Tensor, data_format: str = "NCHW") -> Tensor:
    """A value per channel added."""
    if data_format not in ("NCHW", "NHWC", "NCDHW"):
        raise ArgumentValueError(
            f"For 'BiasAdd', 'data_format' must be NCHW, NHWC or NCDHW, but got {data_format!r}."
        )
    return _biased("BiasAdd", input_x, bias, -1 if data_format == "NHWC" else 1)


@op("ops", "mint.nn.functional", dtype=UNCHECKED)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` numbers; `max_norm` first shortens rows that are longer, in place."""
    if input.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'embedding', 'input' must be int32 or int64, but got {input.dtype}.")
    return F.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


# --- faces of `mint.nn.functional` of other families --------------------------------------------------------------


@op("mint.nn.functional:one_hot", dtype=INT64, differentiable=False)
def one_hot_mint(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the number of each class, else 0; without `num_classes`, as many as the largest number needs."""
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise ArgumentTypeError(f"For 'one_hot', 'num_classes' must be an int, but got {num_classes!r}.")
    if tensor.is_floating_point():
        raise ArgumentTypeError(f"For 'one_hot', class numbers must be integers, but got {tensor.dtype}.")
    if num_classes < 0:
        return F.one_hot(tensor.long())
    classes = torch.arange(num_classes, device=tensor.device)
    return (tensor.unsqueeze(-1) == classes).long()


@op("mint.nn.functional:pad", dtype=SAME)
def pad_mint(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements put around the last axes: pairs (before, after), the last axis first."""
    return pad_of.raw(input, pad, mode, value)


# The same arguments as in `ops`.
register_alias(
    "millrace._src.runtime.ops.nn.pixel_shuffle", "mint.nn.functional", "fold", "pixel_shuffle", "unfold"
)
register_alias("millrace._src.runtime.ops.array.reshape", "mint.nn.functional", flatten="flatten_mint")


# --- dropout ----------------------------------------------------------------------------------------------------


def _check_probability(name: str, p: Any) -> float:
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'p' must be a number, but got {p!r}.")
    if not 0 <= p < 1:
        raise OperationError(f"For '{name}', 'p' must be in [0, 1), but got {p}.")
    return p


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Elements set to 0 with probability `p`, the others divided by 1 - p; the input itself when not training."""
    if not training or p == 0:
        return input
    if seed is not None:
        draws = torch.rand(input.shape, generator=torch.Generator().manual_seed(seed)).to(input.device)
        return input * (draws >= _check_probability("dropout", p)) / (1 - p)
    return F.dropout(input, _check_probability("dropout", p))


@op("mint.nn.functional:dropout", accepts=FLOATS, dtype=SAME, random=True)
def dropout_mint(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability `p`, the others divided by 1 - p."""
    return F.dropout(input, p, training, inplace)


def _by_channel(name: str, x: Tensor, p: Any, training: bool, ndims: tuple[int, ...]) -> Tensor:
    """Whole channels set to 0."""
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'p' must be a number, but got {p!r}.")
    if not 0 <= p <= 1:
        raise ArgumentValueError(f"For '{name}', 'p' must be in [0, 1], but got {p}.")
    if x.ndim not in ndims:
        raise ArgumentValueError(
            f"For '{name}', the input must have {' or '.join(map(str, ndims))} axes, but got {list(x.shape)}."
        )
    if not training:
        return x
    channels = x.shape[: 2 if x.ndim == ndims[-1] else 1]
    shape = (*channels, *(1,) * (x.ndim - len(channels)))
    kept = torch.rand(shape, device=x.device) >= p
    return x * kept / (1 - p) if p < 1 else torch.zeros_like(x)


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) set to 0 with probability `p`."""
    return _by_channel("dropout1d", input, p, training, (2, 3))


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels of (N, C, H, W) set to 0 with probability `p`."""
    return _by_channel("dropout2d", input, p, training, (4,))


@op("mint.nn.functional:dropout2d", accepts=FLOATS, dtype=SAME, random=True)
def dropout2d_mint(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels of (N, C, H, W) or (C, H, W) set to 0 with probability `p`."""
    return _by_channel("dropout2d", input, p, training, (3, 4))


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels of (N, C, D, H, W) set to 0 with probability `p`."""
    return _by_channel("dropout3d", input, p, training, (5,))


@op(accepts=FLOATS, dtype=UNCHECKED, random=True)
def dropout_mask(x: Tensor, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> tuple[Tensor, Tensor]:
    """Elements kept with probability `keep_prob` and divided by it, and what was kept."""
    p = 1 - keep_prob
    _check_probability("Dropout", p)
    mask = (torch.rand(x.shape, device=x.device) >= p).to(x.dtype)
    return x * mask / keep_prob, mask


def _channel_mask(name: str, x: Tensor, keep_prob: float, ndim: int) -> tuple[Tensor, Tensor]:
    if isinstance(keep_prob, bool) or not isinstance(keep_prob, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'keep_prob' must be a number, but got {keep_prob!r}.")
    if not 0 <= keep_prob <= 1 or x.ndim != ndim:
        raise ArgumentValueError(
            f"For '{name}', 'keep_prob' must be in [0, 1] and the input have {ndim} axes, but got {keep_prob} and "
            f"{list(x.shape)}."
        )
    kept = torch.rand((*x.shape[:2], *(1,) * (ndim - 2)), device=x.device) < keep_prob
    return x * kept / (keep_prob or 1), kept.expand(x.shape).clone()


@op(accepts=FLOATS, dtype=UNCHECKED, random=True)
def dropout2d_mask(x: Tensor, keep_prob: float = 0.5) -> tuple[Tensor, Tensor]:
    """Whole channels of (N, C, H, W) kept with probability `keep_prob`, and what was kept."""
    return _channel_mask("Dropout2D", x, keep_prob, 4)


@op(accepts=FLOATS, dtype=UNCHECKED, random=True)
def dropout3d_mask(x: Tensor, keep_prob: float = 0.5) -> tuple[Tensor, Tensor]:
    """Whole channels of (N, C, D, H, W) kept with probability `keep_prob`, and what was kept."""
    return _channel_mask("Dropout3D", x, keep_prob, 5)


@op(dtype=UNCHECKED, differentiable=False, random=True)
def dropout_bits(shape: Any, keep_prob: Any, Seed0: int = 0, Seed1: int = 0) -> Tensor:
    """A mask for DropoutDoMask: eight elements per byte, padded to whole blocks of 128 elements."""
    count = 1
    for size in shape:
        count *= size
    bits = (torch.rand(-(-count // 128) * 128) < keep_prob).reshape(-1, 8)
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
    return (bits.to(torch.uint8) * weights).sum(1).to(torch.uint8)


@op(dtype=SAME)
def dropout_by_bits(input_x: Tensor, mask: Tensor, keep_prob: Any) -> Tensor:
    """Elements whose bit is set in the mask of DropoutGenMask, divided by `keep_prob`; 0 for the others."""
    places = torch.arange(8, dtype=torch.uint8, device=mask.device)
    bits = (mask.reshape(-1, 1) >> places & 1).reshape(-1)[: input_x.numel()].reshape(input_x.shape)
    return input_x * bits.to(input_x.dtype) / keep_prob


BiasAdd = primitive("BiasAdd", bias_added)
Dropout = primitive("Dropout", dropout_mask)
Dropout2D = primitive("Dropout2D", dropout2d_mask)
Dropout3D = primitive("Dropout3D", dropout3d_mask)
DropoutGenMask = primitive("DropoutGenMask", dropout_bits, init=("Seed0", "Seed1"))
DropoutDoMask = primitive("DropoutDoMask", dropout_by_bits, init=())
