"""Training as scripts write it now: functions and value_and_grad, mint, a jit step, state_dict, in both modes."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, mint, nn, ops
from report import attempt, report


def fixed(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype(np.float32)


class Block(nn.Cell):
    def __init__(self, width, seed):
        super().__init__()
        self.norm = nn.LayerNorm((width,))
        self.up = nn.Dense(
            width,
            2 * width,
            weight_init=Tensor(fixed(2 * width, width, seed=seed)),
            activation="gelu",
            bias_init="zeros",
        )
        self.down = nn.Dense(
            2 * width, width, weight_init=Tensor(fixed(width, 2 * width, seed=seed + 1)), bias_init="zeros"
        )
        self.register_buffer("calls", Tensor([0.0]))

    def construct(self, x):
        return x + self.down(self.up(self.norm(x)))


class Net(nn.Cell):
    def __init__(self, width=6, classes=3):
        super().__init__()
        self.blocks = nn.CellList([Block(width, 2 * n) for n in range(2)])
        self.head = Parameter(Tensor(fixed(width, classes, seed=9)), name="head")

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return mint.matmul(x, self.head)


def train(mode, steps=4, jit=False):
    ms.set_context(mode=mode)
    net, loss_fn = Net(), nn.CrossEntropyLoss()
    optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=0.01, weight_decay=0.01)

    def forward(x, y):
        logits = net(x)
        return loss_fn(logits, y), logits

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x, y):
        (loss, _), grads = grad_fn(x, y)
        optimizer(grads)
        return loss

    if jit:
        step = ms.jit(step)
    x, y = Tensor(fixed(8, 6, seed=3)), Tensor(np.arange(8) % 3, ms.int32)
    losses = [float(step(x, y)) for _ in range(steps)]
    found = np.round(losses, 4), np.round(net.head.asnumpy()[0], 4)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    return found


def states():
    one, other = Net(), Net()
    one.head.set_data(Tensor(fixed(6, 3, seed=11)))
    answer = other.load_state_dict(one.state_dict())
    same = np.array_equal(one.head.asnumpy(), other.head.asnumpy())
    partial = {name: value for name, value in one.state_dict().items() if "norm" not in name}
    loose = other.load_state_dict({**partial, "more": Tensor(1)}, strict=False)
    return {
        "keys": list(one.state_dict()),
        "answer": str(answer),
        "same": same,
        "missing": loose.missing_keys,
        "unexpected": loose.unexpected_keys,
        "strict": attempt(lambda: other.load_state_dict(partial)),
        "buffers": [name for name, _ in one.named_buffers()],
        "sub": one.get_sub_cell("blocks.1.up").weight.shape,
        "no_buffer": attempt(lambda: one.get_buffer("head")),
        "assigned": attempt(lambda: setattr(one.blocks[0], "calls", Tensor([1.0]))),
    }


def summed(row):
    return row.sum()


def functions():
    x = Tensor(fixed(3))
    cube = lambda x: (x**3).sum()  # noqa: E731
    return {
        "grad": np.round(ms.grad(cube)(x).asnumpy(), 4),
        "second": np.round(ms.grad(lambda x: ms.grad(cube)(x).sum())(x).asnumpy(), 4),
        "jvp": np.round(ms.jvp(cube, x, ops.ones_like(x))[1].asnumpy(), 4),
        "vmap": ms.vmap(summed)(Tensor(np.ones((2, 3), np.float32))).asnumpy(),
        "softmax": np.round(mint.nn.functional.softmax(x, dim=0).asnumpy(), 4),
        "where": mint.where(x > 0, x, ops.zeros_like(x)).asnumpy() >= 0,
        "sorted": ops.sort(x, descending=True)[1].asnumpy(),
        "stop": ms.grad(lambda x: (ops.stop_gradient(x) * x).sum())(x).asnumpy(),
        "dynamic": Tensor(shape=[3, None], dtype=ms.float32).shape,
    }


def main(folder):
    return {
        "pynative": train(ms.PYNATIVE_MODE),
        "graph": train(ms.GRAPH_MODE),
        "jit": train(ms.PYNATIVE_MODE, jit=True),
        **states(),
        **functions(),
    }


report(main)
