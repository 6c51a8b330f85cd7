"""Names from the paths that scripts have copied from MindSpore's own files."""

import numpy as np
from mindspore import Tensor
from mindspore import dtype as mstype
from mindspore import log as logger
from mindspore.common import set_seed
from mindspore.common.api import jit
from mindspore.common.initializer import HeNormal, Normal, Uniform, Zero, initializer
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor as DeepTensor
from mindspore.nn.cell import Cell
from mindspore.nn.layer.basic import Dense
from mindspore.nn.layer.container import CellList, SequentialCell
from mindspore.nn.layer.conv import Conv2d
from mindspore.nn.layer.normalization import BatchNorm2d, LayerNorm
from mindspore.nn.layer.pooling import AvgPool2d
from mindspore.nn.learning_rate_schedule import CosineDecayLR, LearningRateSchedule
from mindspore.nn.loss.loss import LossBase, MSELoss
from mindspore.nn.optim.momentum import Momentum
from mindspore.nn.optim.optimizer import Optimizer
from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell, WithLossCell
from mindspore.ops import composite, functional, operations
from mindspore.ops.composite import GradOperation
from mindspore.ops.function.array_func import expand_dims
from mindspore.ops.function.math_func import matmul
from mindspore.ops.function.nn_func import softmax
from mindspore.ops.operations.array_ops import Concat, Reshape
from mindspore.ops.operations.math_ops import Add, MatMul
from mindspore.ops.operations.nn_ops import ReLU, Softmax
from mindspore.ops.primitive import Primitive
from report import report


class Head(Cell):
    def __init__(self):
        super().__init__()
        self.layers = SequentialCell([Conv2d(1, 2, 3), BatchNorm2d(2), AvgPool2d(2, 2)])
        self.more = CellList([LayerNorm([4]), Dense(4, 2)])

    def construct(self, x):
        return self.more[1](self.more[0](Reshape()(self.layers(x), (-1, 4))))


class Squared(LossBase):
    def construct(self, base, target):
        return self.get_loss(functional.square(base - target))


class Halving(LearningRateSchedule):
    def __init__(self):
        super().__init__()
        self.half = Tensor(0.5, mstype.float32)

    def construct(self, global_step):
        return functional.pow(self.half, functional.cast(global_step, mstype.float32))


@jit
def twice(x):
    return x * 2


def main(folder):
    set_seed(3)
    logger.debug("a script may log")
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    net = Head()
    step = TrainOneStepCell(WithLossCell(net, MSELoss()), Momentum(net.trainable_params(), 0.1, 0.9))
    image = Tensor(np.ones((2, 1, 4, 4), np.float32))
    before = net.more[1].weight.asnumpy().copy()
    step.set_train()
    step(image, Tensor(np.ones((4, 2), np.float32)))
    return {
        "one_class": DeepTensor is Tensor,
        "same": [
            composite.GradOperation is GradOperation,
            operations.Add is Add,
            issubclass(Momentum, Optimizer),
        ],
        "primitive": issubclass(Add, Primitive),
        "shapes": [
            expand_dims(x, 0).shape,
            matmul(x, x.T).shape,
            MatMul()(x, x.T).shape,
            Concat(0)((x, x)).shape,
        ],
        "values": [np.round(softmax(x, -1).asnumpy(), 4), Softmax()(x).shape, ReLU()(-x).asnumpy().max()],
        "net": [net(image).shape, [p.name for p in net.trainable_params()]],
        "learnt": bool((net.more[1].weight.asnumpy() != before).any()),
        "loss": float(Squared("mean")(x, x + 2).asnumpy()),
        "rates": [float(Halving()(Tensor(n, mstype.int32)).asnumpy()) for n in (0, 1, 3)],
        "cosine": round(float(CosineDecayLR(0.01, 0.1, 10)(Tensor(5, mstype.int32)).asnumpy()), 5),
        "initial": [
            initializer(kind, (2, 2)).shape for kind in (HeNormal(), Normal(0.1), Uniform(0.1), Zero())
        ],
        "jit": twice(x).asnumpy(),
        "parameter": Parameter(Tensor([1.0]), name="w").name,
    }


report(main)
