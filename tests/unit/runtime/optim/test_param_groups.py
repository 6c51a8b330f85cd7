"""Optimizers with PyTorch's arguments; those of mint, which MindSpore cannot run on a CPU, against PyTorch's own."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, mint, nn, ops, set_context  # noqa: E402
from millrace.experimental import optim  # noqa: E402
from millrace.experimental.optim import lr_scheduler  # noqa: E402

START, STEPS = [[1.0, -2.0, 0.5], [3.0]], 6


def gradients(step):
    draw = np.random.RandomState(step)
    return [draw.uniform(-1, 1, len(each)).astype(np.float32) for each in START]


def ours(make):
    params = [Parameter(Tensor(values), name=f"p{n}") for n, values in enumerate(START)]
    optimizer = make(params)
    for step in range(STEPS):
        optimizer(tuple(Tensor(each) for each in gradients(step)))
    return [p.asnumpy().astype(float) for p in params]


def theirs(make):
    params = [torch.nn.Parameter(torch.tensor(values)) for values in START]
    optimizer = make(params)
    for step in range(STEPS):
        for param, each in zip(params, gradients(step), strict=True):
            param.grad = torch.from_numpy(each)
        optimizer.step()
    return [p.detach().numpy().astype(float) for p in params]


PAIRS = {
    "Adam": (lambda p: mint.optim.Adam(p, 0.1), lambda p: torch.optim.Adam(p, 0.1)),
    "Adam, all": (
        lambda p: mint.optim.Adam(p, 0.1, (0.8, 0.5), 1e-3, 0.1, True, maximize=True),
        lambda p: torch.optim.Adam(p, 0.1, (0.8, 0.5), 1e-3, 0.1, True, maximize=True),
    ),
    "AdamW": (lambda p: mint.optim.AdamW(p, 0.1), lambda p: torch.optim.AdamW(p, 0.1)),
    "AdamW, all": (
        lambda p: mint.optim.AdamW(p, 0.1, (0.8, 0.5), 1e-3, 0.1, True, maximize=True),
        lambda p: torch.optim.AdamW(p, 0.1, (0.8, 0.5), 1e-3, 0.1, True, maximize=True),
    ),
    "SGD": (lambda p: mint.optim.SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "SGD, damped": (
        lambda p: mint.optim.SGD(p, 0.1, 0.9, 0.3, 0.1, maximize=True),
        lambda p: torch.optim.SGD(p, 0.1, 0.9, 0.3, 0.1, maximize=True),
    ),
    "SGD, nesterov": (
        lambda p: mint.optim.SGD(p, 0.1, 0.9, nesterov=True),
        lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True),
    ),
    "groups": (
        lambda p: mint.optim.SGD([{"params": p[:1], "lr": 0.5}, {"params": p[1:]}], 0.1),
        lambda p: torch.optim.SGD([{"params": p[:1], "lr": 0.5}, {"params": p[1:]}], 0.1),
    ),
    "experimental AdamW": (
        lambda p: optim.AdamW(p, 0.1, amsgrad=True),
        lambda p: torch.optim.AdamW(p, 0.1, amsgrad=True),
    ),
    "experimental RAdam": (lambda p: optim.RAdam(p, 0.1), lambda p: torch.optim.RAdam(p, 0.1)),
    "experimental NAdam": (lambda p: optim.NAdam(p, 0.1), lambda p: torch.optim.NAdam(p, 0.1)),
}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_an_optimizer_goes_where_pytorchs_goes(name):
    mine, other = PAIRS[name]
    for made, wanted in zip(ours(mine), theirs(other), strict=True):
        assert made == pytest.approx(wanted, rel=2e-5, abs=2e-6)


def test_amsgrad_divides_by_the_largest():
    """MindSpore's experimental Adam takes the argument and leaves it out."""
    plain, largest = (
        ours(lambda p, a=amsgrad: optim.Adam(p, 0.1, (0.9, 0.3), amsgrad=a)) for amsgrad in (False, True)
    )
    assert not np.allclose(plain[0], largest[0])


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE])
@pytest.mark.parametrize("kind", [optim.SGD, mint.optim.SGD])
def test_what_is_changed_in_a_group_is_used_by_the_next_step(mode, kind):
    set_context(mode=mode)
    try:
        weight = Parameter(Tensor([0.0]), name="weight")
        optimizer, one = kind([weight], lr=1.0), (Tensor([1.0]),)
        optimizer(one), optimizer(one)
        assert weight.item() == -2.0
        optimizer.param_groups[0]["lr"] = 0.5
        optimizer(one)
        assert weight.item() == -2.5
        ops.assign(optimizer.lrs[0], Tensor(0.25))
        optimizer.param_groups[0]["lr"] = optimizer.lrs[0]
        optimizer(one)
        assert weight.item() == -2.75
        optimizer.param_groups[0]["weight_decay"] = 1.0
        optimizer.param_groups[0]["maximize"] = True
        optimizer(one)  # gradient -1 + weight
        assert weight.item() == -2.75 + 0.25 * 3.75
    finally:
        set_context(mode=PYNATIVE_MODE)


def test_a_scheduler_writes_the_rate_of_a_recorded_step():
    set_context(mode=GRAPH_MODE)
    try:
        net = nn.Dense(1, 1, "ones", has_bias=False)
        optimizer = optim.SGD(net.trainable_params(), lr=1.0)
        scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5)
        step = nn.TrainOneStepCell(net, optimizer)
        for _ in range(4):
            step(Tensor([[1.0]]))
            scheduler.step()
        assert net.weight.item() == 1 - (1 + 1 + 0.5 + 0.5)
        assert scheduler.get_last_lr()[0].item() == 0.25
        assert step.__class__.__name__ == "TrainOneStepCell"
    finally:
        set_context(mode=PYNATIVE_MODE)


def test_groups():
    weight, bias = Parameter(Tensor([0.0]), name="weight"), Parameter(Tensor([0.0]), name="bias")
    optimizer = optim.Adam([{"params": weight}, {"params": [bias], "lr": Tensor(0.5), "betas": (0.5, 0.5)}])
    assert [rate.name for rate in optimizer.lrs] == ["learning_rate_group_0", "learning_rate_group_1"]
    assert [group["betas"] for group in optimizer.param_groups] == [(0.9, 0.999), (0.5, 0.5)]
    assert str(optimizer).splitlines()[:8] == [
        "Adam (",
        "Parameter Group 0",
        "    amsgrad: False",
        "    betas: (0.9, 0.999)",
        "    eps: 1e-08",
        "    lr: 0.001",
        "    maximize: False",
        "    weight_decay: 0.0",
    ]
    for wrong, kind, words in (
        (lambda: optim.Adam([{"params": {weight}}]), TypeError, "ordered collections"),
        (lambda: optim.Adam([{"params": [3]}]), TypeError, "can only optimize Parameters"),
        (
            lambda: optim.Adam([{"params": weight}, {"params": weight}]),
            ValueError,
            "more than one parameter group",
        ),
        (lambda: optim.Adam([]), ValueError, "must not be empty"),
        (lambda: optim.Adam([weight], lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
        (lambda: optim.Adam([weight], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0"),
        (lambda: optim.SGD([weight], "x"), TypeError, "lr"),
        (lambda: optim.SGD([weight], Tensor([0.1, 0.2])), ValueError, "."),
        (lambda: optim.SGD([weight], 0.1, nesterov=True), ValueError, "'momentum' must be > 0.0"),
        (lambda: mint.optim.Adam([weight], lr=1), TypeError, "'lr'"),
        (lambda: optim.Adadelta([weight], lr=0.0), ValueError, "the lr must be greater than 0.0"),
        (lambda: optim.Rprop([weight], etas=(0.5, 0.9)), ValueError, "must be greater than 1.0"),
        (lambda: optim.Adam([weight])(()), ValueError, "each of its 1 parameters, but got 0"),
    ):
        with pytest.raises(kind, match=words):
            wrong()
