"""Rebuild optimizers with regrouped parameters."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.conv import Conv2d
from millrace._src.runtime.optim.lars import LARS
from millrace._src.runtime.optim.optimizer import Optimizer
from millrace._src.runtime.tensor.parameter import Parameter

from .less_bn import CommonHeadLastFN

__all__ = ["OptimizerProcess", "ParameterProcess", "rebuild_optimizer"]


def rebuild_optimizer(opt: Any, params: Any, rate: Any = None) -> Any:
    """An optimizer of the same class and arguments for other parameters, optionally with another learning rate."""
    if not isinstance(opt, Optimizer):
        raise ArgumentTypeError(f"The first arg 'opt' must be an Optimizer instance, but got {type(opt)}")
    if isinstance(opt, LARS):
        return LARS(rebuild_optimizer(opt.opt, params, rate), **opt.init_args)
    rate = opt.init_learning_rate if rate is None else rate
    optimizer_class: Any = type(opt)  # takes `params`, unlike the base class
    return optimizer_class(params=params, learning_rate=rate, **opt.init_args)


def _list_parameters(params: Any) -> list[Any]:
    parameters = list(params) if params is not None else []
    if not parameters:
        raise ArgumentValueError("Optimizer got an empty parameter list.")
    if not isinstance(parameters[0], (dict, Parameter)):
        raise ArgumentTypeError("Only a list of Parameter or dict can be supported.")
    return parameters


@public("boost")
class OptimizerProcess:
    """Rebuilds an optimizer with gradient centralization.

    >>> from millrace import nn
    >>> net = nn.Dense(2, 2)
    >>> process = OptimizerProcess(nn.Momentum([{"params": net.trainable_params()}], 0.1, 0.9))
    >>> process.add_grad_centralization(net)
    >>> process.generate_new_optimizer().grad_centralization_flags
    (True, False)
    """

    def __init__(self, opt: Any) -> None:
        inner = opt.opt if isinstance(opt, LARS) else opt
        if not isinstance(inner, Optimizer):
            raise ArgumentTypeError(f"The first arg 'opt' must be an Optimizer instance, but got {type(opt)}")
        self.opt = opt
        self.is_lars, self.single_opt = isinstance(opt, LARS), inner
        self.opt_class, self.opt_init_args = type(inner), inner.init_args
        self.learning_rate = inner.init_learning_rate
        self.origin_params = inner.init_params["params"]

    @staticmethod
    def build_params_dict(network: Any) -> dict[int, Any]:
        """The Cell of each parameter, by the parameter's id."""
        return {
            id(each): cell
            for _, cell in network.cells_and_names()
            for each in cell.get_parameters(expand=False)
        }

    @staticmethod
    def build_gc_params_group(
        params_dict: dict[int, Any], parameters: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Split groups into parameters with centralized gradients and the rest."""
        groups = []
        for group in parameters:
            if "order_params" in group:
                groups.append(group)
                continue
            centred = [each for each in group["params"] if _is_centred(each, params_dict)]
            uncentred = [each for each in group["params"] if not _is_centred(each, params_dict)]
            if centred:
                groups.append({**group, "params": centred, "grad_centralization": True})
            if uncentred:
                groups.append({**group, "params": uncentred})
        return groups

    def add_grad_centralization(self, network: Any) -> None:
        """Centralize the gradients of weights. Ungrouped parameters stay unchanged."""
        parameters = _list_parameters(self.origin_params)
        if isinstance(parameters[0], dict):
            self.origin_params = self.build_gc_params_group(self.build_params_dict(network), parameters)

    def generate_new_optimizer(self) -> Any:
        """The rebuilt optimizer."""
        return rebuild_optimizer(self.opt, self.origin_params, self.learning_rate)


def _is_centred(parameter: Any, cells: dict[int, Any]) -> bool:
    if any(part in parameter.name for part in ("beta", "gamma", "bias")):
        return False
    cell = cells[id(parameter)]
    return not (isinstance(cell, CommonHeadLastFN) or (isinstance(cell, Conv2d) and cell.group > 1))


@public("boost")
class ParameterProcess:
    """Assigns parameters to communication groups and optimizer groups.

    >>> from millrace import nn
    >>> parameters = ParameterProcess().assign_parameter_group(nn.Dense(2, 2).trainable_params())
    >>> [parameter.comm_fusion for parameter in parameters]
    [1, 2]
    """

    def __init__(self) -> None:
        self._parameter_indices = 1

    @staticmethod
    def generate_group_params(parameters: Any, origin_params: Any) -> list[dict[str, Any]]:
        """The groups of an optimizer with these parameters; new parameters go to the group with the most settings."""
        origin = _list_parameters(origin_params)
        if isinstance(origin[0], Parameter):
            return [{"params": list(parameters)}]
        by_name = {each.name: each for each in parameters}
        left = dict(by_name)
        groups: list[dict[str, Any]] = []
        fullest: dict[str, Any] = {}
        for group in origin:
            if "order_params" in group:
                groups.append({**group, "order_params": list(parameters)})
                continue
            names = [each.name for each in group["params"] if each.name in by_name]
            groups.append({**group, "params": [by_name[name] for name in names]})
            left = {name: each for name, each in left.items() if name not in names}
            fullest = group if len(group) > len(fullest) else fullest
        if left:
            groups.append({**fullest, "params": list(left.values())})
        return [group for group in groups if group.get("params") != []]

    def assign_parameter_group(self, parameters: Any, split_point: Any = None) -> Any:
        """Number the parameters by gradient fusion group; split in half, or at `split_point`."""
        if not isinstance(parameters, (list, tuple)) or not parameters:
            return parameters
        points = split_point or [len(parameters) // 2]
        for index, each in enumerate(parameters):
            self._parameter_indices += index in points
            each.comm_fusion = self._parameter_indices
        return parameters
