"""``Optimizer``: base class with parameter groups, learning rates, weight decay and loss scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32, int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.sharded_optimizer import ShardedParameters, shard_parameters
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.containers import CellList
from millrace._src.runtime.ops.array.assign import AssignAdd
from millrace._src.runtime.ops.framework.composite import HyperMap, Map
from millrace._src.runtime.ops.sparse.sparse_tensor import RowTensor
from millrace._src.runtime.tensor.backend.context import get_context
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple
from millrace._src.runtime.tensor.storage import unwrap, wrap

from .arguments import record_init_arguments
from .hyperparameters import (
    ConstantSchedule,
    TableSchedule,
    is_per_step,
    make_learning_rate,
    parse_learning_rate,
    parse_weight_decay,
)
from .parameter_groups import as_parameter_list, check_unique, parse_groups
from .sparse_gradient import Gradient, to_row_gradient, to_torch_gradient

__all__ = ["Optimizer"]


@public("nn")
class Optimizer(Cell):
    """Base class of optimizers: a subclass creates its states in ``__init__`` and updates parameters in
    ``construct``.

    `learning_rate` is a number, a tensor with one, a list or tensor with one per step, or a schedule.
    `parameters` is a list of Parameters, or of groups: dicts with ``params`` and optionally ``lr``,
    ``weight_decay`` and ``grad_centralization``; a group ``{"order_params": ...}`` defines the order of all
    parameters. Without groups, `weight_decay` skips parameters with "beta" or "gamma" in their names.
    `loss_scale` is the factor of the loss.

    >>> from millrace import ops
    >>> class Descent(Optimizer):
    ...     def construct(self, gradients):
    ...         for parameter, gradient in zip(self.parameters, self.decay_weight(gradients)):
    ...             ops.assign(parameter, parameter - self.get_lr() * gradient)
    ...         return True
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Descent(0.1, [weight])((Tensor([1.0, 1.0]),))
    True
    >>> weight.asnumpy().tolist()
    [0.8999999761581421, 1.899999976158142]
    """

    _support_parallel_optimizer = False
    # whether `target` may be set, which has no effect here
    _target_is_settable = False

    # constructor arguments, from which an optimizer for other parameters can be created
    init_params: dict[str, Any]
    init_learning_rate: Any
    init_args: dict[str, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            cls.__init__ = record_init_arguments(cls.__init__)  # type: ignore[method-assign]

    def __init__(
        self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0
    ) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        if isinstance(parameters, Cell):
            raise ArgumentTypeError(
                f"For '{owner}', the parameters must be a list of Parameters, but got the network itself. Pass "
                "net.trainable_params()."
            )
        parameter_list = as_parameter_list(parameters, "parameters")
        grouped = all(isinstance(parameter, dict) for parameter in parameter_list)
        if not grouped and not all(isinstance(parameter, Parameter) for parameter in parameter_list):
            raise ArgumentTypeError(
                "For 'Optimizer', all elements of the argument 'parameters' must be 'Parameter' or 'dict', please "
                "check the 'parameters'."
            )
        if isinstance(loss_scale, int):
            loss_scale = float(loss_scale)
        check_argument_type(loss_scale, "loss_scale", owner, float)
        self.loss_scale = check_float(loss_scale, "loss_scale", owner)
        self.reciprocal_scale = Tensor(1.0 / loss_scale, float32)
        self.need_scale = loss_scale != 1.0
        self.global_step = Parameter(Tensor([0], int32), name="global_step")
        self.global_step_increase_tensor = Tensor([1], int32)
        self.assignadd, self.map_, self.hyper_map = AssignAdd(), Map(), HyperMap()
        self.map_reverse, self.hyper_map_reverse = Map(None, True), HyperMap(None, True)
        self._unique, self._target = True, get_context("device_target")
        self._read_arguments(parse_learning_rate(learning_rate, owner), parameter_list, weight_decay, grouped)
        self._unique = not any(param.unique for param in self._parameters)
        self.param_length = len(self._parameters)
        self.cache_enable = tuple(param.cache_enable for param in self._parameters)
        self.use_parallel = False
        self.param_rank: tuple[int, ...] | None = None  # the owner of each parameter
        self.optim_filter = (True,) * self.param_length
        if self._support_parallel_optimizer:
            self._shard_states()
        self.add_flags(skip_auto_parallel_compile=True)

    def _read_arguments(self, rate: Any, parameter_list: list[Any], weight_decay: Any, grouped: bool) -> None:
        """Read parameters with their learning rates and weight decays, in groups or not."""
        owner = type(self).__name__
        self.is_group, self.grad_centralization = grouped, False
        if grouped:
            members = parse_groups(parameter_list, rate, weight_decay, self.loss_scale, owner)
            self.is_group_lr = any("lr" in group for group in parameter_list)
            self.is_group_params_ordered = any("order_params" in group for group in parameter_list)
            self.group_params = [member.param for member in members]
            self.group_lr = [member.lr for member in members]
            self.group_weight_decay = [member.weight_decay for member in members]
            self.group_grad_centralization = [member.grad_centralization for member in members]
            parameter_list, decays = self.group_params, self.group_weight_decay
            self.grad_centralization_flags = tuple(self.group_grad_centralization)
        else:
            check_unique(parameter_list)
            self.is_group_lr = self.is_group_params_ordered = False
            decays = [parse_weight_decay(weight_decay, self.loss_scale, owner)]
        self.learning_rate: Any
        if self.is_group_lr:
            self.dynamic_lr = isinstance(self.group_lr[0], Cell)
            self.learning_rate = (
                CellList(self.group_lr, auto_prefix=False)
                if self.dynamic_lr
                else ParameterTuple(self.group_lr)
            )
        else:
            self.dynamic_lr = is_per_step(rate) or isinstance(rate, Cell)
            self.learning_rate = make_learning_rate(rate, "learning_rate", False)
        self.parameters = ParameterTuple(parameter_list)
        self._parameters = self.parameters
        changing = tuple(isinstance(decay, Cell) for decay in decays)
        self.dynamic_weight_decay = any(changing)
        tensors = [decay if isinstance(decay, Cell) else Tensor(decay, float32) for decay in decays]
        self.exec_weight_decay = any(isinstance(decay, Cell) or decay > 0 for decay in decays)
        self.weight_decay: Any
        self.dynamic_decay_flags: Any
        if grouped:
            self.decay_flags = tuple(isinstance(decay, Cell) or decay > 0 for decay in decays)
            self.weight_decay, self.dynamic_decay_flags = tuple(tensors), changing
        else:
            self.decay_flags = tuple("beta" not in p.name and "gamma" not in p.name for p in parameter_list)
            self.weight_decay, self.dynamic_decay_flags = tensors[0], changing[0]

    def _shard_states(self) -> None:
        """Shard the optimizer states over the processes if the parallel context enables it."""
        sharded = shard_parameters(self._parameters)
        if isinstance(sharded, ShardedParameters):
            self._parameters = sharded
            self.use_parallel, self.param_rank, self.optim_filter = True, sharded.owners, sharded.local

    def construct(self, *hyper_params: Any) -> Any:
        """Update the parameters; every optimizer implements it."""
        raise NotImplementedError("an optimizer must have a method construct(gradients)")

    # --- values of the current step ----------------------------------------------------------------------------

    def get_lr(self) -> Any:
        """The learning rate of this step; a tuple with one per parameter if groups have separate rates."""
        if not self.dynamic_lr:
            return self.learning_rate
        if not self.is_group_lr:
            return self.learning_rate(self.global_step).reshape(())
        return self._evaluate_schedules(self.learning_rate)

    def get_weight_decay(self) -> Any:
        """The weight decay of this step; a tuple with one per parameter if there are groups."""
        if not self.dynamic_weight_decay:
            return self.weight_decay
        if not self.is_group:
            return self.weight_decay(self.global_step)
        return self._evaluate_schedules(self.weight_decay)

    def _evaluate_schedules(self, schedules: Iterable[Any]) -> tuple[Any, ...]:
        """The values of the schedules for this step. Each schedule is evaluated once."""
        value_by_id: dict[int, Any] = {}
        for schedule in schedules:
            if id(schedule) not in value_by_id:
                value_by_id[id(schedule)] = (
                    schedule(self.global_step).reshape(()) if isinstance(schedule, Cell) else schedule
                )
        return tuple(value_by_id[id(schedule)] for schedule in schedules)

    def get_lr_parameter(self, param: Any) -> Any:
        """The learning rate of a parameter, or a list of those of several: a Parameter, or the schedule.

        >>> weight = Parameter(Tensor([1.0]), name="weight")
        >>> Optimizer(0.5, [weight]).get_lr_parameter(weight).item()
        0.5
        """
        if not isinstance(param, (Parameter, list)):
            raise ArgumentTypeError(
                "For 'get_lr_parameter', the 'param' must be 'Parameter' or 'list' type, "
                f"but got {type(param)}."
            )
        index_by_id = {id(each): index for index, each in enumerate(self._parameters)}
        rates = []
        for each in param if isinstance(param, list) else [param]:
            check_argument_type(each, "parameter", type(self).__name__, Parameter)
            if id(each) not in index_by_id:
                raise ArgumentValueError(
                    f"For 'get_lr_parameter', the parameter {each.name} is not in optimizer, please check whether "
                    "the argument 'param' is correct."
                )
            rate = self.learning_rate[index_by_id[id(each)]] if self.is_group_lr else self.learning_rate
            rates.append(rate.learning_rate if isinstance(rate, (ConstantSchedule, TableSchedule)) else rate)
        return rates if isinstance(param, list) else rates[0]

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        return bool(self.dynamic_lr or self.dynamic_weight_decay)

    # --- gradient transforms -----------------------------------------------------------------------------------

    def flatten_gradients(self, gradients: Any) -> Any:
        """Return the gradients unchanged: parameters are not flattened here, since foreach kernels process a
        list in one call.
        """
        return gradients

    def decay_weight(self, gradients: Any) -> Any:
        """Add the weight decay to the gradients."""
        return (
            self._on_torch_gradients(self._apply_weight_decay, gradients)
            if self.exec_weight_decay
            else gradients
        )

    def gradients_centralization(self, gradients: Any) -> Any:
        """Subtract the mean per output from the gradients, in the groups with ``grad_centralization``.

        As in MindSpore, it applies to weights of two axes or more whose second is a multiple of 16.
        """
        return self._on_torch_gradients(self._centralize_gradients, gradients) if self.is_group else gradients

    def scale_grad(self, gradients: Any) -> Any:
        """Divide the gradients by the loss scale."""
        return self._on_torch_gradients(self._unscale_gradients, gradients) if self.need_scale else gradients

    def _on_torch_gradients(self, change: Callable[[list[Gradient]], list[Gradient]], gradients: Any) -> Any:
        with torch.no_grad():
            changed = change(
                [
                    to_torch_gradient(each, param)
                    for each, param in zip(gradients, self._parameters, strict=True)
                ]
            )
        return tuple(each if isinstance(each, RowTensor) else wrap(each) for each in changed)

    def _apply_weight_decay(self, grads: list[Gradient]) -> list[Gradient]:
        if not self.exec_weight_decay:
            return grads
        decay = self.get_weight_decay()
        decayed = list(grads)
        indices_by_decay: dict[Any, tuple[Any, list[int]]] = {}
        for index, flag in enumerate(self.decay_flags):
            if flag:
                param_decay = decay[index] if self.is_group else decay
                weight = self._parameters[index]._torch
                if isinstance(grads[index], RowTensor):
                    rows = to_row_gradient(grads[index])
                    decayed[index] = rows.add(
                        weight[rows.indices] * _decay_factor(param_decay, weight)
                    ).to_row_tensor()
                else:
                    indices_by_decay.setdefault((id(param_decay), weight.dtype), (param_decay, []))[1].append(
                        index
                    )
        for param_decay, indices in indices_by_decay.values():
            weights = [self._parameters[index]._torch for index in indices]
            added = foreach.mul(weights, _decay_factor(param_decay, weights[0]))
            foreach.add_(added, [grads[index] for index in indices])
            for index, each in zip(indices, added, strict=True):
                decayed[index] = each
        return decayed

    def _centralize_gradients(self, grads: list[Gradient]) -> list[Gradient]:
        if not self.is_group or not any(self.grad_centralization_flags):
            return grads
        centralized = list(grads)
        for index, flag in enumerate(self.grad_centralization_flags):
            values = grads[index]
            rows = to_row_gradient(values) if isinstance(values, RowTensor) else None
            dense = values if rows is None else rows.values
            assert isinstance(dense, torch.Tensor)
            if flag and dense.ndim > 1 and dense.shape[1] % 16 == 0:
                centered = dense - dense.mean(dim=tuple(range(1, dense.ndim)), keepdim=True)
                centralized[index] = centered if rows is None else rows.with_values(centered).to_row_tensor()
        return centralized

    def _unscale_gradients(self, grads: list[Gradient]) -> list[Gradient]:
        if not self.need_scale:
            return grads
        scale = 1.0 / self.loss_scale
        unscaled: list[Gradient] = list(grads)
        dense = [index for index, each in enumerate(grads) if not isinstance(each, RowTensor)]
        for index, each in zip(dense, foreach.mul([grads[index] for index in dense], scale), strict=True):
            unscaled[index] = each
        for index, gradient in enumerate(grads):
            if isinstance(gradient, RowTensor):
                rows = to_row_gradient(gradient)
                unscaled[index] = rows.with_values(rows.values * scale).to_row_tensor()
        return unscaled

    # --- target ------------------------------------------------------------------------------------------------

    @property
    def unique(self) -> bool:
        """Whether duplicate rows of a sparse gradient are added up first."""
        return bool(self._unique)

    @unique.setter
    def unique(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ArgumentTypeError(
                f"For 'Optimizer', the property 'unique' must be bool, but got {type(value)}"
            )
        self._unique = value

    @property
    def target(self) -> str:
        """The device of the update: that of the parameters."""
        return str(self._target)

    @target.setter
    def target(self, value: str) -> None:
        if not self._target_is_settable:
            raise NotImplementedError(
                "this optimizer does not support setting 'target': parameters are updated on their device"
            )
        if not isinstance(value, str):
            raise ArgumentTypeError(
                f"For 'Optimizer', the property 'target' must be string, but got {type(value)}"
            )
        if value not in ("CPU", "Ascend", "GPU"):
            raise ArgumentValueError(
                "For 'Optimizer', the property 'target' must be one of ['CPU', 'Ascend' ,'GPU'], "
                f"but got {value}"
            )
        if value not in (self._target, "CPU"):
            raise ArgumentValueError(
                f"For 'Optimizer', the property 'target' cannot be set to '{value}' in the '{self._target}' "
                "environment."
            )
        self._target, self._is_device = value, value != "CPU"


def _decay_factor(decay: Any, weight: torch.Tensor) -> torch.Tensor:
    """A weight decay as a tensor of the dtype of a weight."""
    factor: torch.Tensor = unwrap(decay).reshape(()).to(weight.device, weight.dtype)
    return factor
