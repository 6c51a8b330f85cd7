"""Training with less work: frozen parameters, gathered gradients, a normalised last layer."""

import itertools

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Tensor, boost, nn
from millrace._src.compat.boost.auto_boost import AutoBoost


@pytest.fixture(params=["PYNATIVE_MODE", "GRAPH_MODE"])
def _mode(request):
    ms.set_context(mode=getattr(ms, request.param))
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.fixture(autouse=True)
def fresh():
    AutoBoost._instance = None
    yield
    AutoBoost._instance = None


def stack(*sizes):
    return nn.SequentialCell(*[nn.Dense(a, b) for a, b in itertools.pairwise(sizes)])


def batch(rows=4, columns=2, out=2, seed=0):
    draw = np.random.RandomState(seed)
    return Tensor(draw.uniform(-1, 1, (rows, columns)).astype("float32")), Tensor(
        draw.uniform(-1, 1, (rows, out)).astype("float32")
    )


def test_an_optimizer_remembers_what_it_was_made_with():
    net = nn.Dense(2, 2)
    momentum = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    assert momentum.init_args == {
        "momentum": 0.9,
        "weight_decay": 0.0,
        "loss_scale": 1.0,
        "use_nesterov": False,
    }
    assert momentum.init_learning_rate == 0.1
    assert [p.name for p in momentum.init_params["params"]] == ["weight", "bias"]


@pytest.mark.parametrize("kind", ["Momentum", "SGD", "Adam", "AdamWeightDecay", "RMSProp", "Adagrad", "LARS"])
def test_an_optimizer_is_made_anew(kind):
    net = stack(2, 3, 2)
    groups = [
        {"params": net.trainable_params()[:2], "weight_decay": 0.01},
        {"params": net.trainable_params()[2:]},
    ]
    inner = nn.Momentum(groups, 0.1, 0.9) if kind in ("Momentum", "LARS") else getattr(nn, kind)(groups, 0.1)
    process = boost.OptimizerProcess(nn.LARS(inner, coefficient=0.5) if kind == "LARS" else inner)
    process.add_grad_centralization(net)
    new = process.generate_new_optimizer()
    assert type(new).__name__ == kind
    opt = new.opt if kind == "LARS" else new
    assert opt.grad_centralization_flags == (True, False, True, False)
    assert kind != "LARS" or new.coefficient == 0.5
    assert [p.name for p in opt.parameters] == ["0.weight", "0.bias", "1.weight", "1.bias"]


@pytest.mark.usefixtures("_mode")
def test_gathered_gradients_are_those_of_the_whole_batch():
    nets = [stack(2, 3, 2) for _ in range(2)]
    ms.load_param_into_net(nets[1], {p.name: p for p in nets[0].get_parameters()})
    x, y = batch(8)
    loss = nn.MSELoss()

    def gradients(net, x, y):
        return ms.value_and_grad(lambda x, y: loss(net(x), y), None, net.trainable_params())(x, y)

    gathering = boost.GradientAccumulation(2, nn.Momentum(nets[0].trainable_params(), 0.1, 0.9))
    whole = nn.Momentum(nets[1].trainable_params(), 0.1, 0.9)
    for _ in range(3):
        before = nets[0][0].weight.asnumpy().copy()
        value, grads = gradients(nets[0], x[:4], y[:4])
        gathering(value, grads)
        assert np.array_equal(nets[0][0].weight.asnumpy(), before)
        gathering(*gradients(nets[0], x[4:], y[4:]))
        assert gathering._accumulation_step.asnumpy() == 0
        whole(gradients(nets[1], x, y)[1])
        for a, b in zip(nets[0].get_parameters(), nets[1].get_parameters(), strict=True):
            assert np.allclose(a.asnumpy(), b.asnumpy(), atol=1e-6)


@pytest.mark.usefixtures("_mode")
def test_frozen_parameters_stay_as_they_are_in_their_steps():
    net = stack(2, 3, 3, 2)
    first, last = net.trainable_params()[:2], net.trainable_params()[2:]
    optimizer = boost.FreezeOpt(
        nn.Momentum(net.trainable_params(), 0.1, 0.9), [net.trainable_params(), last], [0, 1, 1]
    )
    step = boost.BoostTrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    losses = []
    for turn in range(7):
        before = [p.asnumpy().copy() for p in net.trainable_params()]
        losses.append(float(step(*batch())))
        moved = [
            not np.array_equal(p.asnumpy(), b) for p, b in zip(net.trainable_params(), before, strict=True)
        ]
        assert any(moved[2:])
        assert any(moved[:2]) == (turn % 3 == 0), turn
    assert losses[-1] < losses[0]
    assert len(first) == 2
    assert [p.name for p in net.get_parameters()][:2] == ["0.weight", "0.bias"]
    names = [p.name for p in step.get_parameters()]
    assert {"boost_0moments.0.weight", "boost_1moments.1.weight", "boost_step"} <= set(names)


def test_both_modes_freeze_to_the_same_bits():
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        ms.set_seed(3)
        net = stack(2, 3, 3, 2)
        groups = [net.trainable_params(), net.trainable_params()[2:]]
        optimizer = boost.FreezeOpt(nn.Adam(net.trainable_params(), 0.1), groups, (0, 1))
        step = boost.BoostTrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer, 2.0)
        for _ in range(6):
            step(*batch())
        found.append([p.asnumpy() for p in net.get_parameters()])
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_orders_of_freezing_are_those_of_mindspore():
    freeze = boost.GradientFreeze(2, 0, 0.5, 6)
    assert freeze.generate_freeze_index_sequence(3, 0, 0.5, 6) == [0, 0, 1, 2, 0, 0, 1, 2]
    assert freeze.generate_freeze_index_sequence(1, 0, 0.5, 4) == [0, 0, 0, 0]
    assert freeze.generate_freeze_index_sequence(4, 0, 0.7, 10) == [0, 0, 0, 0, 0, 0, 1, 2, 3] * 2
    drawn = freeze.generate_freeze_index_sequence(5, 1, 0.7, 400)
    assert len(drawn) == 404
    assert drawn.count(0) / 404 == pytest.approx(0.7, abs=0.02)
    assert drawn.count(1) > drawn.count(4)
    with pytest.raises(ValueError, match="Unsupported freezing training strategy '5'"):
        freeze.generate_freeze_index_sequence(3, 5, 0.5, 6)
    net = nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3), nn.Dense(3, 3), nn.Dense(3, 2))
    names = [[p.name for p in group] for group in freeze.split_parameters_groups(net, 2)]
    assert names[1] == ["1.beta", "2.weight", "2.bias", "3.weight", "3.bias"]
    assert len(names[0]) == 8


def test_groups_of_an_optimizer_take_the_parameters_that_are_new():
    net = stack(2, 3, 2)
    old = [
        {"params": net.trainable_params()[:1], "lr": 0.5, "weight_decay": 0.1},
        {"params": net.trainable_params()[1:2]},
    ]
    made = boost.ParameterProcess.generate_group_params(net.trainable_params(), old)
    assert [[p.name for p in group["params"]] for group in made] == [
        ["0.weight"],
        ["0.bias"],
        ["1.weight", "1.bias"],
    ]
    assert made[2]["lr"] == 0.5
    for wrong, kind in (([], ValueError), ([3], TypeError)):
        with pytest.raises(kind):
            boost.ParameterProcess.generate_group_params(net.trainable_params(), wrong)


@pytest.mark.usefixtures("_mode")
def test_the_last_layer_is_normalised():
    net = stack(2, 3, 2)
    weight = net[1].weight.asnumpy().copy()
    less = boost.LessBN(net, fn_flag=True)
    x = Tensor([[0.5, -1.0]])
    hidden = net[0](x).asnumpy()
    wanted = hidden / np.linalg.norm(hidden) @ (weight / np.linalg.norm(weight, axis=1, keepdims=True)).T
    assert np.allclose(less(x).asnumpy(), wanted, atol=1e-5)
    assert sorted(p.name.rpartition(".")[2] for p in net[1].get_parameters()) == ["multiplier", "weight"]
    assert boost.LessBN(less.network).network is net  # once only


def test_a_level_boosts_net_and_optimizer():
    net = stack(2, 3, 3, 2)
    config = {
        "boost": {"mode": "manual", "less_bn": True, "grad_freeze": True},
        "grad_freeze": {"param_groups": 2, "total_steps": 9},
    }
    auto = boost.AutoBoost("O1", config)
    assert boost.AutoBoost("O0") is auto
    assert auto.level == "O1"
    optimizer = nn.Momentum([{"params": net.trainable_params()}], 0.1, 0.9)
    net, optimizer = auto.network_auto_process_train(net, optimizer)
    assert len(optimizer.opts) == 2
    step = boost.BoostTrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    losses = [float(step(*batch())) for _ in range(30)]
    assert losses[-1] < losses[0]
    assert auto.network_auto_process_eval(net.network) is not net.network


def test_plain_levels_change_nothing():
    auto = boost.AutoBoost()
    net = stack(2, 2)
    assert auto.network_auto_process_train(net, "opt") == (net, "opt")
    assert auto.network_auto_process_eval(net) is net


def test_gradients_are_gathered_where_the_configuration_says_so():
    config = {
        "boost": {"mode": "manual", "grad_accumulation": True},
        "grad_accumulation": {"grad_accumulation_step": 2},
    }
    boost.AutoBoost("O0", config)
    net = stack(2, 2)
    step = boost.BoostTrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    )
    before = net[0].weight.asnumpy().copy()
    step(*batch())
    assert np.array_equal(net[0].weight.asnumpy(), before)
    step(*batch())
    assert not np.array_equal(net[0].weight.asnumpy(), before)


def test_what_is_refused_says_why():
    net = stack(2, 2)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    for make in (
        lambda: boost.AdaSum(0, 8, 2, ()),
        lambda: boost.DimReduce(net, optimizer, (), None, 2, 0.1, 0.1, 0.1, 0.1, 0, 1),
        lambda: boost.GroupLossScaleManager(4, []),
    ):
        with pytest.raises(RuntimeError, match="is not supported: "):
            make()
    with pytest.raises(ValueError, match="'dim_reduce' is not supported"):
        boost.AutoBoost("O0", {"boost": {"mode": "enable_all"}})
    with pytest.raises(TypeError, match="must be an Optimizer instance"):
        boost.FreezeOpt(3)
    with pytest.raises(ValueError, match="'train_parameter_groups' must also be specified"):
        boost.FreezeOpt(optimizer, train_strategy=[0])
    with pytest.raises(ValueError, match=r"must be in \[0, 1\), but got \[0, 3\]"):
        boost.FreezeOpt(optimizer, [net.trainable_params()], [0, 3])
    with pytest.raises(ValueError, match="Use BoostTrainOneStepCell"):
        boost.BoostTrainOneStepWithLossScaleCell(net, boost.FreezeOpt(optimizer), Tensor(2.0))
