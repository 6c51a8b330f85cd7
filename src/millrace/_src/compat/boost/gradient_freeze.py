"""Training with frozen first layers in some steps."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.containers import CellList, Identity
from millrace._src.runtime.nn.network_wrappers import TrainOneStepCell
from millrace._src.runtime.ops.framework.composite import depend
from millrace._src.runtime.optim.lars import LARS
from millrace._src.runtime.optim.optimizer import Optimizer
from millrace._src.runtime.tensor.rng_state import initializer_generator

from .gradient_accumulation import GradientAccumulation
from .optimizer_groups import ParameterProcess, rebuild_optimizer

__all__ = ["FreezeOpt", "GradientFreeze", "freeze_cell"]

CONTINUOUS_STRATEGY, INTERVAL_STRATEGY = 0, 1


@public("boost")
class FreezeOpt(Cell):
    """One optimizer per parameter group; `train_strategy` selects the optimizer of each step.

    >>> from millrace import nn
    >>> net = nn.SequentialCell(nn.Dense(2, 2), nn.Dense(2, 2))
    >>> groups = [net.trainable_params(), net.trainable_params()[2:]]
    >>> freezing = FreezeOpt(nn.Momentum(net.trainable_params(), 0.1, 0.9), groups, [0, 1])
    >>> [len(opt.parameters) for opt in freezing.opts]
    [4, 2]
    """

    def __init__(self, opt: Any, train_parameter_groups: Any = None, train_strategy: Any = None) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(opt, Optimizer):
            raise ArgumentTypeError(f"The first arg 'opt' must be an Optimizer instance, but got {type(opt)}")
        if train_strategy is not None and train_parameter_groups is None:
            raise ArgumentValueError(
                "When the 'train_strategy' is specified, the value of 'train_parameter_groups' must also be specified"
            )
        inner = opt.opt if isinstance(opt, LARS) else opt
        self.is_lars, self.opt_class = isinstance(opt, LARS), type(inner)
        self.opt_init_args, self.learning_rate = inner.init_args, inner.init_learning_rate
        self.__dict__["parameters"] = inner.parameters
        groups = [list(inner.parameters)] if train_parameter_groups is None else train_parameter_groups
        if not isinstance(groups, (tuple, list)):
            raise ArgumentTypeError("The specified 'train_parameter_groups' should be tuple or list")
        if not all(isinstance(group, (tuple, list)) for group in groups):
            raise ArgumentTypeError(
                "The each element of 'train_parameter_groups' should be tuple or list to store the Parameter"
            )
        self.groups_num = len(groups)
        self.train_strategy = _check_strategy(train_strategy, len(groups))
        optimizers = []
        for number, group in enumerate(groups):
            each = rebuild_optimizer(opt, list(group), self._rate(number))
            parameter_ids = {id(parameter) for parameter in inner.parameters}
            for parameter in each.get_parameters():
                if id(parameter) not in parameter_ids:
                    parameter.name = f"boost_{number}{parameter.name}"
            optimizers.append(each)
        self.opts = CellList(optimizers, auto_prefix=False)

    def _rate(self, number: int) -> Any:
        """For dynamic learning rates, the rates of the steps that train a group."""
        rates = self.learning_rate
        if (
            self.train_strategy is None
            or not isinstance(rates, list)
            or len(rates) > len(self.train_strategy)
        ):
            return rates
        chosen = [
            rate for rate, group in zip(rates, self.train_strategy.asnumpy(), strict=False) if group == number
        ]
        return chosen or rates


def _check_strategy(strategy: Any, groups: int) -> Tensor | None:
    if strategy is None:
        return None
    if isinstance(strategy, (tuple, list)):
        if not all(isinstance(each, int) for each in strategy):
            raise ArgumentValueError("The element in train_strategy should be int number")
        strategy = Tensor(list(strategy), int32)
    elif not isinstance(strategy, Tensor):
        raise ArgumentTypeError("The specified 'train_strategy' should be None, tuple, list or Tensor")
    if strategy.ndim != 1 or strategy.dtype != int32:
        raise ArgumentValueError(
            "When train_strategy is a Tensor, the dimension should be 1 and the dtype should be int32"
        )
    array = strategy.asnumpy()
    if array.size == 0 or array.min() < 0 or array.max() >= groups:
        raise ArgumentValueError(
            f"The elements of train_strategy must be in [0, {groups}), but got {array.tolist()}."
        )
    return strategy


@public("boost")
class GradientFreeze:
    """Splits the parameters of a network into nested groups and schedules which group each step trains.

    `freeze_type` 0 freezes more and more layers, then none; 1 samples the group. `freeze_p` is the share of steps that
    freeze nothing.

    >>> GradientFreeze(3, 0, 0.5, 6).generate_freeze_index_sequence(3, 0, 0.5, 6)
    [0, 0, 1, 2, 0, 0, 1, 2]
    """

    def __init__(self, param_groups: int, freeze_type: int, freeze_p: float, total_steps: int) -> None:
        self._param_groups, self._freeze_type = param_groups, freeze_type
        self._freeze_p, self._total_steps = freeze_p, total_steps
        self.grad_reducer = Identity()

    def split_parameters_groups(self, net: Any, freeze_para_groups_number: int) -> list[list[Any]]:
        """Nested groups: all parameters, then all but the first layers, and so on."""
        layers: list[list[Any]] = []
        layer: list[Any] = []
        for each in net.trainable_params():
            if layer and len(layer) >= 3 and "bn" not in each.name and "bias" not in each.name:
                layers.append(layer)
                layer = []
            layer = [*layer, each]
        layers = [*layers, layer] if layer else layers
        stride = len(layers) // freeze_para_groups_number
        return [
            [each for part in layers[number * stride :] for each in part]
            for number in range(freeze_para_groups_number)
        ]

    def generate_freeze_index_sequence(
        self, parameter_groups_number: int, freeze_strategy: int, freeze_p: float, total_steps: int
    ) -> list[int]:
        """The trained group of each step."""
        total = int(total_steps * 1.01)
        if parameter_groups_number <= 1:
            return [0] * total
        later_groups = list(range(1, parameter_groups_number))
        if freeze_strategy == CONTINUOUS_STRATEGY:
            if not 0 <= freeze_p < 1:
                raise ArgumentValueError(f"The 'freeze_p' must be in [0, 1), but got {freeze_p}.")
            turn = [0] * int(freeze_p * len(later_groups) // (1 - freeze_p) + 0.5) + later_groups
            return turn * -(-total // len(turn))
        if freeze_strategy != INTERVAL_STRATEGY:
            raise ArgumentValueError(f"Unsupported freezing training strategy '{freeze_strategy}'")
        weights = torch.tensor(
            later_groups[::-1], dtype=torch.float64
        )  # groups with fewer frozen layers are more likely
        sequence, frozen = [0], 0
        while len(sequence) < total:
            if frozen / len(sequence) < 1 - freeze_p:
                sequence.append(
                    later_groups[int(torch.multinomial(weights, 1, generator=initializer_generator()))]
                )
                frozen += 1
            else:
                sequence.append(0)
        return sequence

    def freeze_generate(self, network: Any, optimizer: Any) -> tuple[Any, FreezeOpt]:
        """The network and the freezing optimizer."""
        inner = optimizer.opt if isinstance(optimizer, LARS) else optimizer
        groups = [
            ParameterProcess.generate_group_params(group, inner.init_params["params"])
            for group in self.split_parameters_groups(network, self._param_groups)
        ]
        steps = self.generate_freeze_index_sequence(
            self._param_groups, self._freeze_type, self._freeze_p, self._total_steps
        )
        return network, FreezeOpt(optimizer, groups, steps)


class _TrainFreezeCell(TrainOneStepCell):
    """A training step for one of the optimizers."""

    def __init__(self, network: Any, optimizer: Any, sens: Any, accumulate: int) -> None:
        gathering = GradientAccumulation(accumulate, optimizer) if accumulate > 1 else None
        super().__init__(network, optimizer, sens)
        self.gathering = gathering

    def construct(self, *inputs: Any) -> Any:
        loss, grads = self._loss_and_gradients(inputs, self._sens() if self.sense_flag else None)
        grads = self.grad_reducer(grads)
        return depend(loss, self.optimizer(grads) if self.gathering is None else self.gathering(loss, grads))


@public("boost")
def freeze_cell(
    reducer_flag: bool,
    network: Any,
    optimizer: FreezeOpt,
    sens: Any,
    grad: Any,
    use_grad_accumulation: bool,
    mean: Any = None,
    degree: Any = None,
    max_accumulation_step: int = 1,
) -> tuple[Any, ...]:
    """One training step cell per optimizer.

    Gradients of other processes are added as in TrainOneStepCell; `reducer_flag`, `grad`, `mean` and `degree`
    change nothing.

    >>> from millrace import nn
    >>> net = nn.WithLossCell(nn.Dense(2, 2), nn.MSELoss())
    >>> freezing = FreezeOpt(nn.Momentum(net.trainable_params(), 0.1, 0.9))
    >>> len(freeze_cell(False, net, freezing, None, None, False))
    1
    """
    steps = max_accumulation_step if use_grad_accumulation else 1
    return tuple(_TrainFreezeCell(network, opt, sens, steps) for opt in optimizer.opts)
