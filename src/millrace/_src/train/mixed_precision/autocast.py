"""Mixed precision level "auto": each operation computes in the dtype of its list.

A PyTorch function mode checks operation names while the network runs. Other code has no overhead.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from millrace._src.core.values.dtype import DType
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.tensor.storage import to_torch_dtype

__all__ = ["autocast"]

# Operations that are fast and accurate enough in a small dtype: convolutions, matrix products.
LOWER = {
    *(
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "convolution",
    ),
    *("matmul", "mm", "bmm", "linear", "prelu", "einsum", "addmm", "addbmm", "addmv", "baddbmm", "mv"),
    *("__matmul__", "__rmatmul__"),
}
# Operations that need the range or precision of float32.
FULL = {
    *(
        "pow",
        "__pow__",
        "__rpow__",
        "acos",
        "asin",
        "cosh",
        "erfinv",
        "exp",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
    ),
    *(
        "reciprocal",
        "rsqrt",
        "sinh",
        "tan",
        "softplus",
        "layer_norm",
        "batch_norm",
        "native_batch_norm",
        "group_norm",
    ),
    *("native_layer_norm", "native_group_norm"),
    *("kl_div", "smooth_l1_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss"),
    *("multi_margin_loss", "binary_cross_entropy_with_logits", "pdist", "cdist", "renorm", "prod", "softmax"),
    *("log_softmax", "cumprod", "cumsum", "sum", "norm", "l1_loss", "mse_loss", "nll_loss", "cross_entropy"),
}


class _OperatorAutocast(TorchFunctionMode):
    """Function mode that casts the arguments of listed operations."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self._dtype = dtype

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        to = self._dtype if name in LOWER else torch.float32 if name in FULL else None
        if name == "linear" and len(args) > 2 and args[2] is not None:  # the bias keeps its dtype
            return func(*_cast(args[:2], self._dtype)) + args[2]
        if to is not None:
            return func(*_cast(args, to), **_cast(kwargs or {}, to))
        return func(*args, **(kwargs or {}))


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype != torch.float64 else value
    if isinstance(value, (tuple, list)):
        return type(value)(_cast(part, dtype) for part in value)
    if isinstance(value, dict):
        return {name: _cast(part, dtype) for name, part in value.items()}
    return value


def autocast(network: Any, dtype: DType) -> Any:
    """Wrap a network or function so that each operation computes in the dtype of its list."""
    to = to_torch_dtype(dtype)
    construct = network.construct if isinstance(network, Cell) else network

    def computed(*args: Any, **kwargs: Any) -> Any:
        with _OperatorAutocast(to):
            return construct(*args, **kwargs)

    if not isinstance(network, Cell):
        return computed
    network.__dict__["construct"] = computed
    return network
