"""The base of optimizers with PyTorch's arguments: groups as dicts, whose entries are read in every step."""

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
from millrace._src.runtime.optim.parameter_groups import as_parameter_list
from millrace._src.runtime.optim.sparse_gradient import to_row_gradient, to_torch_gradient
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple

# `ParamGroupOptimizer` is listed where its face is made from: nn has one of its own
__all__ = ["ParamGroupForeachOptimizer"]


@public("experimental.optim:Optimizer")
class ParamGroupOptimizer(Cell):
    """The base of optimizers whose groups of parameters are dicts: `params` is a list of Parameters or of such dicts.

    A group has the key ``params`` and any of `defaults`, which hold where it has none. Its ``lr`` is a Parameter;
    assign to it, or put a number in its place.

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
            self._add(group)
        self.parameters = ParameterTuple(param for group in self.param_groups for param in group["params"])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, before the optimizer made what it keeps: a class calls it for each of its groups."""
        self._add(param_group)
        self.parameters = ParameterTuple(param for group in self.param_groups for param in group["params"])

    def _add(self, given: Any) -> None:
        if not isinstance(given, dict):
            raise ArgumentTypeError("Param group must be a dict.")
        group = {**self.defaults, **given}
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
        known = {id(param) for other in self.param_groups for param in other["params"]}
        if any(id(param) in known for param in params):
            raise ArgumentValueError("some parameters appear in more than one parameter group.")
        owner = type(self).__name__
        group["lr"] = self._rate(group.get("lr"), f"learning_rate_group_{len(self.param_groups)}")
        decay = group.get("weight_decay", 0.0)
        if not isinstance(decay, (float, int)):
            raise ArgumentTypeError(
                f"For 'Optimizer', the argument 'Weight_decay' must be int or float.but got {type(decay)}"
            )
        group["weight_decay"] = check_float(float(decay), "weight_decay", owner, zero=True)
        self.lrs.append(group["lr"])
        self.param_groups.append(group)
        self.group_start_id.append(self.group_start_id[-1] + len(params))

    def _rate(self, lr: Any, name: str) -> Parameter:
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
        """Write rates that were put into groups as numbers where steps read them, and see what else changed there."""
        for group, kept in zip(self.param_groups, self.lrs, strict=True):
            if group["lr"] is not kept and float(group["lr"]) != kept.item():
                kept.set_data(Tensor(float(group["lr"]), float32))
        settings = self._settings()
        if settings != self.__dict__.get("_settled"):
            self.__dict__["_settled"] = settings
            modes.invalidate_captures()

    def _settings(self) -> Any:
        return tuple(
            (name, value)
            for group in self.param_groups
            for name, value in group.items()
            if isinstance(value, (bool, int, float, tuple)) and name != "lr"
        )

    def capture_key(self) -> Any:
        """What a recording depends on: also the numbers in the groups."""
        return super().capture_key(), self._settings()

    def construct(self, *hyper_params: Any) -> Any:
        """Change the parameters; every optimizer writes its own."""
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
    """Changes parameters group by group; a class says what it keeps (`slots`) and writes ``update``."""

    slots: tuple[str, ...] = ()
    # weight decay is part of the gradient
    decays_gradients = True
    # the Parameter that counts steps, where there is one
    step_parameter_name = "step_t"

    def construct(self, gradients: Any) -> Any:
        if len(gradients) != len(self.parameters):
            raise ArgumentValueError(
                f"For '{type(self).__name__}', there must be a gradient for each of its {len(self.parameters)} "
                f"parameters, but got {len(gradients)}; take them by weights=optimizer.parameters."
            )
        with torch.no_grad():
            grads = [
                to_torch_gradient(each, param) for each, param in zip(gradients, self.parameters, strict=True)
            ]
            dense = [to_row_gradient(each).dense() if isinstance(each, RowTensor) else each for each in grads]
            self.advance()
            for number, group in enumerate(self.param_groups):
                part = slice(self.group_start_id[number], self.group_start_id[number + 1])
                params = [param._torch for param in self.parameters[part]]
                own = [g.to(p.dtype) for g, p in zip(dense[part], params, strict=True)]
                if group.get("maximize"):
                    own = list(foreach.neg(own))
                if self.decays_gradients and group["weight_decay"]:
                    own = list(foreach.add(own, params, alpha=group["weight_decay"]))
                kept = ([each._torch for each in getattr(self, name)[part]] for name in self.slots)
                self.update(group, self.lrs[number]._torch, params, own, *kept)
            self.end_step()
        return True

    def advance(self) -> None:
        """Count the step."""
        getattr(self, self.step_parameter_name)._torch.add_(1)

    def end_step(self) -> None:
        """After all groups."""

    def step_number(self) -> torch.Tensor:
        """The number of the step as a float."""
        made: torch.Tensor = getattr(self, self.step_parameter_name)._torch.reshape(()).to(torch.float32)
        return made

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        """Change the parameters of a group, and what is kept for them, in place."""
        raise NotImplementedError

    def _count(self) -> None:
        self.step_t = Parameter(Tensor(0, int32), "step_t")

    def _numbers(self, prefix: str, value: float) -> list[Parameter]:
        """A number for each parameter; MindSpore does not put these into checkpoints."""
        return [Parameter(Tensor(value, float32), prefix + param.name) for param in self.parameters]


def check_greater(value: Any, name: str, owner: str, least: float = 0.0, equal: bool = False) -> None:
    """A number above another, or also equal to it."""
    if value < least or (value == least and not equal):
        words = "greater than or equal to" if equal else "greater than"
        raise ArgumentValueError(f"For {owner}, the {name} must be {words} {least}, but got {value}.")


def check_adam(lr: Any, betas: Any, eps: Any, weight_decay: Any) -> None:
    """The numbers of Adam."""
    for wrong, text in (
        (lr < 0.0, f"Invalid learning rate: {lr}"),
        (eps < 0.0, f"Invalid epsilon value: {eps}"),
        (not 0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}"),
        (not 0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}"),
        (weight_decay < 0.0, f"Invalid weight_decay value: {weight_decay}"),
    ):
        if wrong:
            raise ArgumentValueError(text)


def check_beta(beta: Any, name: str, owner: str) -> None:
    """A number from 0 up to 1."""
    if not isinstance(beta, float):
        raise ArgumentTypeError(
            f"For '{owner}', the type of '{name}' should be 'float', but got '{type(beta).__name__}'."
        )
    if not 0.0 <= beta < 1.0:
        raise ArgumentValueError(
            f"For '{owner}', the '{name}' must be in range of [0.0, 1.0), but got {beta} with type 'float'."
        )
