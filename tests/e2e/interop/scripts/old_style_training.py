"""Training as scripts wrote it before MindSpore 2: Graph mode set first, operations as P, F and C."""
# ruff: noqa: UP008 (they also wrote super so)

import mindspore.common.dtype as mstype
import mindspore.context as context
import mindspore.nn as nn
import mindspore.ops.composite as C
import mindspore.ops.functional as F
import mindspore.ops.operations as P
import numpy as np
from mindspore import Tensor
from mindspore._checkparam import check_positive_int
from mindspore.common.initializer import TruncatedNormal, XavierUniform, initializer
from mindspore.common.parameter import Parameter, ParameterTuple
from mindspore.nn.layer.activation import get_activation
from mindspore.ops.primitive import constexpr
from report import report

context.set_context(mode=context.GRAPH_MODE, device_target="CPU", save_graphs=False)


def fixed(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype(np.float32)


@constexpr
def half(number):
    return number // 2


class Net(nn.Cell):
    def __init__(self, channels=4, classes=3):
        super(Net, self).__init__()
        check_positive_int(channels, "channels", self.cls_name)
        self.conv = nn.Conv2d(
            1,
            channels,
            3,
            pad_mode="same",
            has_bias=True,
            bias_init="zeros",
            weight_init=Tensor(fixed(channels, 1, 3, 3)),
        )
        self.pool = nn.MaxPool2d(2, 2)
        self.act = get_activation("relu")
        self.flatten = P.Flatten()
        self.fc = nn.Dense(
            channels * 16,
            classes,
            weight_init=Tensor(fixed(classes, channels * 16, seed=1)),
            bias_init="zeros",
        )
        self.scale = Parameter(Tensor(np.ones(1, np.float32)), name="scale")
        self.mul, self.shape, self.reshape = P.Mul(), P.Shape(), P.Reshape()

    def construct(self, x):
        x = self.pool(self.act(self.conv(x)))
        x = self.reshape(x, (self.shape(x)[0], -1))
        return self.mul(self.fc(self.flatten(x)), self.scale)


class WithLoss(nn.Cell):
    def __init__(self, net):
        super(WithLoss, self).__init__(auto_prefix=False)
        self.net = net
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x, y):
        return self.loss(self.net(x), y)


grad_scale = C.MultitypeFuncGraph("grad_scale")


@grad_scale.register("Tensor", "Tensor")
def _scaled(scale, gradient):
    return gradient * F.cast(P.Reciprocal()(scale), F.dtype(gradient))


class OneStep(nn.Cell):
    def __init__(self, network, optimizer, sens=8.0):
        super(OneStep, self).__init__(auto_prefix=False)
        self.network, self.optimizer, self.sens = network, optimizer, sens
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = C.GradOperation(get_by_list=True, sens_param=True)
        self.hyper_map = C.HyperMap()

    def construct(self, x, y):
        loss = self.network(x, y)
        sens = F.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(x, y, sens)
        grads = self.hyper_map(F.partial(grad_scale, F.scalar_to_tensor(self.sens)), grads)
        grads = C.clip_by_global_norm(grads, 1.0)
        return F.depend(loss, self.optimizer(grads))


def train(make, steps=4):
    net = Net()
    step = OneStep(WithLoss(net), make(net.trainable_params()))
    step.set_train()
    x = Tensor(fixed(8, 1, 8, 8, seed=2))
    y = Tensor(np.arange(8) % 3, mstype.int32)
    losses = [float(step(x, y).asnumpy()) for _ in range(steps)]
    return (
        np.round(losses, 4),
        [p.name for p in net.trainable_params()],
        np.round(net.fc.weight.asnumpy()[0, :5], 4),
    )


def small_operations():
    x = Tensor(fixed(2, 3))
    ones = P.OnesLike()(x)
    return {
        "concat": P.Concat(1)((x, ones)).shape,
        "split": [part.shape for part in P.Split(1, 3)(x)],
        "one_hot": P.OneHot()(
            Tensor([0, 2], mstype.int32), 3, Tensor(1.0, mstype.float32), Tensor(0.0, mstype.float32)
        ),
        "top": P.TopK(sorted=True)(x, 2)[1],
        "gather": P.Gather()(x, Tensor([1], mstype.int32), 0).shape,
        "cast": str(P.Cast()(x, mstype.int32).dtype),
        "transposed": P.Transpose()(x, (1, 0)).shape,
        "sum": np.round(P.ReduceSum(keep_dims=True)(x, 0).asnumpy(), 4),
        "matmul": P.MatMul(transpose_b=True)(x, x).shape,
        "expanded": P.ExpandDims()(x, 0).shape,
        "half": half(9),
        "tuple": F.tuple_to_array((1, 2, 3)).shape,
        "initial": initializer(XavierUniform(), (3, 4), mstype.float32).shape,
        "normal": initializer(TruncatedNormal(0.02), [2, 2]).dtype == mstype.float32,
    }


def main(folder):
    return {
        "momentum": train(lambda params: nn.Momentum(params, 0.1, 0.9, weight_decay=1e-4)),
        "adam": train(lambda params: nn.Adam(params, learning_rate=1e-2)),
        "mode": context.get_context("mode") == context.GRAPH_MODE,
        **{
            name: value.asnumpy() if isinstance(value, Tensor) else value
            for name, value in small_operations().items()
        },
    }


report(main)
