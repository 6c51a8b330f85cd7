"""What a user sees of optimizers besides their numbers, which tests/parity/runtime/optim compares with MindSpore's."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
from millrace import (  # noqa: E402
    GRAPH_MODE,
    PYNATIVE_MODE,
    Parameter,
    RowTensor,
    Tensor,
    nn,
    ops,
    set_context,
)


def two():
    return [Parameter(Tensor([1.0, 2.0]), name="a"), Parameter(Tensor([3.0, 4.0]), name="b")]


def ones():
    return Tensor([1.0, 1.0]), Tensor([1.0, 1.0])


@pytest.fixture(params=[PYNATIVE_MODE, GRAPH_MODE])
def mode(request):
    set_context(mode=request.param)
    yield request.param
    set_context(mode=PYNATIVE_MODE)


REFUSED = {
    "negative rate": (lambda: nn.Momentum(two(), -0.1, 0.9), ValueError, "must be float and must >= 0"),
    "no rate": (lambda: nn.Momentum(two(), None, 0.9), TypeError, "'learning_rate' must be int, float, Tensor"),
    "negative momentum": (lambda: nn.Momentum(two(), 0.1, -0.9), ValueError, "at least 0.0, but got -0.9"),
    "momentum of another type": (lambda: nn.Momentum(two(), 0.1, 0), TypeError, "but got type 'int'"),
    "negative decay": (lambda: nn.Momentum(two(), 0.1, 0.9, -0.1), ValueError, "'weight_decay' must be float"),
    "decay of another type": (lambda: nn.Momentum(two(), 0.1, 0.9, "s"), TypeError, "must be int, float or Cell"),
    "no scale": (lambda: nn.Momentum(two(), 0.1, 0.9, 0.0, 0.0), ValueError, "must be float and must > 0"),
    "no parameters": (lambda: nn.Momentum([], 0.1, 0.9), ValueError, "must not be empty"),
    "None": (lambda: nn.Momentum(None, 0.1, 0.9), ValueError, "can not be None"),
    "a number": (lambda: nn.Momentum(3, 0.1, 0.9), TypeError, "must be Iterable type"),
    "numbers": (lambda: nn.Momentum([1], 0.1, 0.9), TypeError, "must be 'Parameter' or 'dict'"),
    "unknown key": (lambda: nn.Momentum([{"params": two(), "x": 1}], 0.1, 0.9), KeyError, "but got \\['x'\\]"),
    "no params": (lambda: nn.Momentum([{"lr": 1}], 0.1, 0.9), KeyError, "must have the key 'params'"),
    "twice": (lambda: nn.Momentum(two() + two(), 0.1, 0.9), ValueError, "name 'a' already exists"),
    "twice in groups": (lambda: nn.Momentum([{"params": two()}] * 2, 0.1, 0.9), ValueError, "name 'a' already exists"),
    "short order": (
        lambda: nn.Momentum([{"params": two()}, {"order_params": two()[:1]}], 0.1, 0.9), ValueError, "length 1, group",
    ),
    "order of others": (
        lambda: nn.Momentum([{"params": two()[:1]}, {"order_params": two()[1:]}], 0.1, 0.9), ValueError, "every param",
    ),
    "centred": (
        lambda: nn.Momentum([{"params": two(), "grad_centralization": 3}], 0.1, 0.9), TypeError, "must be bool type",
    ),
    "matrix of rates": (lambda: nn.SGD(two(), Tensor([[0.1]])), ValueError, "should be 0 or 1, but got 2"),
    "nesterov": (lambda: nn.SGD(two(), 0.1, nesterov=True), ValueError, "'momentum' must be > 0.0"),
    "dampening": (lambda: nn.SGD(two(), 0.1, dampening=-1.0), ValueError, "'dampening' must be at least 0.0"),
    "beta": (lambda: nn.Adam(two(), beta1=1.0), ValueError, "must be in range of \\(0.0, 1.0\\), but got 1.0"),
    "eps": (lambda: nn.Adam(two(), eps=0.0), ValueError, "the 'eps' must be float and must > 0"),
    "keyword": (lambda: nn.Adam(two(), foo=1), KeyError, "supported keys are 'use_lazy'"),
    "both": (lambda: nn.Adam(two(), use_lazy=True, use_offload=True), ValueError, "can not both be True"),
    "amsgrad": (lambda: nn.Adam(two(), use_lazy=True, use_amsgrad=True), ValueError, "no parameter named"),
    "gradients missing": (lambda: nn.Adam(two())(ones()[:1]), ValueError, "each of its 2 parameters, but got 1"),
    "gradients of another shape": (
        lambda: nn.Adam(two())((Tensor([1.0]), Tensor([1.0]))), ValueError, "gradient of 'a' must have its shape",
    ),
    "no gradients": (lambda: nn.Adam(two())((1.0, 2.0)), TypeError, "but got 1.0"),
    "another's parameter": (lambda: nn.Adam(two()).get_lr_parameter(two()[0]), ValueError, "a is not in optimizer"),
    "no parameter": (lambda: nn.Adam(two()).get_lr_parameter(3), TypeError, "must be 'Parameter' or 'list' type"),
    "target": (lambda: setattr(nn.Adam(two()), "target", "GPU"), ValueError, "cannot be set to 'GPU'"),
    "unknown target": (lambda: setattr(nn.Adam(two()), "target", "x"), ValueError, "must be one of"),
    "no target": (lambda: setattr(nn.SGD(two()), "target", "CPU"), NotImplementedError, "updated on their device"),
    "unique": (lambda: setattr(nn.SGD(two()), "unique", 3), TypeError, "must be bool"),
    "FTRL's rate": (lambda: nn.FTRL(two(), learning_rate=[0.1, 0.2]), ValueError, "currently not supported in FTRL"),
    "FTRL's power": (lambda: nn.FTRL(two(), lr_power=0.5), ValueError, "lr_power"),
    "etas": (lambda: nn.Rprop(two(), etas=(0.5, 0.9)), ValueError, "etaplus must be greater than 1.0"),
    "etas of another type": (lambda: nn.Rprop(two(), etas=[0.5, 1.2]), TypeError, "etas must be a tuple"),
    "step sizes": (lambda: nn.Rprop(two(), step_sizes=(2.0, 1.0)), ValueError, "but got 2.0 > 1.0"),
    "two rates": (lambda: nn.AdaFactor(two(), 0.1), ValueError, "Cannot combine manual lr"),
    "neither": (lambda: nn.AdaFactor(two(), relative_step=False), ValueError, "Cannot learning_rate is None"),
    "rho": (lambda: nn.Adadelta(two(), rho=1.5), ValueError, "in range of"),
    "the base": (lambda: nn.Optimizer(0.1, two())(ones()), NotImplementedError, "construct"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused(name):
    make, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        make()


def test_nesterov_looks_ahead():
    """MindSpore's CPU kernel leaves this out."""
    params = two()
    optimizer = nn.Momentum(params, 0.1, 0.9, use_nesterov=True)
    optimizer(ones())
    optimizer(ones())
    steps = 0.1 * (1 + 0.9 * 1) + 0.1 * (1 + 0.9 * 1.9)
    assert params[0].asnumpy() == pytest.approx([1 - steps, 2 - steps])


def test_the_rate_of_a_parameter():
    params = two()
    plain = nn.Adam(params, 0.25)
    assert plain.get_lr_parameter(params[0]) is plain.learning_rate
    assert plain.get_lr().item() == 0.25
    groups = [{"params": params[:1], "lr": 0.5}, {"params": params[1:]}]
    grouped = nn.Adam(groups, 0.25)
    assert [rate.item() for rate in grouped.get_lr_parameter(params)] == [0.5, 0.25]
    listed = nn.Adam(params, [0.1, 0.2])
    assert listed.get_lr_parameter(params[0]).asnumpy() == pytest.approx([0.1, 0.2])
    schedule = nn.WarmUpLR(0.1, 3)
    assert nn.Adam(params, schedule).get_lr_parameter(params[0]) is schedule


def test_a_rate_among_lists_keeps_its_value():
    """MindSpore adds 1 and takes it away, and a rate of 0.001 becomes 0.00100005."""
    params = two()
    optimizer = nn.SGD([{"params": params[:1], "lr": [0.2, 0.3]}, {"params": params[1:]}], 0.001)
    assert [rate.item() for rate in optimizer.get_lr()] == [np.float32(0.2), np.float32(0.001)]


def test_after_the_end_of_a_list_the_last_rate_stays(mode):
    params = two()
    optimizer = nn.SGD(params, [1.0, 0.5])
    for _ in range(4):
        optimizer(ones())
    assert params[0].asnumpy().tolist() == [1 - 2.5, 2 - 2.5]
    assert optimizer.global_step.asnumpy().tolist() == [4]


def test_a_rate_that_is_written_is_used_by_the_next_step(mode):
    params = two()
    optimizer = nn.Momentum(params, 1.0, 0.0)
    optimizer(ones())
    optimizer(ones())
    ops.assign(optimizer.learning_rate, Tensor(0.5))
    optimizer(ones())
    assert params[0].asnumpy().tolist() == [-1.5, -0.5]


def test_gradients_are_centred_in_groups_that_say_so(mode):
    weight = Parameter(Tensor(np.zeros((2, 16, 2), np.float32)), name="conv.weight")
    other = Parameter(Tensor(np.zeros((2, 3), np.float32)), name="fc.weight")
    optimizer = nn.SGD([{"params": [weight, other], "grad_centralization": True}], 1.0)
    optimizer(
        (Tensor(np.arange(64.0).reshape(2, 16, 2).astype(np.float32)), Tensor(np.ones((2, 3), np.float32)))
    )
    assert weight.asnumpy().mean(axis=(1, 2)).tolist() == [0, 0]
    assert weight.asnumpy()[0, 0].tolist() == [15.5, 14.5]
    assert other.asnumpy().tolist() == [[-1.0] * 3] * 2  # not a multiple of 16


def test_an_optimizer_of_ones_own(mode):
    class Own(nn.Optimizer):
        def __init__(self, params, learning_rate, momentum):
            super().__init__(learning_rate, params, weight_decay=0.5, loss_scale=2.0)
            self.moments = self.parameters.clone(prefix="moments", init="zeros")
            self.momentum = momentum
            self.opt = ops.ApplyMomentum()

        def construct(self, gradients):
            gradients = self.flatten_gradients(gradients)
            gradients = self.decay_weight(gradients)
            gradients = self.gradients_centralization(gradients)
            gradients = self.scale_grad(gradients)
            lr = self.get_lr()
            self.assignadd(self.global_step, self.global_step_increase_tensor)
            success = None
            for param, moment, grad in zip(self.parameters, self.moments, gradients, strict=True):
                success = self.opt(param, moment, lr, grad, self.momentum)
            return success

    params = two()
    optimizer = Own(params, nn.WarmUpLR(1.0, 2), 0.5)
    for _ in range(3):
        optimizer((Tensor([2.0, 2.0]), Tensor([2.0, 2.0])))
    # gradients 1 + 0.5 * p; rates 0, 0.5, 1
    p, moment = 1.0, 0.0
    for rate in (0.0, 0.5, 1.0):
        moment = 0.5 * moment + 1 + 0.5 * p
        p -= rate * moment
    assert params[0].asnumpy()[0] == pytest.approx(p)
    assert optimizer.global_step.asnumpy().tolist() == [3]
    assert (optimizer.unique, optimizer.target) == (True, "CPU")


def after(make, weights, gradients):
    """Where an optimizer takes one parameter."""
    param = Parameter(Tensor(np.array(weights, np.float32)), name="fc.weight")
    optimizer = make([param])
    for each in gradients:
        optimizer((Tensor(np.array(each, np.float32)),))
    return param.asnumpy().astype(float)


def test_lamb_is_the_papers():
    p, m, v = np.array([3.0, 4.0]), np.zeros(2), np.zeros(2)
    gradients = [[1.0, -1.0], [0.5, 2.0], [0.1, -0.3]]
    for step, g in enumerate(np.array(gradients), 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        r = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-6) + 0.1 * p
        p = p - 0.1 * np.linalg.norm(p) / np.linalg.norm(r) * r
    assert after(lambda q: nn.Lamb(q, 0.1, weight_decay=0.1), [3.0, 4.0], gradients) == pytest.approx(
        p, rel=1e-5
    )
    zero = after(lambda q: nn.Lamb(q, 0.1), [0.0, 0.0], [[1.0, 1.0]])
    assert zero == pytest.approx([-0.1, -0.1], rel=1e-4)  # the ratio is 1


def test_lars_brings_gradients_to_the_scale_of_weights():
    p, moment = np.array([3.0, 4.0]), np.zeros(2)
    for g in np.array([[1.0, -1.0], [0.5, 2.0]]):
        size = np.linalg.norm(p)
        ratio = 0.5 * size / (np.linalg.norm(g) + 0.1 * size + 1e-5)
        moment = 0.9 * moment + min(ratio / 0.2, 1.0) * (g + 0.1 * p)
        p = p - 0.2 * moment
    make = lambda q: nn.LARS(  # noqa: E731
        nn.Momentum(q, 0.2, 0.9, weight_decay=0.1, loss_scale=8.0), coefficient=0.5, use_clip=True
    )
    assert after(make, [3.0, 4.0], [[8.0, -8.0], [4.0, 16.0]]) == pytest.approx(p, rel=1e-5)
    left_out = after(
        lambda q: nn.LARS(nn.SGD(q, 1.0), lars_filter=lambda x: "weight" not in x.name), [3.0], [[1.0]]
    )
    assert left_out.tolist() == [2.0]
    with pytest.raises(TypeError, match="should be 'Optimizer'"):
        nn.LARS(3)


def test_ftrl_goes_towards_0_from_both_sides():
    """MindSpore's CPU kernel does it on one side only."""
    ends = after(lambda q: nn.FTRL(q, learning_rate=0.1, l1=0.3), [0.5, -0.5], [[1.0, -1.0], [0.2, -0.2]])
    assert ends[0] == -ends[1] != 0


def test_adagrad_may_leave_its_sum_alone():
    ends = after(lambda q: nn.Adagrad(q, 4.0, 1.0, update_slots=False), [1.0], [[1.0], [1.0]])
    assert ends.tolist() == [0.0]


def rows():
    return RowTensor(Tensor([1, 3, 1]), Tensor([[1.0], [2.0], [3.0]]), (5, 1))


def table():
    return Parameter(Tensor(np.arange(5.0, dtype=np.float32).reshape(5, 1)), name="table")


@pytest.mark.parametrize(
    "make", [lambda p: nn.Adam(p, 0.1), lambda p: nn.SGD(p, 0.1, 0.9, weight_decay=0.1, loss_scale=2.0)]
)
def test_gradients_of_some_rows_are_as_the_whole(make):
    dense = np.array([[0], [4], [0], [2], [0]], np.float32)
    ends = []
    for gradient in (rows(), Tensor(dense)):
        weights = table()
        optimizer = make([weights])
        optimizer((gradient,))
        optimizer((gradient,))
        ends.append(weights.asnumpy())
    assert ends[0] == pytest.approx(ends[1])


@pytest.mark.parametrize(
    "make",
    [lambda p: nn.FTRL(p, learning_rate=0.1), lambda p: nn.ProximalAdagrad(p, learning_rate=0.1, l1=0.1)],
)
def test_ftrl_and_proximal_adagrad_leave_other_rows_alone(make, mode):
    weights, whole = table(), table()
    lazy, dense = make([weights]), make([whole])
    lazy((rows(),))
    dense((Tensor(np.array([[0], [4], [0], [2], [0]], np.float32)),))
    ends, others = weights.asnumpy(), whole.asnumpy()
    assert ends[[1, 3]].tolist() == others[[1, 3]].tolist()
    assert ends[[0, 2, 4]].tolist() == table().asnumpy()[[0, 2, 4]].tolist()


@pytest.mark.parametrize("make", [lambda p: nn.LazyAdam(p, 0.1), lambda p: nn.Adam(p, 0.1, use_lazy=True)])
def test_lazy_optimizers_leave_other_rows_alone(make):
    weights = table()
    optimizer = make([weights])
    optimizer((rows(),))
    optimizer((RowTensor(Tensor([0]), Tensor([[1.0]]), (5, 1)),))
    moved = (weights.asnumpy() != table().asnumpy()).ravel().tolist()
    assert moved == [True, True, False, True, False]
    assert optimizer.moment1[0].asnumpy().ravel() == pytest.approx([0.1, 0.4, 0, 0.2, 0])


def test_a_step_takes_few_calls_whatever_the_number_of_parameters():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Counting.calls += 1
            return func(*args, **(kwargs or {}))

    def calls(count, make):
        params = [Parameter(Tensor([1.0, 2.0]), name=f"p{n}") for n in range(count)]
        optimizer, grads = make(params), tuple(Tensor([1.0, 1.0]) + 0 for _ in params)
        Counting.calls = 0
        with Counting():
            optimizer(grads)
        return Counting.calls

    for make in (lambda p: nn.Momentum(p, 0.1, 0.9), lambda p: nn.Adam(p, 0.1, weight_decay=0.1)):
        assert calls(60, make) == calls(2, make) < 30


def test_a_step_of_training_in_both_modes():
    ends = []
    for mode in (PYNATIVE_MODE, GRAPH_MODE):
        set_context(mode=mode)
        try:
            net = nn.SequentialCell(
                nn.Dense(4, 8, "ones", "zeros"), nn.ReLU(), nn.Dense(8, 2, "ones", "zeros")
            )
            optimizer = nn.Adam(net.trainable_params(), nn.CosineDecayLR(0.01, 0.1, 5), weight_decay=0.01)
            step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
            x = Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
            y = Tensor(np.ones((3, 2), np.float32))
            losses = [step(x, y).item() for _ in range(5)]
            ends.append((losses, [p.asnumpy().tolist() for p in step.get_parameters()]))
        finally:
            set_context(mode=PYNATIVE_MODE)
    assert ends[0] == ends[1]
    assert ends[0][0][-1] < ends[0][0][0]


def test_parameters_in_bfloat16():
    weight = Parameter(Tensor([1.0, 2.0], ms.bfloat16), name="w")
    optimizer = nn.Adam([weight], 0.5)
    optimizer((Tensor([1.0, -1.0], ms.bfloat16),))
    assert weight.astype(ms.float32).asnumpy().tolist() == [0.5, 2.5]
    assert optimizer.moment1[0].dtype == ms.bfloat16
