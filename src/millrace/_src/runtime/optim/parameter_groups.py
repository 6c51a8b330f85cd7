"""Parameter groups with separate learning rate, weight decay and gradient centralization."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.tensor.parameter import Parameter

from .hyperparameters import is_per_step, make_learning_rate, parse_learning_rate, parse_weight_decay

__all__ = ["ParameterSettings", "GroupKeyError", "check_unique", "as_parameter_list", "parse_groups"]

KEYS = ["params", "lr", "weight_decay", "order_params", "grad_centralization"]


class GroupKeyError(ArgumentValueError, KeyError):
    """A group without parameters, or with an unknown key. MindSpore raises KeyError."""

    __str__ = Exception.__str__  # KeyError prints its text in quotes


@dataclasses.dataclass
class ParameterSettings:
    """A parameter with the settings of its group."""

    param: Parameter
    # a Parameter or a schedule, the same object for all of a group
    lr: Any
    weight_decay: Any
    grad_centralization: bool


def as_parameter_list(parameters: Any, name: str) -> list[Any]:
    """The parameters argument as a list."""
    if parameters is None:
        raise ArgumentValueError(f"For 'Optimizer', the argument {name} can not be None.")
    if not isinstance(parameters, Iterable):
        raise ArgumentTypeError(
            f"For 'Optimizer', the argument {name} must be Iterable type, but got {type(parameters)}."
        )
    parameter_list = list(parameters)
    if not parameter_list:
        raise ArgumentValueError(f"For 'Optimizer', the argument {name} must not be empty.")
    return parameter_list


def check_unique(parameters: Iterable[Parameter]) -> None:
    """Reject two parameters of one name: the optimizer's states are named after them."""
    seen: set[str] = set()
    for param in parameters:
        if param.name in seen:
            raise ArgumentValueError(
                f"The value {param} , its name '{param.name}' already exists. "
                "Please set a unique name for the parameter."
            )
        seen.add(param.name)


def _check(groups: list[dict[str, Any]]) -> None:
    for group in groups:
        wrong = [key for key in group if key not in KEYS]
        if wrong:
            raise GroupKeyError(
                f"For 'Optimizer', the key in group params must be one of in {KEYS}, but got {wrong}."
            )
        if "order_params" in group:
            if len(group) > 1:
                raise ArgumentValueError(
                    "For 'Optimizer', the order params dict in group parameters should only include the "
                    f"'order_params' key, but got {group.keys()}."
                )
            if not isinstance(group["order_params"], Iterable):
                raise ArgumentTypeError(
                    "For 'Optimizer', the value of 'order_params' in group parameters should be Iterable type, "
                    f"but got {type(group['order_params'])}."
                )
            continue
        if "params" not in group:
            raise GroupKeyError(
                f"For 'Optimizer', a group must have the key 'params', but got {list(group)}."
            )
        for index, param in enumerate(as_parameter_list(group["params"], "group `params`")):
            if not isinstance(param, Parameter):
                raise ArgumentTypeError(
                    "For 'Optimizer', the element in group parameters must be Parameter type, "
                    f"but got {type(param)} at index {index}."
                )


def parse_groups(
    groups: list[dict[str, Any]], default_rate: Any, default_decay: Any, loss_scale: float, owner: str
) -> list[ParameterSettings]:
    """The parameters of all groups, in the order of the optimizer."""
    groups = [
        {**group, "params": list(group["params"])} if isinstance(group.get("params"), Iterable) else group
        for group in groups
    ]
    _check(groups)
    group_rates = [parse_learning_rate(group["lr"], owner) if "lr" in group else None for group in groups]
    rates = [rate for rate in (default_rate, *group_rates) if rate is not None]
    if len({rate.size for rate in rates if is_per_step(rate)}) > 1:
        raise ArgumentValueError(
            "For 'Optimizer', the Tensor type dynamic learning rate in group must be the same size as the "
            "argument 'learning_rate'."
        )
    # dynamic rates are Cells, and if one rate is dynamic, all are Cells
    changing = any(rate is not None for rate in group_rates) and any(
        not isinstance(rate, float) and (is_per_step(rate) or hasattr(rate, "construct")) for rate in rates
    )
    default = make_learning_rate(default_rate, "learning_rate", changing)
    members: list[ParameterSettings] = []
    order: list[Parameter] | None = None
    for number, (group, rate) in enumerate(zip(groups, group_rates, strict=True)):
        if "order_params" in group:
            order = list(group["order_params"])
            continue
        lr = default if rate is None else make_learning_rate(rate, f"learning_rate_group_{number}", changing)
        decay = parse_weight_decay(group.get("weight_decay", default_decay), loss_scale, owner)
        grad_centralization = group.get("grad_centralization", False)
        if not isinstance(grad_centralization, bool):
            raise ArgumentTypeError(
                f"For 'Optimizer', the 'gradients_centralization' must be bool type, but got "
                f"{type(grad_centralization)}."
            )
        members += [ParameterSettings(param, lr, decay, grad_centralization) for param in group["params"]]
    check_unique(member.param for member in members)
    return members if order is None else _sort_members(members, order)


def _sort_members(members: list[ParameterSettings], order: list[Parameter]) -> list[ParameterSettings]:
    if len(order) != len(members):
        raise ArgumentValueError(
            "For 'Optimizer',the length of order parameters must be the same as the length of group parameters, but "
            f"got order parameters' length {len(order)}, group parameters' length {len(members)}."
        )
    position_by_name = {param.name: position for position, param in enumerate(order)}
    missing = [member.param.name for member in members if member.param.name not in position_by_name]
    if missing:
        raise ArgumentValueError(
            f"For 'Optimizer', 'order_params' must hold every parameter, but not {missing}."
        )
    return sorted(members, key=lambda member: position_by_name[member.param.name])
