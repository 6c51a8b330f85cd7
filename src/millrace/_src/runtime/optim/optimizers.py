"""Adam and AdamW with PyTorch's arguments and formulas (``mint.optim``)."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.optim_adam import _ParamGroupAdam
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["MintAdam", "MintAdamW"]


class _MintAdamBase(_ParamGroupAdam):
    """Adam states; the largest second moment is stored in the groups, as in MindSpore."""

    # the initial value of the step counter, which is subtracted in the formula
    begins = 0.0

    def _initialize_states(
        self, params: Any, lr: Any, betas: Any, eps: Any, weight_decay: Any, amsgrad: Any, maximize: Any
    ) -> None:
        owner = type(self).__name__
        check_argument_type(betas, "betas", owner, tuple)
        if len(betas) != 2:
            raise ArgumentValueError(f"For '{owner}', the betas size must be in [2], but got {len(betas)}.")
        numbers = {
            "betas[0]": betas[0],
            "betas[1]": betas[1],
            "eps": eps,
            "weight_decay": weight_decay,
            "lr": lr,
        }
        for name, value in numbers.items():
            check_argument_type(value, name, owner, float)
        check_argument_type(amsgrad, "amsgrad", owner, bool)
        check_argument_type(maximize, "maximize", owner, bool)
        self._begin(params, lr, betas, eps, weight_decay, amsgrad, maximize)

    def _create_states(self) -> None:
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")
        self.state_step = Parameter(Tensor([self.begins]), "state_step")
        largest: list[Parameter] = []
        for group in self.param_groups:
            if group["amsgrad"]:
                group_params = self.parameters[len(largest) : len(largest) + len(group["params"])]
                group["max_exp_avg_sq"] = [param.clone("zeros") for param in group_params]
                for kept, param in zip(group["max_exp_avg_sq"], group_params, strict=True):
                    kept.name = f"max_exp_avg_sq.{param.name}"
                largest += group["max_exp_avg_sq"]
            else:
                largest += self.exp_avg_sq[len(largest) : len(largest) + len(group["params"])]
        self.max_exp_avg_sq = largest  # type: ignore[assignment]

    def step_number(self) -> torch.Tensor:
        return super().step_number() - self.begins


@public("mint.optim:Adam")
@public_name("Adam")
class MintAdam(_MintAdamBase):
    """PyTorch's Adam: `eps` is inside of the bias correction.

    >>> from millrace.mint.optim import Adam
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self._initialize_states(params, lr, betas, eps, weight_decay, amsgrad, maximize)


@public("mint.optim:AdamW")
@public_name("AdamW")
class MintAdamW(_MintAdamBase):
    """PyTorch's AdamW: Adam with decoupled weight decay.

    >>> from millrace.mint.optim import AdamW
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> AdamW([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    has_coupled_weight_decay = False
    begins = -1.0

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self._initialize_states(params, lr, betas, eps, weight_decay, amsgrad, maximize)
