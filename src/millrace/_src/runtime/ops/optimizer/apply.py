"""Optimizer update operations on one parameter, in place: ApplyMomentum, ApplyAdam, ApplyFtrl and others.

Each is a class: options first, then in the call the Parameters that are written, and the other inputs. It returns
the Parameters that it wrote.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import declare
from millrace._src.core.values.tensor import Tensor as OurTensor
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.tensor.storage import unwrap, wrap

__all__ = [
    "SGD",
    "Adam",
    "AdamNoUpdateParam",
    "AdamWeightDecay",
    "ApplyAdaMax",
    "ApplyAdadelta",
    "ApplyAdagrad",
    "ApplyAdagradDA",
    "ApplyAdagradV2",
    "ApplyAdamWithAmsgrad",
    "ApplyAdamWithAmsgradV2",
    "ApplyAddSign",
    "ApplyCenteredRMSProp",
    "ApplyFtrl",
    "ApplyGradientDescent",
    "ApplyKerasMomentum",
    "ApplyMomentum",
    "ApplyPowerSign",
    "ApplyProximalAdagrad",
    "ApplyProximalGradientDescent",
    "ApplyRMSProp",
    "FusedWeightScaleApplyMomentum",
    "LARSUpdate",
]


class UpdatePrimitive(Primitive):
    """Update step in place."""

    rule: Callable[..., Any]
    signature: inspect.Signature
    num_outputs: int
    arguments: inspect.Signature
    # names of the call's arguments, and positions of those that are tensors of the same shape
    names: tuple[str, ...]
    tensor_positions: tuple[int, ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(type(self).__name__)
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentTypeError(
                f"For '{self.name}', {error}; its arguments are {self.signature}"
            ) from None
        bound.apply_defaults()
        self.options = dict(bound.arguments)
        self.__dict__.update(self.options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update the parameters in place, and return them."""
        if kwargs or len(args) != len(self.names):
            try:
                args = tuple(self.arguments.bind(*args, **kwargs).arguments.values())
            except TypeError as error:
                raise ArgumentTypeError(f"For '{self.name}', {error}; it takes {self.arguments}") from None
        tracked = False
        shape = None
        for position in self.tensor_positions:
            value = args[position]
            if not isinstance(value, OurTensor):
                raise ArgumentTypeError(
                    f"For '{self.name}', '{self.names[position]}' must be a Tensor or Parameter, but got {value!r}."
                )
            data = value._torch
            tracked = tracked or data.requires_grad
            if shape is None:
                shape = data.shape
            elif data.shape != shape:
                shapes = {self.names[each]: args[each].shape for each in self.tensor_positions}
                raise ArgumentValueError(f"For '{self.name}', the shapes must be equal, but got {shapes}.")
        raw = [unwrap(value) for value in args]
        if tracked:
            with torch.no_grad():
                output = type(self).rule(self, *raw)
        else:  # common case: a parameter requires a gradient only while a function of it is differentiated
            output = type(self).rule(self, *raw)
        if output is not None:
            return wrap(output)
        updated = tuple(args[position] for position in self.tensor_positions[: self.num_outputs])
        return updated[0] if len(updated) == 1 else updated


def define_update_primitive(
    rule: Callable[..., Any], name: str, returned: int, module: str = __name__, /, **options: Any
) -> Any:
    """Define the class of an update step that returns the first `returned` of its tensors."""
    parameters = list(inspect.signature(rule).parameters.values())[1:]
    primitive_class = type(
        name,
        (UpdatePrimitive,),
        {
            "__doc__": f"{rule.__doc__}\n\n    The parameters are updated in place.",
            "__module__": module,
            "rule": staticmethod(rule),
            "signature": inspect.Signature(
                [
                    inspect.Parameter(k, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=v)
                    for k, v in options.items()
                ]
            ),
            "arguments": inspect.Signature(
                [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
            ),
            "num_outputs": returned,
            "names": tuple(p.name for p in parameters),
            "tensor_positions": tuple(n for n, p in enumerate(parameters) if p.annotation == "Tensor"),
        },
    )
    primitive_class.__signature__ = primitive_class.signature  # type: ignore[attr-defined]
    declare(primitive_class, "ops")
    return primitive_class


def _momentum(
    o: Any, variable: Tensor, accumulation: Tensor, learning_rate: Any, gradient: Tensor, momentum: Any
) -> None:
    """Momentum: a = a * momentum + g; v = v - lr * a, or with Nesterov momentum v - lr * (g + momentum * a)."""
    gradient = gradient if o.gradient_scale == 1.0 else gradient * o.gradient_scale
    accumulation.mul_(momentum).add_(gradient)
    step = gradient + accumulation * momentum if o.use_nesterov else accumulation
    # one pass: a temporary tensor for the product takes five times as long for large parameters
    if isinstance(learning_rate, Tensor):
        variable.addcmul_(step, learning_rate, value=-1)
    else:
        variable.add_(step, alpha=-learning_rate)


def _keras_momentum(o: Any, var: Tensor, accum: Tensor, lr: Any, grad: Tensor, momentum: Any) -> None:
    """Momentum as in Keras: a = a * momentum - lr * g; v = v + a."""
    accum.mul_(momentum).sub_(grad * lr)
    var.add_(accum * momentum - grad * lr if o.use_nesterov else accum)


def _scaled_momentum(
    o: Any,
    weight_decay: Any,
    loss_scale: Any,
    variable: Tensor,
    accumulation: Tensor,
    learning_rate: Any,
    gradient: Tensor,
    momentum: Any,
) -> None:
    """Momentum of (g + weight_decay * v) * loss_scale."""
    accumulation.mul_(momentum).add_((variable * weight_decay + gradient) * loss_scale)
    variable.sub_(accumulation * learning_rate)


def _sgd(
    o: Any,
    parameters: Tensor,
    gradient: Tensor,
    learning_rate: Any,
    accum: Tensor,
    momentum: Any,
    stat: Tensor,
) -> None:
    """Gradient descent with momentum; `stat` is above 0 where the accumulation starts with this gradient."""
    if o.weight_decay:
        gradient = gradient + parameters * o.weight_decay
    gathered = accum * momentum + gradient * (1 - o.dampening)
    accum.copy_(torch.where(stat > 0, gradient, gathered))
    stat.zero_()
    parameters.sub_((gradient + accum * momentum if o.nesterov else accum) * learning_rate)


def moments(m: Tensor, v: Tensor, gradient: Tensor, beta1: Any, beta2: Any) -> None:
    m.mul_(beta1).add_(gradient * (1 - beta1))
    v.mul_(beta2).add_(gradient.square() * (1 - beta2))


def _root(value: Any) -> Any:
    return value.sqrt() if isinstance(value, Tensor) else value**0.5


def adam_step(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    gradient: Tensor,
) -> None:
    """Adam, with `epsilon` outside of the bias correction."""
    moments(m, v, gradient, beta1, beta2)
    rate = lr * _root(1 - beta2_power) / (1 - beta1_power)
    ahead = m * beta1 + gradient * (1 - beta1) if o.use_nesterov else m
    var.sub_(ahead * rate / (v.sqrt() + epsilon))


def _adam_only(
    o: Any,
    m: Tensor,
    v: Tensor,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    gradient: Tensor,
) -> Tensor:
    """Adam update that is returned and not added."""
    moments(m, v, gradient, beta1, beta2)
    rate = lr * _root(1 - beta2_power) / (1 - beta1_power)
    ahead = m * beta1 + gradient * (1 - beta1) if o.use_nesterov else m
    return -ahead * rate / (v.sqrt() + epsilon)


def _adam_decay(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    decay: Any,
    gradient: Tensor,
) -> None:
    """Adam without bias correction, with decoupled weight decay."""
    moments(m, v, gradient, beta1, beta2)
    var.sub_((m / (v.sqrt() + epsilon) + var * decay) * lr)


def _amsgrad_v2(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    vhat: Tensor,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Tensor,
) -> None:
    """AMSGrad: Adam with the largest second moment so far."""
    moments(m, v, grad, beta1, beta2)
    vhat.copy_(torch.maximum(vhat, v))
    var.sub_(m * (lr * _root(1 - beta2_power) / (1 - beta1_power)) / (vhat.sqrt() + epsilon))


def _amsgrad(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    vhat: Tensor,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    grad: Tensor,
) -> None:
    """AMSGrad: Adam with the largest second moment so far."""
    _amsgrad_v2(o, var, m, v, vhat, beta1_power, beta2_power, lr, o.beta1, o.beta2, o.epsilon, grad)


def _adamax(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Tensor,
) -> None:
    """AdaMax: Adam with the infinity norm instead of the second moment."""
    m.mul_(beta1).add_(grad * (1 - beta1))
    v.copy_(torch.maximum(v * beta2, grad.abs()))
    var.sub_(m / (v + epsilon) * (lr / (1 - beta1_power)))


def _rmsprop(
    o: Any,
    var: Tensor,
    mean_square: Tensor,
    moment: Tensor,
    learning_rate: Any,
    grad: Tensor,
    decay: Any,
    momentum: Any,
    epsilon: Any,
) -> None:
    """RMSProp with momentum: the gradient divided by the root of its running mean square."""
    mean_square.mul_(decay).add_(grad.square() * (1 - decay))
    moment.mul_(momentum).add_(grad * learning_rate * torch.rsqrt(mean_square + epsilon))
    var.sub_(moment)


def _centered(
    o: Any,
    var: Tensor,
    mean_gradient: Tensor,
    mean_square: Tensor,
    moment: Tensor,
    grad: Tensor,
    learning_rate: Any,
    decay: Any,
    momentum: Any,
    epsilon: Any,
) -> None:
    """Centered RMSProp, by the running variance; parameters stay where it is not above 0."""
    mean_gradient.mul_(decay).add_(grad * (1 - decay))
    mean_square.mul_(decay).add_(grad.square() * (1 - decay))
    spread = mean_square - mean_gradient.square() + epsilon
    moves = spread > 0
    step = moment * momentum + grad * learning_rate * torch.rsqrt(torch.where(moves, spread, 1.0))
    moment.copy_(torch.where(moves, step, moment))
    var.sub_(torch.where(moves, step, 0.0))


def adagrad_step(o: Any, var: Tensor, accum: Tensor, lr: Any, grad: Tensor) -> None:
    """Adagrad: the gradient divided by the root of the sum of its squares."""
    if o.update_slots:
        accum.add_(grad.square())
    var.sub_(grad * lr / accum.sqrt())


def adagrad_v2_step(o: Any, var: Tensor, accum: Tensor, lr: Any, grad: Tensor) -> None:
    """Adagrad with epsilon: the gradient divided by the root of the sum of its squares plus epsilon."""
    if o.update_slots:
        accum.add_(grad.square())
    var.sub_(grad * lr / (accum.sqrt() + o.epsilon))


def _adagrad_da(
    o: Any,
    var: Tensor,
    gradient_accumulator: Tensor,
    gradient_squared_accumulator: Tensor,
    grad: Tensor,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
) -> None:
    """Adagrad with dual averaging."""
    gradient_accumulator.add_(grad)
    gradient_squared_accumulator.add_(grad.square())
    far = gradient_accumulator.sign() * (gradient_accumulator.abs() - l1 * global_step).clamp_min(0)
    var.copy_(-lr * far / (l2 * global_step * lr + gradient_squared_accumulator.sqrt()))


def adadelta_step(
    o: Any, var: Tensor, accum: Tensor, accum_update: Tensor, lr: Any, rho: Any, epsilon: Any, grad: Tensor
) -> None:
    """Adadelta: the gradient times the ratio of the running sizes of updates and gradients."""
    accum.mul_(rho).add_(grad.square() * (1 - rho))
    step = (accum_update + epsilon).sqrt() * torch.rsqrt(accum + epsilon) * grad
    accum_update.mul_(rho).add_(step.square() * (1 - rho))
    var.sub_(step * lr)


def ftrl_step(
    o: Any, var: Tensor, accum: Tensor, linear: Tensor, grad: Tensor, lr: Any, l1: Any, l2: Any, lr_power: Any
) -> None:
    """FTRL (follow the regularized leader). (MindSpore's CPU kernel adds l1 with the wrong sign where `linear` is
    below 0.)
    """
    power = -lr_power
    before = accum.pow(power)
    accum.add_(grad.square())
    after = accum.pow(power)
    linear.add_(grad - (after - before) / lr * var)
    kept = linear.abs() > l1
    var.copy_(torch.where(kept, (linear.sign() * l1 - linear) / (after / lr + 2 * l2), 0.0))


def _add_sign(
    o: Any, var: Tensor, m: Tensor, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Tensor
) -> None:
    """AddSign: a longer step where the gradient and its running mean have the same sign."""
    m.mul_(beta).add_(grad * (1 - beta))
    var.sub_((alpha + sign_decay * grad.sign() * m.sign()) * grad * lr)


def _power_sign(
    o: Any, var: Tensor, m: Tensor, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Tensor
) -> None:
    """PowerSign: a much longer step where the gradient and its running mean have the same sign."""
    m.mul_(beta).add_(grad * (1 - beta))
    var.sub_(torch.exp(logbase * sign_decay * grad.sign() * m.sign()) * grad * lr)


def _gradient_descent(o: Any, var: Tensor, alpha: Any, delta: Tensor) -> None:
    """v = v - alpha * delta."""
    var.sub_(delta * alpha)


def _proximal_step(var: Tensor, away: Tensor, rate: Any, l1: Any, l2: Any) -> None:
    var.copy_(away.sign() * (away.abs() - rate * l1).clamp_min(0) / (1 + rate * l2))


def _proximal(o: Any, var: Tensor, alpha: Any, l1: Any, l2: Any, delta: Tensor) -> None:
    """Proximal gradient descent with L1 and L2 regularization."""
    _proximal_step(var, var - delta * alpha, alpha, l1, l2)


def proximal_step(o: Any, var: Tensor, accum: Tensor, lr: Any, l1: Any, l2: Any, grad: Tensor) -> None:
    """Proximal Adagrad with L1 and L2 regularization."""
    accum.add_(grad.square())
    rate = lr * torch.rsqrt(accum)
    _proximal_step(var, var - grad * rate, rate, l1, l2)


def _lars(
    o: Any,
    weight: Tensor,
    gradient: Tensor,
    norm_weight: Any,
    norm_gradient: Any,
    weight_decay: Any,
    learning_rate: Any,
) -> Tensor:
    """LARS: scale the gradient by the ratio of the weight's norm to its norm. Norms are given as sums of squares."""
    w, g = _root(norm_weight), _root(norm_gradient)
    ratio = o.hyperpara * w / (g + weight_decay * w + o.epsilon)
    if o.use_clip:
        ratio = torch.as_tensor(ratio / learning_rate).clamp_max(1.0)
    return (gradient + weight * weight_decay) * ratio


_LOCK = {"use_locking": False}
ApplyMomentum = define_update_primitive(
    _momentum, "ApplyMomentum", 1, use_nesterov=False, use_locking=False, gradient_scale=1.0
)
ApplyKerasMomentum = define_update_primitive(
    _keras_momentum, "ApplyKerasMomentum", 2, use_locking=False, use_nesterov=False
)
FusedWeightScaleApplyMomentum = define_update_primitive(_scaled_momentum, "FusedWeightScaleApplyMomentum", 1)
SGD = define_update_primitive(_sgd, "SGD", 1, dampening=0.0, weight_decay=0.0, nesterov=False)
Adam = define_update_primitive(adam_step, "Adam", 3, use_locking=False, use_nesterov=False)
AdamNoUpdateParam = define_update_primitive(
    _adam_only, "AdamNoUpdateParam", 2, use_locking=False, use_nesterov=False
)
AdamWeightDecay = define_update_primitive(_adam_decay, "AdamWeightDecay", 3, **_LOCK)
ApplyAdamWithAmsgrad = define_update_primitive(
    _amsgrad, "ApplyAdamWithAmsgrad", 4, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False
)
ApplyAdamWithAmsgradV2 = define_update_primitive(_amsgrad_v2, "ApplyAdamWithAmsgradV2", 4, **_LOCK)
ApplyAdaMax = define_update_primitive(_adamax, "ApplyAdaMax", 3)
ApplyRMSProp = define_update_primitive(_rmsprop, "ApplyRMSProp", 1, **_LOCK)
ApplyCenteredRMSProp = define_update_primitive(_centered, "ApplyCenteredRMSProp", 1, **_LOCK)
ApplyAdagrad = define_update_primitive(adagrad_step, "ApplyAdagrad", 2, update_slots=True)
ApplyAdagradV2 = define_update_primitive(
    adagrad_v2_step, "ApplyAdagradV2", 2, epsilon=inspect.Parameter.empty, update_slots=True
)
ApplyAdagradDA = define_update_primitive(_adagrad_da, "ApplyAdagradDA", 1, **_LOCK)
ApplyAdadelta = define_update_primitive(adadelta_step, "ApplyAdadelta", 3)
ApplyFtrl = define_update_primitive(ftrl_step, "ApplyFtrl", 1, **_LOCK)
ApplyAddSign = define_update_primitive(_add_sign, "ApplyAddSign", 2)
ApplyPowerSign = define_update_primitive(_power_sign, "ApplyPowerSign", 2)
ApplyGradientDescent = define_update_primitive(_gradient_descent, "ApplyGradientDescent", 1)
ApplyProximalGradientDescent = define_update_primitive(_proximal, "ApplyProximalGradientDescent", 1)
ApplyProximalAdagrad = define_update_primitive(proximal_step, "ApplyProximalAdagrad", 2, **_LOCK)
LARSUpdate = define_update_primitive(_lars, "LARSUpdate", 0, epsilon=1e-5, hyperpara=0.001, use_clip=False)
