"""Names for other hardware: they raise an error with the reason."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import OperationError
from millrace._src.core.public import public

__all__ = ["AdaSum", "DimReduce", "GroupLossScaleManager"]


def _refuse(name: str, why: str) -> OperationError:
    return OperationError(f"'{name}' is not supported: {why}")


@public("boost")
class AdaSum:
    """Adaptive summation between servers of eight Ascend devices; not supported."""

    def __init__(self, rank: int, device_number: int, group_number: int, parameter_tuple: Any) -> None:
        raise _refuse(
            "AdaSum",
            "it sums between several servers of eight devices. nn.AdaSumByGradWrapCell sums between processes.",
        )


@public("boost")
class DimReduce:
    """Training in the principal components of earlier runs; not supported."""

    def __init__(
        self,
        network: Any,
        optimizer: Any,
        weight: Any,
        pca_mat_local: Any,
        n_components: int,
        rho: float,
        gamma: float,
        alpha: float,
        sigma: float,
        rank: int,
        rank_size: int,
    ) -> None:
        raise _refuse(
            "DimReduce",
            "its second-order steps were made for Ascend devices. Train with the optimizer itself.",
        )


@public("boost")
class GroupLossScaleManager:
    """A loss scale per part of a network; not supported, since its operation has only an Ascend kernel."""

    def __init__(self, init_loss_scale: float, loss_scale_groups: list[Any]) -> None:
        raise _refuse(
            "GroupLossScaleManager",
            "its operation exists for Ascend devices only. nn.DynamicLossScaleUpdateCell scales the whole loss.",
        )
