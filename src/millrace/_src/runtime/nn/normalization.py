"""Normalization layers: batch, layer, group, instance and local response."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.distributed.process_groups import create_group
from millrace._src.runtime.ops.array.reshape import reshape
from millrace._src.runtime.ops.collective.sync_batch_norm import sync_batch_norm
from millrace._src.runtime.ops.nn import normalization
from millrace._src.runtime.ops.nn.normalization import group_norm, lrn
from millrace._src.runtime.tensor.initializer import initializer
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import wrap

from .argument_types import check_argument_type, check_bool, check_choice, check_number, check_positive_int
from .cell import Cell

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LRN",
    "LayerNorm",
    "SyncBatchNorm",
]


def _channels(value: Any, owner: str) -> int:
    check_argument_type(value, "num_features", owner, int)
    if value < 1:
        raise ArgumentValueError(f"For '{owner}', the 'num_features' must be at least 1, but got {value}.")
    return int(value)


def _check_momentum(value: Any, owner: str) -> float:
    check_number(value, "momentum", owner)
    if not 0 <= value <= 1:
        raise ArgumentValueError(
            f"For '{owner}', the 'momentum' must be a number in range [0, 1], but got {value}."
        )
    return float(value)


def _epsilon(value: Any, owner: str) -> float:
    check_number(value, "eps", owner)
    if not 0 < value <= 1:
        raise ArgumentValueError(f"For '{owner}', the 'eps' must be in (0, 1], but got {value}.")
    return float(value)


class _BatchNorm(Cell):
    """Base class of batch normalization. Statistics are written in place, also in a captured graph."""

    ndims: tuple[int, ...] = ()
    keep_parameter_dtype = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        shape = (_channels(num_features, owner),)
        self.num_features, self.eps, self.momentum = num_features, _epsilon(eps, owner), momentum
        self.share = 1 - _check_momentum(momentum, owner)
        self.data_format = check_choice(data_format, "format", owner, ["NCHW", "NHWC"])
        if use_batch_statistics is not None:
            check_bool(use_batch_statistics, "use_batch_statistics", owner)
        self.use_batch_statistics = use_batch_statistics
        self.moving_mean = Parameter(initializer(moving_mean_init, shape, dtype), "mean", requires_grad=False)
        self.moving_variance = Parameter(
            initializer(moving_var_init, shape, dtype), "variance", requires_grad=False
        )
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), "gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, shape, dtype), "beta", requires_grad=affine)

    def construct(self, x: Any) -> Any:
        if x.ndim not in self.ndims:
            raise ArgumentValueError(
                f"For '{type(self).__name__}', the input must have {' or '.join(map(str, self.ndims))} axes, "
                f"but its shape is {x.shape}."
            )
        by_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        return normalization.batch_norm_nd(
            x,
            self.gamma,
            self.beta,
            self.moving_mean,
            self.moving_variance,
            by_batch,
            self.share,
            self.eps,
            self.data_format,
        )

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma!r}, "
            f"beta={self.beta!r}, moving_mean={self.moving_mean!r}, moving_variance={self.moving_variance!r}"
        )


@public("nn")
class BatchNorm1d(_BatchNorm):
    """Batch normalization of (N, C) or (N, C, L)."""

    ndims = (2, 3)


@public("nn")
class BatchNorm2d(_BatchNorm):
    """Batch normalization of (N, C, H, W).

    Training uses the statistics of the batch and updates the moving statistics with weight 1 - `momentum`.

    >>> [p.name for p in BatchNorm2d(3).trainable_params()]
    ['gamma', 'beta']
    """

    ndims = (4,)


@public("nn")
class SyncBatchNorm(_BatchNorm):
    """BatchNorm2d over the batches of all processes; with one process, over its batch.

    `process_groups` are lists of ranks with separate statistics: ``[[0, 1], [2, 3]]``. All processes must
    create the layer, since they create the groups together.

    >>> from millrace import ops
    >>> SyncBatchNorm(3)(ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    ndims = (2, 4)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        process_groups: Any = None,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
            use_batch_statistics, "NCHW", dtype,
        )  # fmt: skip
        self.process_groups = process_groups
        self._group = WORLD_GROUP if process_groups is None else _group_of(process_groups)

    def construct(self, x: Any) -> Any:
        by_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        alone = groups.world_group() is None or groups.get_group(self._group).size == 1
        if alone or not by_batch or x.ndim not in self.ndims:
            return super().construct(x)
        return wrap(
            sync_batch_norm(
                x._torch,
                self.gamma._torch,
                self.beta._torch,
                self.moving_mean._torch,
                self.moving_variance._torch,
                self.share,
                self.eps,
                self._group,
            )
        )


def _group_of(process_groups: Any) -> str:
    """The group of this process among lists of ranks; missing groups are created."""
    rows = process_groups
    if not isinstance(rows, (list, tuple)) or not all(
        isinstance(ranks_of_group, (list, tuple)) for ranks_of_group in rows
    ):
        raise ArgumentTypeError(
            f"For 'SyncBatchNorm', 'process_groups' must be a list of lists of ranks, but got {rows!r}."
        )
    ranks = [rank for ranks_of_group in rows for rank in ranks_of_group]
    if len(set(ranks)) != len(ranks):
        raise ArgumentValueError(
            f"For 'SyncBatchNorm', a rank may be in one of 'process_groups' only, but got {rows!r}."
        )
    world = groups.get_group(WORLD_GROUP, "SyncBatchNorm")
    group_name = ""
    for ranks_of_group in rows:
        name = "sync_bn_" + "_".join(map(str, ranks_of_group))
        if name not in groups.group_names():
            create_group(name, list(ranks_of_group))
        if world.rank in ranks_of_group:
            group_name = name
    if not group_name:
        raise ArgumentValueError(
            f"For 'SyncBatchNorm', rank {world.rank} is in none of 'process_groups' {rows!r}."
        )
    return group_name


@public("nn")
class BatchNorm3d(Cell):
    """Batch normalization of (N, C, D, H, W).

    The parameters belong to its child ``bn2d``, as in MindSpore.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        self.bn2d = BatchNorm2d(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
            use_batch_statistics, "NCHW", dtype,
        )  # fmt: skip

    def construct(self, input_x: Any) -> Any:
        if input_x.ndim != 5:
            raise ArgumentValueError(
                f"For 'BatchNorm3d', the input must have 5 axes, but its shape is {input_x.shape}."
            )
        batch, channels, depth, height, width = input_x.shape
        flat = reshape(input_x, (batch, channels, depth * height, width))
        return reshape(self.bn2d(flat), input_x.shape)


class _InstanceNorm(Cell):
    """Base class of instance normalization."""

    count = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        shape = (_channels(num_features, owner),)
        self.num_features, self.eps = num_features, _epsilon(eps, owner)
        self.momentum = momentum
        _check_momentum(momentum, owner)
        check_bool(affine, "affine", owner)
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), "gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, shape, dtype), "beta", requires_grad=affine)

    def construct(self, x: Any) -> Any:
        return normalization.instance_norm_nd(x, self.gamma, self.beta, self.count, self.eps)

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma!r}, beta={self.beta!r}"
        )


@public("nn")
class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of (N, C, L)."""

    count = 1


@public("nn")
class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of (N, C, H, W)."""

    count = 2


@public("nn")
class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of (N, C, D, H, W)."""

    count = 3


@public("nn")
class LayerNorm(Cell):
    """Layer normalization of the last axes.

    >>> [p.name for p in LayerNorm([4]).get_parameters()]
    ['gamma', 'beta']
    """

    def __init__(
        self,
        normalized_shape: Any,
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            raise ArgumentTypeError(
                "For 'LayerNorm', the type of 'normalized_shape' must be tuple[int] or list[int], "
                f"but got {normalized_shape} and the type is {type(normalized_shape)}."
            )
        if not normalized_shape:
            raise ArgumentValueError(
                "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
                f"but got normalized_shape = {normalized_shape}"
            )
        check_argument_type(begin_norm_axis, "begin_norm_axis", "LayerNorm", int)
        check_argument_type(begin_params_axis, "begin_params_axis", "LayerNorm", int)
        self.normalized_shape, self.epsilon = normalized_shape, epsilon
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        shape = tuple(normalized_shape)
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, shape, dtype), name="beta")

    def construct(self, input_x: Any) -> Any:
        return normalization.layer_norm_nd(
            input_x, self.gamma, self.beta, self.begin_norm_axis, self.begin_params_axis, self.epsilon
        )

    def extend_repr(self) -> str:
        # "gamma" without "=" is how MindSpore prints it
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma{self.gamma!r}, beta={self.beta!r}"
        )


@public("nn")
class GroupNorm(Cell):
    """Group normalization of channels.

    >>> GroupNorm(2, 6)
    GroupNorm(num_groups=2, num_channels=6)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        self.num_groups = check_positive_int(num_groups, "num_groups", "GroupNorm")
        self.num_channels = check_positive_int(num_channels, "num_channels", "GroupNorm")
        if num_channels % num_groups:
            raise ArgumentValueError(
                "For 'GroupNorm', the 'num_channels' must be divided by 'num_groups', "
                f"but got 'num_channels': {num_channels}, 'num_groups': {num_groups}."
            )
        self.eps = check_number(eps, "eps", "GroupNorm")
        check_bool(affine, "affine", "GroupNorm")
        shape = (num_channels,)
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), "gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, shape, dtype), "beta", requires_grad=affine)

    def construct(self, x: Any) -> Any:
        return group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


@public("nn")
class LRN(Cell):
    """Local response normalization over neighboring channels of (N, C, H, W)."""

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:
        super().__init__()
        check_choice(norm_region, "norm_region", "LRN", ["ACROSS_CHANNELS"])
        self.arguments = (depth_radius, bias, alpha, beta, norm_region)

    def construct(self, input_x: Any) -> Any:
        return lrn(input_x, *self.arguments)
