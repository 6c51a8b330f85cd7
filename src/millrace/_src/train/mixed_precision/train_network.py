"""``build_train_network``: training step of a network with loss, optimizer and mixed precision."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import DType, float16, float32
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.loss_scale import TrainOneStepWithLossScaleCell
from millrace._src.runtime.nn.network_wrappers import TrainOneStepCell, WithLossCell
from millrace._src.runtime.ops.framework.composite import mixed_precision_cast

from .amp_levels import LEVELS, CastOutput, auto_mixed_precision, cast_network
from .cast_lists import BLACK
from .loss_scale_manager import DynamicLossScaleManager, LossScaleManager

__all__ = ["build_train_network", "check_level"]

OPTIONS = ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager")
BOOSTS = ("O0", "O1", "O2")


def check_level(level: Any) -> str:
    """Check a mixed precision level."""
    if level not in LEVELS:
        raise ArgumentValueError(f"The 'level' should be in : {list(LEVELS)}, but got {level}.")
    return str(level)


@public("train", "amp", "millrace")
def build_train_network(
    network: Any,
    optimizer: Any,
    loss_fn: Any = None,
    level: str = "O0",
    boost_level: str = "O0",
    **kwargs: Any,
) -> Any:
    """Build a training step cell: `network` with loss and optimizer in the precision of `level`.

    `keep_batchnorm_fp32`, `cast_model_type` and `loss_scale_manager` override the level. O2 uses a dynamic loss scale
    by default. `boost_level` is accepted and ignored.

    >>> from millrace import Tensor, nn
    >>> net = nn.Dense(2, 1)
    >>> step = build_train_network(net, nn.SGD(net.trainable_params()), nn.MSELoss(), level="O2")
    >>> [type(made).__name__ for made in step(Tensor([[1.0, 2.0]]), Tensor([[1.0]]))]
    ['Tensor', 'Tensor', 'Tensor']
    """
    if not isinstance(network, Cell):
        raise ArgumentTypeError(f"For amp_level '{level}', the network type should be Cell.")
    if not isinstance(optimizer, Cell) or not hasattr(optimizer, "parameters"):
        raise ArgumentTypeError(
            "The type of 'optimizer' should be one of '['Optimizer', 'FreezeOpt', 'AdaSumByGradWrapCell', "
            f"'AdaSumByDeltaWeightWrapCell']', but got type '{type(optimizer).__name__}'."
        )
    check_level(level)
    if boost_level not in BOOSTS:
        raise ArgumentValueError(f"The 'boost_level' should be in : {list(BOOSTS)}, but got {boost_level}.")
    for name in kwargs:
        if name not in OPTIONS:
            raise ArgumentValueError(f"Unsupported arg '{name}'")
    keep = kwargs.get("keep_batchnorm_fp32")
    if keep is not None:
        check_argument_type(keep, "keep_batchnorm_fp32", "build_train_network", bool)
    manager = kwargs.get("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    if manager is not None and not isinstance(manager, LossScaleManager):
        raise ArgumentTypeError(
            "The type of 'loss_scale_manager' should be one of '['NoneType', 'LossScaleManager']', but got type "
            f"'{type(manager).__name__}'."
        )
    changed = _cast_to_level(network, level, keep, kwargs.get("cast_model_type"))
    with_loss = _with_loss(changed, loss_fn, lower=changed is not network or level in ("O2", "O3", "auto"))
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return TrainOneStepWithLossScaleCell(with_loss, optimizer, update).set_train()
    scale = None if manager is None else manager.get_loss_scale()
    return TrainOneStepCell(with_loss, optimizer, scale).set_train()


def _cast_to_level(network: Cell, level: str, keep: bool | None, to: DType | None) -> Cell:
    """Cast the network by its level and overriding options."""
    if level in ("O2", "O3"):
        whole = (keep is False) if level == "O2" else not keep
        return cast_network(network, to or float16, [] if whole else BLACK)
    if level == "O0" and to is not None and to != float32:
        return cast_network(network, to, BLACK if keep else [])
    converted: Cell = auto_mixed_precision(network, level)
    return converted


def _with_loss(network: Cell, loss_fn: Any, lower: bool) -> Cell:
    if loss_fn is None:
        return CastOutput(network) if lower else network
    return _WithFullLoss(network, loss_fn) if lower else WithLossCell(network, loss_fn)


class _WithFullLoss(WithLossCell):
    """A network with its loss, which is computed in float32."""

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._backbone(data)
        return self._loss_fn(mixed_precision_cast(float32, outputs), mixed_precision_cast(float32, label))
