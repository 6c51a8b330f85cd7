"""Adam, AdamW and SGD with PyTorch's arguments and PyTorch's formulas."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_kind
from millrace._src.runtime.optim.optim_adam import _ParamGroupAdam
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["MintAdam", "MintAdamW"]


class _MintAdamBase(_ParamGroupAdam):
    """The moments; the largest one is kept beside the groups, as MindSpore has it."""

    # the number that the count of steps begins with, and what is added to it for the formula
    begins = 0.0

    def _start(
        self, params: Any, lr: Any, betas: Any, eps: Any, weight_decay: Any, amsgrad: Any, maximize: Any
    ) -> None:
        owner = type(self).__name__
        check_kind(betas, "betas", owner, tuple)
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
            check_kind(value, name, owner, float)
        check_kind(amsgrad, "amsgrad", owner, bool)
        check_kind(maximize, "maximize", owner, bool)
        self._begin(params, lr, betas, eps, weight_decay, amsgrad, maximize)

    def _keep(self) -> None:
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")
        self.state_step = Parameter(Tensor([self.begins]), "state_step")
        largest: list[Parameter] = []
        for group in self.param_groups:
            if group["amsgrad"]:
                own = self.parameters[len(largest) : len(largest) + len(group["params"])]
                group["max_exp_avg_sq"] = [param.clone("zeros") for param in own]
                for kept, param in zip(group["max_exp_avg_sq"], own, strict=True):
                    kept.name = f"max_exp_avg_sq.{param.name}"
                largest += group["max_exp_avg_sq"]
            else:
                largest += self.exp_avg_sq[len(largest) : len(largest) + len(group["params"])]
        self.max_exp_avg_sq = largest  # type: ignore[assignment]

    def step_number(self) -> torch.Tensor:
        return super().step_number() - self.begins


@public("mint.optim:Adam")
class MintAdam(_MintAdamBase):
    """Adam as PyTorch has it: `eps` stands inside of the correction of the moments.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> MintAdam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
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
        self._start(params, lr, betas, eps, weight_decay, amsgrad, maximize)


@public("mint.optim:AdamW")
class MintAdamW(_MintAdamBase):
    """Adam with weight decay apart from the gradient, as PyTorch has it.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> MintAdamW([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    decays_gradients = False
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
        self._start(params, lr, betas, eps, weight_decay, amsgrad, maximize)
