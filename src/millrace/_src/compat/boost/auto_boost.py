"""Boost levels and their training step cells."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.containers import CellList
from millrace._src.runtime.nn.loss_scale import TrainOneStepWithLossScaleCell
from millrace._src.runtime.nn.network_wrappers import TrainOneStepCell
from millrace._src.runtime.tensor.parameter import Parameter

from .gradient_freeze import FreezeOpt, GradientFreeze, freeze_cell
from .less_bn import LessBN
from .optimizer_groups import OptimizerProcess, ParameterProcess

__all__ = ["AutoBoost", "BoostTrainOneStepCell", "BoostTrainOneStepWithLossScaleCell"]

PARTS = ("less_bn", "grad_freeze", "adasum", "grad_accumulation", "dim_reduce", "loss_scale_group")
LEVELS: dict[str, tuple[str, ...]] = {
    "O0": (),
    "O1": ("less_bn", "grad_freeze"),
    "O2": ("less_bn", "grad_freeze", "adasum"),
}
MODES = ["auto", "manual", "enable_all", "disable_all"]
# Settings and their defaults.
SETTINGS = {
    "fn_flag": True, "gc_flag": True, "param_groups": 10, "freeze_type": 1, "freeze_p": 0.7, "total_steps": 65536,
    "gradient_split_groups": None, "device_number": 8, "grad_accumulation_step": 1, "rho": 0.55, "gamma": 0.9,
    "alpha": 0.001, "sigma": 0.4, "n_components": 32, "pca_mat_path": None, "weight_load_dir": None, "timeout": 1800,
}  # fmt: skip


@public("boost")
class AutoBoost:
    """Apply a boost level to a network and its optimizer; the first instance is used for the whole process.

    "O1" normalises the last layer instead of what comes before it and freezes first layers in some steps; "O2" would
    add adaptive summation, which needs two servers of eight devices, and does what "O1" does.
    """

    _instance: AutoBoost | None = None
    level: str | None

    def __new__(cls, *args: Any, **kwargs: Any) -> AutoBoost:
        if cls._instance is None:
            cls._instance = object.__new__(cls)
            cls._instance.level = None
        return cls._instance

    def __init__(self, level: str = "O0", boost_config_dict: Any = "") -> None:
        if self.level is not None:
            return
        self.level = level if level in LEVELS else "O0"
        self.boost_config_dict = boost_config_dict
        self.settings: dict[str, Any] = dict(SETTINGS)
        self.boost_config = self._configuration(boost_config_dict)
        self.grad_accumulation_step = self.settings["grad_accumulation_step"]
        self._param_processer = ParameterProcess()

    def _configuration(self, config: Any) -> dict[str, bool]:
        enabled = {part: part in LEVELS[self.level or "O0"] for part in PARTS}
        if not config:
            return enabled
        wanted = config.get("boost", {})
        mode = wanted.get("mode", "auto")
        if mode not in MODES:
            raise ArgumentValueError(f"The boost mode must be in {MODES}, but got {mode}")
        if mode == "manual":
            enabled |= {part: bool(wanted[part]) for part in PARTS if part in wanted}
        elif mode != "auto":
            enabled = dict.fromkeys(PARTS, mode == "enable_all")
        if enabled["dim_reduce"]:
            raise ArgumentValueError(
                "For 'AutoBoost', 'dim_reduce' is not supported: it needs principal components of earlier runs on "
                "Ascend devices. Set boost: {mode: manual, dim_reduce: False}."
            )
        for part, values in config.items():
            if part == "common" or enabled.get(part):
                self.settings |= {name: value for name, value in values.items() if name in SETTINGS}
        return enabled

    def network_auto_process_train(self, network: Any, optimizer: Any) -> tuple[Any, Any]:
        """The network and the optimizer for training."""
        settings = self.settings
        if self.boost_config["less_bn"]:
            network = LessBN(network, fn_flag=settings["fn_flag"])
            process = OptimizerProcess(optimizer)
            parameters = self._param_processer.assign_parameter_group(
                network.trainable_params(), settings["gradient_split_groups"]
            )
            process.origin_params = ParameterProcess.generate_group_params(parameters, process.origin_params)
            if settings["gc_flag"]:
                process.add_grad_centralization(network)
            optimizer = process.generate_new_optimizer()
        if self.boost_config["grad_freeze"]:
            freeze = GradientFreeze(
                settings["param_groups"],
                settings["freeze_type"],
                settings["freeze_p"],
                settings["total_steps"],
            )
            network, optimizer = freeze.freeze_generate(network, optimizer)
        return network, optimizer

    def network_auto_process_eval(self, network: Any) -> Any:
        """The network for evaluation."""
        return LessBN(network) if self.boost_config["less_bn"] else network


@public("boost")
class BoostTrainOneStepCell(TrainOneStepCell):
    """A training step; with a FreezeOpt, each step updates the parameters of the current group.

    >>> from millrace import nn
    >>> net = nn.WithLossCell(nn.Dense(1, 1, weight_init="ones", has_bias=False), nn.MSELoss())
    >>> step = BoostTrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.25))
    >>> step(Tensor([[1.0]]), Tensor([[0.0]])).item(), net.trainable_params()[0].item()
    (1.0, 0.5)
    """

    def __init__(self, network: Any, optimizer: Any, sens: Any = None) -> None:
        super().__init__(network, optimizer, sens)
        self.freeze = isinstance(optimizer, FreezeOpt)
        self.train_strategy = getattr(optimizer, "train_strategy", None)
        self.auto_boost = AutoBoost()
        self.max_accumulation_step = self.auto_boost.grad_accumulation_step
        self.use_grad_accumulation = (
            self.auto_boost.boost_config["grad_accumulation"] and self.max_accumulation_step > 1
        )
        self.step = Parameter(Tensor(0, int32), name="boost_step", requires_grad=False)
        self.freeze_nets: tuple[Any, ...] = ()
        if self.freeze or self.use_grad_accumulation:
            turns = optimizer if self.freeze else FreezeOpt(optimizer)
            steps = self.max_accumulation_step
            nets = freeze_cell(
                False, network, turns, sens, None, self.use_grad_accumulation, None, None, steps
            )
            self.turns = CellList(list(nets), auto_prefix=False)
            self.freeze_nets = nets

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.freeze_nets:
            return super().__call__(*inputs, **kwargs)
        # the group is chosen outside of the graph: each group has a separate graph
        turn = int(self.step.asnumpy())
        order = range(len(self.freeze_nets)) if self.train_strategy is None else self.train_strategy.asnumpy()
        loss = self.freeze_nets[int(order[turn % len(order)])](*inputs, **kwargs)
        self.step.set_data(Tensor((turn + 1) % len(order), int32))
        return loss


@public("boost")
class BoostTrainOneStepWithLossScaleCell(TrainOneStepWithLossScaleCell):
    """A step of training with a scaled loss, which skips steps that overflow.

    >>> from millrace import nn
    >>> net = nn.WithLossCell(nn.Dense(1, 1, weight_init="ones", has_bias=False), nn.MSELoss())
    >>> optimizer = nn.SGD(net.trainable_params(), 0.25)
    >>> step = BoostTrainOneStepWithLossScaleCell(net, optimizer, Tensor(8.0))
    >>> step(Tensor([[1.0]]), Tensor([[0.0]]))[0].item()
    1.0
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any) -> None:
        if isinstance(optimizer, FreezeOpt):
            raise ArgumentValueError(
                "For 'BoostTrainOneStepWithLossScaleCell', a freezing optimizer is not supported with a scaled "
                "loss. Use BoostTrainOneStepCell with 'sens'."
            )
        super().__init__(network, optimizer, scale_sense)
