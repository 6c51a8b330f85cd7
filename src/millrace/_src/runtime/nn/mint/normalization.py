"""Normalization layers of ``mint.nn``, with PyTorch's parameter names and momentum."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_bool, check_positive_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.array.assign import assign_add
from millrace._src.runtime.ops.nn import normalization
from millrace._src.runtime.ops.nn.normalization import group_norm, layer_norm
from millrace._src.runtime.tensor.initializer import initializer
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNormExt", "SyncBatchNorm"]


class _MintBatchNorm(Cell):
    """Base class of batch normalization."""

    ndims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        shape = (check_positive_int(num_features, "num_features", owner),)
        parameter_dtype = dtype or mstype.float32
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine = check_bool(affine, "affine", owner)
        self.track_running_stats = check_bool(track_running_stats, "track_running_stats", owner)

        def parameter(value: str, name: str, trained: bool) -> Parameter:
            return Parameter(initializer(value, shape, parameter_dtype), name=name, requires_grad=trained)

        self.weight = parameter("ones", "weight", True) if affine else None
        self.bias = parameter("zeros", "bias", True) if affine else None
        self.running_mean = parameter("zeros", "running_mean", False) if track_running_stats else None
        self.running_var = parameter("ones", "running_var", False) if track_running_stats else None
        self.num_batches_tracked = (
            Parameter(Tensor(0, mstype.int64), name="num_batches_tracked", requires_grad=False)
            if track_running_stats
            else None
        )

    def construct(self, input: Any) -> Any:
        if input.ndim not in self.ndims:
            raise ArgumentValueError(
                f"For '{type(self).__name__}', the input must have {' or '.join(map(str, self.ndims))} axes, "
                f"but its shape is {input.shape}."
            )
        share = 0.0 if self.momentum is None else self.momentum
        counted = self.num_batches_tracked
        if self.training and counted is not None:
            assign_add(counted, 1)
            if self.momentum is None:  # cumulative average
                share = 1.0 / counted.item()
        by_batch = self.training or not self.track_running_stats
        return normalization.batch_norm_nd(
            input, self.weight, self.bias, self.running_mean, self.running_var, by_batch, share, self.eps
        )

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


@public("mint.nn")
class BatchNorm1d(_MintBatchNorm):
    """Batch normalization of (N, C) or (N, C, L)."""

    ndims = (2, 3)


@public("mint.nn")
class BatchNorm2d(_MintBatchNorm):
    """Batch normalization of (N, C, H, W).

    >>> [p.name for p in BatchNorm2d(3).trainable_params()]
    ['weight', 'bias']
    """

    ndims = (4,)


@public("mint.nn")
class BatchNorm3d(_MintBatchNorm):
    """Batch normalization of (N, C, D, H, W)."""

    ndims = (5,)


@public("mint.nn")
class SyncBatchNorm(_MintBatchNorm):
    """Batch normalization over the batches of all processes; with one process, over its batch."""

    ndims = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)
        self.process_group = process_group


@public("mint.nn")
class GroupNorm(Cell):
    """Group normalization of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_groups = check_positive_int(num_groups, "num_groups", "GroupNorm")
        self.num_channels = check_positive_int(num_channels, "num_channels", "GroupNorm")
        if num_channels % num_groups:
            raise ArgumentValueError(
                "For 'GroupNorm', the 'num_channels' must be divided by 'num_groups', "
                f"but got 'num_channels': {num_channels}, 'num_groups': {num_groups}."
            )
        self.eps, self.affine = eps, check_bool(affine, "affine", "GroupNorm")
        shape, parameter_dtype = (num_channels,), dtype or mstype.float32
        self.weight = Parameter(
            initializer("ones", shape, parameter_dtype), name="weight", requires_grad=affine
        )
        self.bias = Parameter(initializer("zeros", shape, parameter_dtype), name="bias", requires_grad=affine)

    def construct(self, input: Any) -> Any:
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}, affine={self.affine}"


@public("nn", "mint.nn:LayerNorm")
class LayerNormExt(Cell):
    """LayerNorm with PyTorch's arguments and parameter names."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        parameter_dtype = dtype or mstype.float32
        self.weight = (
            Parameter(initializer("ones", shape, parameter_dtype), name="weight")
            if elementwise_affine
            else None
        )
        with_bias = elementwise_affine and bias
        self.bias = (
            Parameter(initializer("zeros", shape, parameter_dtype), name="bias") if with_bias else None
        )

    def construct(self, input: Any) -> Any:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )
