"""Wrappers of a network: with loss, with gradients, with a training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.autograd.differentiation import differentiate
from millrace._src.runtime.autograd.grad_operation import GradOperation
from millrace._src.runtime.autograd.jvp_vjp import jvp, vjp
from millrace._src.runtime.distributed import parallel_context
from millrace._src.runtime.distributed.parameter_sync import broadcast_parameters
from millrace._src.runtime.nn.containers import Identity
from millrace._src.runtime.ops.array.assign import assign
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.framework.composite import depend, mixed_precision_cast
from millrace._src.runtime.ops.math.reduction import sum as sum_op
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple

from .argument_types import check_positive_int
from .cell import Cell
from .gradient_reducer import DistributedGradReducer

__all__ = [
    "ForwardValueAndGrad",
    "GradAccumulationCell",
    "Jvp",
    "MicroBatchInterleaved",
    "ParameterUpdate",
    "PipelineCell",
    "TrainOneStepCell",
    "VirtualDatasetCellTriple",
    "Vjp",
    "WithEvalCell",
    "WithGradCell",
    "WithLossCell",
]


@public("nn")
class WithLossCell(Cell):
    """A network with its loss: called with data and label, it returns the loss.

    >>> from millrace._src.runtime.nn.linear import Dense
    >>> from millrace._src.runtime.nn.loss import MSELoss
    >>> WithLossCell(Dense(2, 1), MSELoss())(Tensor([[1.0, 2.0]]), Tensor([[1.0]])).shape
    ()
    """

    def __init__(self, backbone: Any, loss_fn: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    # part of the error for another number of columns
    construct.what_helps = (  # type: ignore[attr-defined]
        ": a Model with a loss needs two columns, which dataset.project([...]) selects; for others write the Cell of "
        "network and loss yourself, and pass it to Model without a loss"
    )

    @property
    def backbone_network(self) -> Any:
        """The network."""
        return self._backbone


@public("nn")
class WithEvalCell(Cell):
    """A network with its loss for evaluation: it returns the loss, the network's output and the label.

    With `add_cast_fp32` output and label are cast to float32.
    """

    def __init__(self, network: Any, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(add_cast_fp32, bool):
            raise ArgumentTypeError(
                f"For 'WithEvalCell', the 'add_cast_fp32' must be bool, but got {type(add_cast_fp32).__name__}."
            )
        self._network, self._loss_fn, self.add_cast_fp32 = network, loss_fn, add_cast_fp32

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._network(data)
        if self.add_cast_fp32:
            label = mixed_precision_cast(float32, label)
            outputs = cast(outputs, float32)
        return self._loss_fn(outputs, label), outputs, label


@public("nn")
class WithGradCell(Cell):
    """A network with its loss: called with inputs, it returns the gradients by all weights."""

    def __init__(self, network: Any, loss_fn: Any = None, sens: Any = None) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.loss_fn = network, loss_fn
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.sens = sens
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> Any:
        call_inputs = inputs if self.sens is None else (*inputs, self.sens)
        return self.grad(self.network_with_loss, self.weights)(*call_inputs)


@public("nn")
class ForwardValueAndGrad(Cell):
    """A network: called with inputs, it returns its result and the gradients by inputs, weights or both."""

    def __init__(
        self,
        network: Any,
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise ArgumentTypeError(
                f"For 'ForwardValueAndGrad', the argument 'network' must be a Cell or a function, but got {network!r}."
            )
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list)):
            if not isinstance(value, bool):
                raise ArgumentTypeError(
                    f"For 'ForwardValueAndGrad', the type of '{name}' must be bool, but got {type(value).__name__}."
                )
        if get_by_list and weights is None:
            raise ArgumentTypeError(
                "For 'ForwardValueAndGrad', 'weights' must be Parameters where 'get_by_list' is True, but got None."
            )
        self.network, self.weights = network, weights
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def construct(self, *inputs: Any) -> Any:
        sens = None
        if self.sens_param:
            inputs, sens = inputs[:-1], _as_sens(inputs[-1])
        weights: list[Any] = []
        if self.get_by_list:
            weights = [self.weights] if isinstance(self.weights, Parameter) else list(self.weights)
        positions = range(len(inputs)) if self.get_all else range(0 if self.get_by_list else 1)
        result = differentiate(self.network, list(positions), weights, inputs, {}, sens=sens)
        by_input: Any = tuple(each for each in result.inputs if each is not None)
        if not self.get_by_list:
            return result.value, by_input if self.get_all else by_input[0]
        by_weight = tuple(result.weights)
        return result.value, (by_input, by_weight) if self.get_all else by_weight


def _as_sens(sens: Any) -> Any:
    return sens if isinstance(sens, (Tensor, tuple, list)) else Tensor(float(sens))


@public("nn")
class TrainOneStepCell(Cell):
    """A training step: computes the loss and its gradients, runs the optimizer, and returns the loss.

    The optimizer is called with the gradients of its ``parameters``. `sens` scales the loss before
    differentiation. A network may return a tuple of losses: their gradients are added, and `sens` may be a
    tuple with a factor for each. With `return_grad` the gradients are returned too, by name.

    >>> from millrace._src.runtime.nn.linear import Dense
    >>> class Descent(Cell):
    ...     def __init__(self, parameters):
    ...         super().__init__(auto_prefix=False)
    ...         self.parameters = ParameterTuple(parameters)
    ...
    ...     def construct(self, gradients):
    ...         for parameter, gradient in zip(self.parameters, gradients):
    ...             parameter.set_data(parameter - 0.1 * gradient)
    >>> net = Dense(1, 1, weight_init="ones", bias_init="zeros")
    >>> TrainOneStepCell(net, Descent(net.trainable_params()))(Tensor([[2.0]])).item()
    2.0
    >>> round(net.weight.item(), 6)
    0.8
    """

    def __init__(self, network: Any, optimizer: Any, sens: Any = None, return_grad: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = ParameterTuple(optimizer.parameters)
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.sens = 1.0 if sens is None else sens
        self.sense_flag = sens is not None
        self.return_grad = return_grad
        # an optimizer that reduces gradients itself gets those of this process
        reduces_itself = getattr(optimizer, "sums_gradients", False)
        self.reducer_flag = parallel_context.reduces_gradients() and not reduces_itself
        # all-reduces the gradients over the processes
        self.grad_reducer: Any = DistributedGradReducer(self.weights) if self.reducer_flag else Identity()
        self._alike = not parallel_context.get_auto_parallel_context("parameter_broadcast")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self._alike and not modes.thread_state.capturing:
            self.__dict__["_alike"] = True
            broadcast_parameters(self.get_parameters())
        return super().__call__(*inputs, **kwargs)

    def construct(self, *inputs: Any) -> Any:
        loss, grads = self._loss_and_gradients(inputs, self._sens() if self.sense_flag else None)
        grads = self.grad_reducer(grads)
        loss = depend(loss, self.optimizer(grads))
        if self.return_grad:
            return loss, {weight.name: grad for weight, grad in zip(self.weights, grads, strict=True)}
        return loss

    def _sens(self) -> Any:
        return self.sens

    def _loss_and_gradients(self, inputs: tuple[Any, ...], sens: Any) -> tuple[Any, tuple[Any, ...]]:
        """The loss and its gradients times `sens`; with several processes the reduction overlaps with the
        backward pass.
        """
        on_gradient = self._begin()
        if sens is None:
            result = differentiate(self.network, (), list(self.weights), inputs, {}, on_gradient=on_gradient)
            return result.value, tuple(result.weights)
        result = differentiate(
            _with_scaled_loss(self.network, sens),
            (),
            list(self.weights),
            inputs,
            {},
            has_aux=True,
            on_gradient=on_gradient,
        )
        return result.value[1], tuple(result.weights)

    def _begin(self) -> Any:
        """The callback for each gradient, if gradients are reduced over processes."""
        return self.grad_reducer.begin() if isinstance(self.grad_reducer, DistributedGradReducer) else None


def _with_scaled_loss(network: Callable[..., Any], sens: Any) -> Callable[..., Any]:
    """The scaled loss of a network, and its loss. Several losses are added, each with a separate factor."""

    def forward(*inputs: Any) -> Any:
        loss = network(*inputs)
        if not isinstance(loss, (tuple, list)):
            return cast(loss, float32) * sens, loss
        factors = list(sens) if isinstance(sens, (tuple, list)) else [sens] * len(loss)
        if len(factors) != len(loss):
            raise ArgumentValueError(
                f"the network returns {len(loss)} losses, so 'sens' must be one number or {len(loss)} of them, "
                f"but got {sens}."
            )
        parts = [sum_op(cast(each, float32) * factor) for each, factor in zip(loss, factors, strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total, loss

    return forward


@public("nn")
class ParameterUpdate(Cell):
    """Assigns values to a parameter."""

    def __init__(self, param: Any) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise ArgumentTypeError(
                f"For 'ParameterUpdate', 'param' must be 'Parameter', but got {type(param)}."
            )
        self._param = param

    def construct(self, x: Any) -> Any:
        assign(self._param, x)
        return x


class _MicroBatchCell(Cell):
    """Runs a network on equal parts of a batch in sequence and adds the results."""

    def __init__(self, network: Any, parts: Any, name: str) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise ArgumentTypeError(
                f"For '{type(self).__name__}', the argument 'network' must cell type, but got the type : "
                f"{type(network)}."
            )
        self.network, self._count = network, check_positive_int(parts, name, type(self).__name__)

    def construct(self, *inputs: Any) -> Any:
        total: Any = None
        for number in range(self._count):
            output = self.network(
                *(_micro_batch(each, number, self._count, type(self).__name__) for each in inputs)
            )
            total = output if total is None else total + output
        return total


def _micro_batch(value: Any, number: int, count: int, owner: str) -> Any:
    if not isinstance(value, Tensor):
        return value
    if value.shape[0] % count:
        raise ArgumentValueError(
            f"For '{owner}', a batch of {value.shape[0]} cannot be divided into {count} equal parts."
        )
    size = value.shape[0] // count
    return value[number * size : (number + 1) * size]


@public("nn")
class MicroBatchInterleaved(_MicroBatchCell):
    """Runs a network on micro-batches and adds the results."""

    def __init__(self, network: Any, interleave_num: int = 2) -> None:
        super().__init__(network, interleave_num, "interleave_num")
        self.interleave_num = interleave_num


@public("nn")
class GradAccumulationCell(_MicroBatchCell):
    """Runs a network on micro-batches and adds the results."""

    def __init__(self, network: Any, micro_size: int) -> None:
        super().__init__(network, micro_size, "micro_size")
        self.micro_size = micro_size


@public("nn")
class PipelineCell(_MicroBatchCell):
    """Runs a network on micro-batches and adds the results. There are no pipeline stages on one device."""

    def __init__(
        self, network: Any, micro_size: int, stage_config: Any = None, segment_config: Any = None
    ) -> None:
        super().__init__(network, micro_size, "micro_size")
        self.micro_size = micro_size


@public("nn")
class VirtualDatasetCellTriple(Cell):
    """A network with three inputs; on one device the batch is not split."""

    def __init__(self, backbone: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, a: Any, b: Any, c: Any) -> Any:
        return self._backbone(a, b, c)


@public("nn")
class Jvp(Cell):
    """The result of a network and its Jacobian-vector product; the direction is the last argument."""

    def __init__(self, fn: Any) -> None:
        super().__init__(auto_prefix=False)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        return jvp(self.fn, args[:-1], args[-1])


@public("nn")
class Vjp(Cell):
    """The result of a network and its vector-Jacobian product; the cotangent is the last argument."""

    def __init__(self, fn: Any) -> None:
        super().__init__(auto_prefix=False)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        value, vjp_function = vjp(self.fn, *args[:-1])
        gradients = vjp_function(args[-1])
        return value, gradients[0] if len(gradients) == 1 else gradients
