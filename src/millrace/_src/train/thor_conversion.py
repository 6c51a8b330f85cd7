"""Conversion to THOR: layers with second-order matrices, and a Model that updates them periodically."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.network_wrappers import TrainOneStepCell
from millrace._src.runtime.nn.thor_layers import add_second_order_factors
from millrace._src.runtime.optim.thor import Thor
from millrace._src.runtime.tensor.parameter import Parameter

from .model import Model

__all__ = ["ConvertModelUtils", "ConvertNetUtils"]


@public("train", "millrace")
class ConvertNetUtils:
    """Converts the layers of a network for ``nn.thor``, which also does it by itself.

    >>> from millrace import nn
    >>> net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    >>> ConvertNetUtils().convert_to_thor_net(net)
    >>> type(net[0]).__name__
    'DenseThor'
    """

    def convert_to_thor_net(self, net: Cell) -> None:
        """Convert Dense, Conv2d and Embedding layers to layers with second-order matrices, in place."""
        if not isinstance(net, Cell):
            raise ArgumentTypeError(
                f"For 'convert_to_thor_net', 'net' must be a Cell, but got {type(net).__name__}."
            )
        add_second_order_factors(net)


@public("train", "millrace")
class ConvertModelUtils:
    """Creates a Model that updates second-order matrices in one of ``frequency`` steps."""

    @staticmethod
    def convert_to_thor_model(
        model: Any,
        network: Any,
        loss_fn: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        amp_level: str = "O0",
        loss_scale_manager: Any = None,
        keep_batchnorm_fp32: bool = False,
    ) -> Any:
        """A Model for the optimizer ``nn.thor``; with any other optimizer, `model` unchanged.

        Its trainings update the second-order matrices in the first step and in every ``frequency``-th step after it,
        with and without data sink mode (MindSpore: only with), and can be resumed.

        >>> from millrace import nn, train
        >>> net = nn.Dense(2, 1)
        >>> rates = Tensor([0.1, 0.1])
        >>> optimizer = nn.thor(net, rates, rates, momentum=0.9, frequency=4)
        >>> model = train.Model(net, nn.MSELoss(), optimizer)
        >>> model = ConvertModelUtils.convert_to_thor_model(model, net, nn.MSELoss(), optimizer)
        >>> model.train(1, [(Tensor([[1.0, 2.0]]), Tensor([[1.0]]))] * 5)
        >>> model.train_network.turn.item()
        1
        """
        step = network if isinstance(network, TrainOneStepCell) else None
        if not isinstance(optimizer if step is None else step.optimizer, Thor):
            return model
        if step is not None:
            return _ThorModel(step)
        return _ThorModel(
            network, loss_fn, optimizer, metrics, amp_level=amp_level, loss_scale_manager=loss_scale_manager,
            keep_batchnorm_fp32=keep_batchnorm_fp32,
        )  # fmt: skip


class _Turns(Cell):
    """A training step that updates second-order matrices periodically; both variants are captured as graphs."""

    def __init__(self, step: Any) -> None:
        super().__init__(auto_prefix=False)
        self.step = step
        # index of the step in its cycle; a checkpoint saves it, so that a resumed run continues the cycle
        self.turn = Parameter(Tensor(0, int32), name="thor_turn", requires_grad=False)
        self._next: int | None = None
        self._frequency = self.optimizer.get_frequency()

    @property
    def optimizer(self) -> Any:
        """The optimizer of the step."""
        return self.step.optimizer

    @property
    def network(self) -> Any:
        """The network of the step, with its loss."""
        return self.step.network

    def restart(self) -> None:
        """Start a training: the index may have changed since the last one."""
        self.__dict__["_next"] = None

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        now = int(self.turn.item()) if self._next is None else self._next
        looks = now == 0
        if self.optimizer.thor is not looks or self._next is None:
            self.step.add_flags_recursive(thor=looks)
        outputs = self.step(*inputs, **kwargs)
        self.__dict__["_next"] = (now + 1) % self._frequency
        self.turn._torch.fill_(self._next)
        return outputs


class _ThorModel(Model):
    """A Model whose training step takes turns."""

    def _build_train_network(self) -> Any:
        return _Turns(super()._build_train_network())

    def _train(self, *args: Any, **kwargs: Any) -> None:
        self._train_network.restart()
        super()._train(*args, **kwargs)
