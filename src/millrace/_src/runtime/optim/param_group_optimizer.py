"""Base classes of optimizers with PyTorch's arguments: parameter groups as dicts, read in every step."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32, int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_float
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.framework.composite import HyperMap, Map
from millrace._src.runtime.ops.sparse.sparse_tensor import RowTensor
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.parameter_groups import as_parameter_list
from millrace._src.runtime.optim.sparse_gradient import to_row_gradient, to_torch_gradient
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple

# the public module exports `ParamGroupOptimizer` as `Optimizer`; nn exports another `Optimizer`
__all__ = ["ParamGroupForeachOptimizer"]


@public("experimental.optim:Optimizer")
@public_name("Optimizer")
class ParamGroupOptimizer(Cell):
    """Base class of optimizers with parameter groups as dicts: `params` is a list of Parameters or of groups.

    A group has the key ``params`` and any of `defaults`, which apply to missing keys. Its ``lr`` is a
    Parameter; assign to it, or replace it by a number.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> optimizer = ParamGroupOptimizer([weight], {"lr": 0.5})
    >>> optimizer.param_groups[0]["lr"].item(), optimizer.lrs[0].name
    (0.5, 'learning_rate_group_0')
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(auto_prefix=False)
        groups = as_parameter_list(params, "params")
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self.lrs: list[Parameter] = []
        self.group_start_id = [0]
        self.map_, self.hyper_map = Map(), HyperMap()
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self._append_group(group)
        self.parameters = ParameterTuple(param for group in self.param_groups for param in group["params"])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group before the optimizer creates its states: a class calls it for each of its groups."""
        self._append_group(param_group)
        self.parameters = ParameterTuple(param for group in self.param_groups for param in group["params"])

    def _append_group(self, param_group: Any) -> None:
        if not isinstance(param_group, dict):
            raise ArgumentTypeError("Param group must be a dict.")
        group = {**self.defaults, **param_group}
        params = group["params"]
        if isinstance(params, set):
            raise ArgumentTypeError(
                "Optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        group["params"] = params = [params] if isinstance(params, Parameter) else list(params)
        for param in params:
            if not isinstance(param, Parameter):
                raise ArgumentTypeError(
                    f"Optimizer can only optimize Parameters, but one of the params is {type(param)}"
                )
        if len({id(param) for param in params}) != len(params):
            warnings.warn(
                "Optimizer contains a parameter group with duplicate parameters.", UserWarning, stacklevel=4
            )
        known = {id(param) for existing_group in self.param_groups for param in existing_group["params"]}
        if any(id(param) in known for param in params):
            raise ArgumentValueError("some parameters appear in more than one parameter group.")
        owner = type(self).__name__
        group["lr"] = self._make_rate(group.get("lr"), f"learning_rate_group_{len(self.param_groups)}")
        decay = group.get("weight_decay", 0.0)
        if not isinstance(decay, (float, int)):
            raise ArgumentTypeError(
                f"For 'Optimizer', the argument 'Weight_decay' must be int or float.but got {type(decay)}"
            )
        group["weight_decay"] = check_float(float(decay), "weight_decay", owner, zero=True)
        self.lrs.append(group["lr"])
        self.param_groups.append(group)
        self.group_start_id.append(self.group_start_id[-1] + len(params))

    def _make_rate(self, lr: Any, name: str) -> Parameter:
        if isinstance(lr, Tensor):
            if lr.ndim:
                raise ArgumentValueError(
                    "For 'Optimizer', if 'learning_rate' is a Tensor, then it should be scalar Tensor"
                )
            return Parameter(lr.astype(float32), name)
        if not isinstance(lr, (float, int)):
            raise ArgumentTypeError(
                f"For 'Optimizer', the argument 'learning_rate' must be int, float or Tensor, but got {type(lr)}."
            )
        rate = check_float(float(lr), "learning rate", type(self).__name__, zero=True)
        return Parameter(Tensor(rate, float32), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not modes.thread_state.capturing:
            self._sync_group_settings()
        return super().__call__(*args, **kwargs)

    def _sync_group_settings(self) -> None:
        """Copy rates that were replaced by numbers into the rate Parameters, and invalidate captures on other
        changes.
        """
        for group, rate in zip(self.param_groups, self.lrs, strict=True):
            if group["lr"] is not rate and float(group["lr"]) != rate.item():
                rate.set_data(Tensor(float(group["lr"]), float32))
        settings = self._settings()
        if settings != self.__dict__.get("_synced_settings"):
            self.__dict__["_synced_settings"] = settings
            modes.invalidate_captures()

    def _settings(self) -> Any:
        return tuple(
            (name, value)
            for group in self.param_groups
            for name, value in group.items()
            if isinstance(value, (bool, int, float, tuple)) and name != "lr"
        )

    def capture_key(self) -> Any:
        """What a capture depends on: also the numbers in the groups."""
        return super().capture_key(), self._settings()

    def construct(self, *hyper_params: Any) -> Any:
        """Update the parameters; every optimizer implements it."""
        raise NotImplementedError("an optimizer must have a method construct(gradients)")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines += [*([""] if number else []), f"Parameter Group {number}"]
            for key in sorted(group):
                if key != "params":
                    value = group[key].value() if isinstance(group[key], Parameter) else group[key]
                    lines.append(f"    {key}: {value}")
        return "\n".join([*lines, ")"])


class ParamGroupForeachOptimizer(ParamGroupOptimizer):
    """Updates parameters group by group. A subclass sets `state_names` and implements ``update``."""

    state_names: tuple[str, ...] = ()
    # weight decay is added to the gradient
    has_coupled_weight_decay = True
    # the attribute of the step counter, if there is one
    step_parameter_name = "step_t"

    def construct(self, gradients: Any) -> Any:
        if len(gradients) != len(self.parameters):
            raise ArgumentValueError(
                f"For '{type(self).__name__}', there must be a gradient for each of its {len(self.parameters)} "
                f"parameters, but got {len(gradients)}; take them by weights=optimizer.parameters."
            )
        with torch.no_grad():
            grads = [
                to_torch_gradient(gradient, param)
                for gradient, param in zip(gradients, self.parameters, strict=True)
            ]
            dense = [
                to_row_gradient(gradient).dense() if isinstance(gradient, RowTensor) else gradient
                for gradient in grads
            ]
            self.begin_step()
            for number, group in enumerate(self.param_groups):
                part = slice(self.group_start_id[number], self.group_start_id[number + 1])
                params = [param._torch for param in self.parameters[part]]
                group_grads = [g.to(p.dtype) for g, p in zip(dense[part], params, strict=True)]
                if group.get("maximize"):
                    group_grads = list(foreach.neg(group_grads))
                if self.has_coupled_weight_decay and group["weight_decay"]:
                    group_grads = list(foreach.add(group_grads, params, alpha=group["weight_decay"]))
                states = (
                    [gradient._torch for gradient in getattr(self, name)[part]] for name in self.state_names
                )
                self.update(group, self.lrs[number]._torch, params, group_grads, *states)
            self.end_step()
        return True

    def begin_step(self) -> None:
        """Increment the step counter."""
        getattr(self, self.step_parameter_name)._torch.add_(1)

    def end_step(self) -> None:
        """Called after all groups are updated."""

    def step_number(self) -> torch.Tensor:
        """The step number as a float."""
        step: torch.Tensor = getattr(self, self.step_parameter_name)._torch.reshape(()).to(torch.float32)
        return step

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        """Update the parameters of a group and their states, in place."""
        raise NotImplementedError

    def _create_step_counter(self) -> None:
        self.step_t = Parameter(Tensor(0, int32), "step_t")

    def _scalar_states(self, prefix: str, value: float) -> list[Parameter]:
        """A scalar state for each parameter; MindSpore does not store these in checkpoints."""
        return [Parameter(Tensor(value, float32), prefix + param.name) for param in self.parameters]


def check_greater(value: Any, name: str, owner: str, least: float = 0.0, equal: bool = False) -> None:
    """Check that a number is above another, or also equal to it."""
    if value < least or (value == least and not equal):
        comparison = "greater than or equal to" if equal else "greater than"
        raise ArgumentValueError(f"For {owner}, the {name} must be {comparison} {least}, but got {value}.")


def check_adam(lr: Any, betas: Any, eps: Any, weight_decay: Any) -> None:
    """Check the hyperparameters of Adam."""
    for is_invalid, text in (
        (lr < 0.0, f"Invalid learning rate: {lr}"),
        (eps < 0.0, f"Invalid epsilon value: {eps}"),
        (not 0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}"),
        (not 0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}"),
        (weight_decay < 0.0, f"Invalid weight_decay value: {weight_decay}"),
    ):
        if is_invalid:
            raise ArgumentValueError(text)


def check_beta(beta: Any, name: str, owner: str) -> None:
    """Check that a float is in [0, 1)."""
    if not isinstance(beta, float):
        raise ArgumentTypeError(
            f"For '{owner}', the type of '{name}' should be 'float', but got '{type(beta).__name__}'."
        )
    if not 0.0 <= beta < 1.0:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be in range of [0.0, 1.0), but got {beta} with type 'float'."
        )
