"""Shape inference of results, for two groups of operators.

The first group are the most common operators. PyTorch has meta kernels for these, but many are written in
Python: the first one imports for seconds, and each call takes a millisecond. A rule returns the result of the
CPU kernel as a meta tensor, or NotImplemented to use the meta kernel.

The second group are operators whose CPU kernels read beyond a tensor that is too small: callers inside
PyTorch check the shapes for them. A program from a file calls them directly, so their rules check everything
the kernel relies on.

None instead of a result means that no later call may read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["RULES"]

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
_INDEX_TYPES = (torch.int64, torch.int32)


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES.update({f"aten::{name}": rule for name in names})
        return rule

    return register


def _meta_tensor(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _broadcast(*shapes: Sequence[int]) -> list[int]:
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for axis, length in enumerate(shape, rank - len(shape)):
            if length != 1:
                _require(
                    result[axis] in (1, length), f"the shapes {[tuple(s) for s in shapes]} do not broadcast"
                )
                result[axis] = length
    return result


def _axes(dim: Sequence[int] | None, rank: int) -> list[int]:
    axes = [axis + rank if axis < 0 else axis for axis in (dim or range(rank))]
    _require(all(0 <= axis < rank for axis in axes) and len(set(axes)) == len(axes), f"wrong axes {dim}")
    return axes


# elementwise ----------------------------------------------------------------------------------------


@_rule(
    "abs", "neg", "relu", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "gelu", "silu", "mish", "erf", "sin", "cos",
    "log1p", "expm1", "reciprocal", "hardswish", "hardsigmoid", "hardtanh", "leaky_relu", "elu", "softplus", "floor",
    "ceil", "round", "clamp", "clamp_min", "clamp_max", "pow.Tensor_Scalar", "threshold",
)  # fmt: skip
def _unary(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    numbers = all(not isinstance(value, (Tensor, list)) for value in (*args, *kwargs.values()))
    return _meta_tensor(self.shape, self.dtype) if self.is_floating_point() and numbers else NotImplemented


@_rule("relu_", "tanh_", "sigmoid_", "sqrt_", "ceil_", "clamp_", "clamp_min_", "hardtanh_", "elu_", "zero_")
def _unary_inplace(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    return self if self.is_floating_point() else NotImplemented


@_rule("add.Tensor", "sub.Tensor", "mul.Tensor", "maximum", "minimum")
def _binary(self: Tensor, other: Any, **kwargs: Any) -> Any:
    dtype = torch.result_type(self, other)
    shape = other.shape if isinstance(other, Tensor) else ()
    return _meta_tensor(_broadcast(self.shape, shape), dtype) if dtype != torch.bool else NotImplemented


@_rule("div.Tensor")
def _divide(self: Tensor, other: Any) -> Any:
    return _binary(self, other) if torch.result_type(self, other).is_floating_point else NotImplemented


@_rule("add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor")
def _binary_inplace(self: Tensor, other: Any, **kwargs: Any) -> Any:
    if not isinstance(other, Tensor) or not self.is_floating_point() or other.dtype != self.dtype:
        return NotImplemented
    _require(
        _broadcast(self.shape, other.shape) == list(self.shape), "the result does not fit the first argument"
    )
    return self


@_rule(
    "eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "eq.Scalar", "ne.Scalar", "lt.Scalar",
    "le.Scalar", "gt.Scalar", "ge.Scalar",
)  # fmt: skip
def _compare(self: Tensor, other: Any) -> Tensor:
    shape = other.shape if isinstance(other, Tensor) else ()
    return _meta_tensor(_broadcast(self.shape, shape), torch.bool)


@_rule("where.self")
def _where(condition: Tensor, self: Tensor, other: Tensor) -> Any:
    if condition.dtype != torch.bool or self.dtype != other.dtype:
        return NotImplemented
    return _meta_tensor(_broadcast(condition.shape, self.shape, other.shape), self.dtype)


@_rule("masked_fill.Scalar")
def _masked_fill(self: Tensor, mask: Tensor, value: Any) -> Any:
    if mask.dtype != torch.bool or not self.is_floating_point():
        return NotImplemented
    return _meta_tensor(_broadcast(self.shape, mask.shape), self.dtype)


# matrices -------------------------------------------------------------------------------------------


def _product(a: Tensor, b: Tensor, rank: int) -> list[int]:
    _require(
        a.dim() == b.dim() == rank
        and a.dtype == b.dtype
        and a.shape[-1] == b.shape[-2]
        and a.shape[:-2] == b.shape[:-2],
        f"{tuple(a.shape)} and {tuple(b.shape)} cannot be multiplied",
    )
    return [*a.shape[:-1], b.shape[-1]]


@_rule("mm")
def _mm(self: Tensor, mat2: Tensor) -> Tensor:
    return _meta_tensor(_product(self, mat2, 2), self.dtype)


@_rule("bmm")
def _bmm(self: Tensor, mat2: Tensor) -> Tensor:
    return _meta_tensor(_product(self, mat2, 3), self.dtype)


@_rule("addmm", "baddbmm")
def _addmm(self: Tensor, a: Tensor, b: Tensor, **kwargs: Any) -> Tensor:
    shape = _product(a, b, a.dim())
    _require(
        a.dim() in (2, 3) and self.dtype == a.dtype and _broadcast(self.shape, shape) == shape,
        f"{tuple(self.shape)} cannot be added to {tuple(shape)}",
    )
    return _meta_tensor(shape, a.dtype)


@_rule("t")
def _t(self: Tensor) -> Tensor:
    return self.t()


@_rule("convolution")
def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    rank = input.dim() - 2
    sizes = [list(value) * (rank if len(value) == 1 else 1) for value in (stride, padding, dilation)]
    if transposed or rank not in (1, 2, 3) or weight.dim() != rank + 2 or input.dtype != weight.dtype:
        return NotImplemented
    _require(
        all(len(value) == rank for value in sizes)
        and min(*sizes[0], *sizes[2], groups) > 0
        and min(sizes[1]) >= 0
        and input.shape[1] == weight.shape[1] * groups
        and weight.shape[0] % groups == 0
        and min(weight.shape) > 0
        and (bias is None or (bias.shape == weight.shape[:1] and bias.dtype == weight.dtype)),
        "the arguments of the convolution do not fit",
    )
    lengths = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(input.shape[2:], weight.shape[2:], *sizes, strict=True)
    ]
    _require(min(lengths) > 0, "the kernel is larger than the input")
    return _meta_tensor([input.shape[0], weight.shape[0], *lengths], input.dtype)


# along axes -----------------------------------------------------------------------------------------


@_rule("_softmax", "_log_softmax")
def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Any:
    if half_to_float or not self.is_floating_point() or not self.dim():
        return NotImplemented
    _axes([dim], self.dim())
    return _meta_tensor(self.shape, self.dtype)


@_rule("mean.dim", "sum.dim_IntList", "amax", "amin")
def _reduce(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    if not self.is_floating_point() or not self.dim() or 0 in self.shape:
        return NotImplemented
    axes = _axes(dim, self.dim())
    lengths = [1 if axis in axes else n for axis, n in enumerate(self.shape) if keepdim or axis not in axes]
    return _meta_tensor(lengths, dtype or self.dtype)


@_rule("cat")
def _cat(tensors: list[Tensor], dim: int = 0) -> Any:
    first = tensors[0] if tensors else None
    if first is None or any(
        tensor.dtype != first.dtype or tensor.dim() != first.dim() or not tensor.dim() for tensor in tensors
    ):
        return NotImplemented
    (axis,) = _axes([dim], first.dim())
    shape = list(first.shape)
    for tensor in tensors[1:]:
        rest = list(tensor.shape)
        shape[axis] += rest[axis]
        rest[axis] = shape[axis]
        _require(rest == shape, "the tensors differ in another axis than that along which they are joined")
    return _meta_tensor(shape, first.dtype)


@_rule("embedding")
def _embedding(weight: Tensor, indices: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    _require(weight.dim() == 2 and indices.dtype in _INDEX_TYPES, "expected a table and integers")
    return _meta_tensor([*indices.shape, weight.shape[1]], weight.dtype)


@_rule("native_layer_norm")
def _layer_norm(input: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    _require(
        0 < len(shape) <= input.dim() and list(input.shape[-len(shape) :]) == shape, "wrong normalized shape"
    )
    for tensor in (weight, bias):
        if tensor is None or tensor.dtype != input.dtype:
            return NotImplemented
        _require(list(tensor.shape) == shape, "the weight has another shape than what is normalised")
    if input.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    outer = [*input.shape[: -len(shape)], *[1] * len(shape)]
    return (
        _meta_tensor(input.shape, input.dtype),
        _meta_tensor(outer, input.dtype),
        _meta_tensor(outer, input.dtype),
    )


def _windows(self: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any) -> list[int] | None:
    """The result shape of windows over the last two axes; None if another rule is needed."""
    sizes = [
        list(value) * (2 if len(value) == 1 else 1) for value in (kernel, stride or kernel, padding, dilation)
    ]
    if self.dim() not in (3, 4) or 0 in self.shape or not self.is_floating_point():
        return None
    _require(
        all(len(value) == 2 for value in sizes)
        and min(*sizes[0], *sizes[1], *sizes[3]) > 0
        and min(sizes[2]) >= 0,
        "the sizes of the window are wrong",
    )
    lengths = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(self.shape[-2:], *sizes, strict=True)
    ]
    _require(min(lengths) > 0, "the window is larger than the input")
    return [*self.shape[:-2], *lengths]


@_rule("max_pool2d_with_indices")
def _max_pool(
    self: Tensor,
    kernel: Any,
    stride: Any = (),
    padding: Any = (0,),
    dilation: Any = (1,),
    ceil_mode: bool = False,
) -> Any:
    shape = None if ceil_mode else _windows(self, kernel, stride, padding, dilation)
    return (
        NotImplemented
        if shape is None
        else (_meta_tensor(shape, self.dtype), _meta_tensor(shape, torch.int64))
    )


@_rule("avg_pool2d")
def _avg_pool(
    self: Tensor, kernel: Any, stride: Any = (), padding: Any = (0,), ceil_mode: bool = False, *args: Any
) -> Any:
    shape = None if ceil_mode else _windows(self, kernel, stride, padding, (1,))
    return NotImplemented if shape is None else _meta_tensor(shape, self.dtype)


@_rule("nll_loss_forward")
def _nll_loss(self: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> Any:
    if self.dim() != 2 or target.dtype != torch.int64 or weight is not None or not self.is_floating_point():
        return NotImplemented
    _require(list(target.shape) == [self.shape[0]], "expected a label for each row")
    return _meta_tensor([] if reduction else target.shape, self.dtype), _meta_tensor([], self.dtype)


@_rule("index_select")
def _index_select(self: Tensor, dim: int, index: Tensor) -> Any:
    if not self.dim() or index.dim() != 1 or index.dtype not in _INDEX_TYPES:
        return NotImplemented
    (axis,) = _axes([dim], self.dim())
    return _meta_tensor([*self.shape[:axis], index.shape[0], *self.shape[axis + 1 :]], self.dtype)


# operators whose kernels rely on checks of their callers ----------------------------------------------


@_rule("native_batch_norm")
def _batch_norm(
    input: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> Any:
    _require(input.dim() >= 2 and input.is_floating_point(), "expected an input with channels")
    channels = input.shape[1]
    parameters = [tensor for tensor in (weight, bias, mean, var) if tensor is not None]
    _require(
        all(list(tensor.shape) == [channels] and tensor.is_floating_point() for tensor in parameters)
        and len({tensor.dtype for tensor in parameters}) <= 1
        and all(tensor.dtype in (input.dtype, torch.float32) for tensor in parameters)
        and (training or (mean is not None and var is not None))
        and (mean is None) == (var is None)
        and (not training or (input.numel() > 0)),
        f"expected weights and statistics of {channels} channels",
    )
    statistics = torch.float32 if input.dtype in (torch.float16, torch.bfloat16) else input.dtype
    if parameters and parameters[0].dtype != input.dtype:
        statistics = parameters[0].dtype
    sizes = [channels] if training else [0]
    return (
        _meta_tensor(input.shape, input.dtype),
        _meta_tensor(sizes, statistics),
        _meta_tensor(sizes, statistics),
    )


@_rule("native_group_norm")
def _group_norm(
    input: Tensor, weight: Any, bias: Any, rows: int, channels: int, inner: int, group: int, eps: float
) -> Any:
    _require(
        input.dim() >= 2
        and list(input.shape[:2]) == [rows, channels]
        and math.prod(input.shape[2:]) == inner
        and group > 0
        and channels % group == 0
        and all(tensor is None or list(tensor.shape) == [channels] for tensor in (weight, bias)),
        "the arguments of the normalisation do not fit",
    )
    return NotImplemented


@_rule("mkldnn_rnn_layer")
def _rnn_layer(
    input: Tensor, weight0: Tensor, weight1: Tensor, weight2: Tensor, weight3: Tensor, hx: Tensor, cx: Tensor,
    reverse: bool, batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool,
    bidirectional: bool, batch_first: bool, train: bool,
) -> Any:  # fmt: skip
    gates = 4 * hidden_size
    tensors = (input, weight0, weight1, weight2, weight3, hx, cx)
    _require(
        mode == 2
        and 1 <= num_layers <= 64
        and not batch_sizes
        and not train
        and hidden_size > 0
        and input.dim() == 3
        and min(input.shape) > 0
        and all(tensor.dtype == torch.float32 for tensor in tensors)
        and list(weight0.shape) == [gates, input.shape[2]]
        and list(weight1.shape) == [gates, hidden_size]
        # without biases the kernel does not read the last two
        and (not has_biases or list(weight2.shape) == list(weight3.shape) == [gates])
        and all(list(tensor.shape)[-2:] == [input.shape[1], hidden_size] for tensor in (hx, cx))
        and all(tensor.numel() == input.shape[1] * hidden_size for tensor in (hx, cx)),
        "the weights and states of the recurrent layer do not fit",
    )
    return (
        _meta_tensor([*input.shape[:2], hidden_size], input.dtype),
        _meta_tensor(hx.shape, hx.dtype),
        _meta_tensor(cx.shape, cx.dtype),
        None,
    )


@_rule("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    query: Tensor, key: Tensor, value: Tensor, *args: Any, attn_mask: Any = None, **kwargs: Any
) -> Any:
    _require(
        query.dim() == key.dim() == value.dim() == 4
        and query.dtype == key.dtype == value.dtype
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.shape[3] == key.shape[3] == value.shape[3]
        and key.shape[2] == value.shape[2]
        and min(*query.shape, *key.shape) > 0,
        "query, key and value do not fit",
    )
    scores = [*query.shape[:3], key.shape[2]]
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 4)
            and attn_mask.dtype in (query.dtype, torch.float32)
            and list(attn_mask.shape[-2:]) == scores[-2:]
            and _broadcast(attn_mask.shape, scores) == scores,
            "the mask does not fit the scores",
        )
    return NotImplemented


@_rule("_fft_c2c")
def _fft_c2c(self: Tensor, dim: list[int], normalization: int, forward: bool) -> Any:
    return _fft(self, dim, normalization, True)


@_rule("_fft_r2c")
def _fft_r2c(self: Tensor, dim: list[int], normalization: int, onesided: bool) -> Any:
    return _fft(self, dim, normalization, False)


@_rule("_fft_c2r")
def _fft_c2r(self: Tensor, dim: list[int], normalization: int, last_dim_size: int) -> Any:
    output = _fft(self, dim, normalization, True)
    _require(
        last_dim_size > 0 and self.shape[dim[-1]] == last_dim_size // 2 + 1,
        "the length of the signal is wrong",
    )
    return output


def _fft(self: Tensor, dim: list[int], normalization: int, is_complex: bool) -> Any:
    _require(
        bool(dim)
        and len(_axes(dim, self.dim())) == len(dim)
        and 0 <= normalization <= 2
        and self.is_complex() == is_complex
        and min(self.shape) > 0,
        "the axes of the transform are wrong",
    )
    return NotImplemented


@_rule("rrelu_with_noise")
def _rrelu(self: Tensor, noise: Tensor, *args: Any, **kwargs: Any) -> Any:
    _require(
        self.shape == noise.shape and self.dtype == noise.dtype, "the noise has another shape than the input"
    )
    return NotImplemented
