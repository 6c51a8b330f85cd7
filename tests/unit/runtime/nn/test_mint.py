"""mint.nn against PyTorch's own layers with the same weights: MindSpore has no kernels for most of them on a CPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, value_and_grad  # noqa: E402
from millrace.mint import nn  # noqa: E402

torch.set_num_threads(1)
WINDOW = {"kernel_size": 2, "stride": 2, "padding": 1}


def values(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


LAYERS = [
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, (2, 4, 9)),
    ("Conv2d", (4, 6, 3), {"dilation": 2, "padding": "same"}, (2, 4, 8, 7)),
    ("Conv2d", (4, 6, 3), {"padding": (1, 2), "padding_mode": "reflect"}, (2, 4, 8, 7)),
    ("Conv2d", (4, 6, (3, 2)), {"padding": "same", "padding_mode": "circular"}, (2, 4, 8, 7)),
    ("Conv3d", (4, 6, 2), {"bias": False}, (1, 4, 4, 5, 4)),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1}, (2, 4, 5, 4)),
    ("BatchNorm1d", (3,), {}, (4, 3)),
    ("BatchNorm2d", (3,), {"momentum": None}, (4, 3, 5, 2)),
    ("BatchNorm2d", (3,), {"affine": False, "track_running_stats": False}, (4, 3, 5, 2)),
    ("BatchNorm3d", (3,), {"momentum": 0.3, "eps": 1e-3}, (2, 3, 2, 2, 3)),
    ("GroupNorm", (2, 4), {}, (3, 4, 5)),
    ("LayerNorm", ((4, 5),), {}, (3, 4, 5)),
    ("Linear", (5, 2), {}, (3, 5)),
    ("PReLU", (4,), {}, (3, 4, 2)),
    ("GELU", (), {"approximate": "tanh"}, (3, 4)),
    ("ELU", (0.5,), {}, (3, 4)),
    ("SELU", (), {}, (3, 4)),
    ("Mish", (), {}, (3, 4)),
    ("Hardtanh", (-0.5, 0.5), {}, (3, 4)),
    ("Threshold", (0.1, 3.0), {}, (3, 4)),
    ("ReLU6", (), {}, (3, 4)),
    ("LogSoftmax", (1,), {}, (3, 4)),
    ("AvgPool1d", (), WINDOW, (2, 3, 7)),
    ("AvgPool2d", (), {**WINDOW, "count_include_pad": False}, (2, 3, 7, 6)),
    ("AvgPool3d", (), {**WINDOW, "divisor_override": 3}, (1, 3, 5, 4, 4)),
    ("MaxPool2d", (), {**WINDOW, "ceil_mode": True}, (2, 3, 7, 6)),
    ("AdaptiveAvgPool1d", (4,), {}, (2, 3, 7)),
    ("AdaptiveAvgPool2d", ((3, 2),), {}, (2, 3, 7, 6)),
    ("AdaptiveMaxPool1d", (4,), {}, (2, 3, 7)),
    ("ReflectionPad2d", ((1, 2, 0, 1),), {}, (2, 3, 4, 5)),
    ("ReplicationPad3d", (1,), {}, (1, 2, 3, 3, 3)),
    ("ZeroPad1d", ((1, 2),), {}, (2, 3, 4)),
    ("Unfold", (3,), {"padding": 1, "stride": 2}, (2, 3, 6, 5)),
    ("Fold", ((4, 5), 2), {}, (2, 12, 12)),
    ("UpsamplingBilinear2d", (), {"scale_factor": 2.0}, (1, 2, 3, 4)),
    ("UpsamplingNearest2d", ((5, 7),), {}, (1, 2, 3, 4)),
]


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "shape"), LAYERS, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(LAYERS)]
)
def test_as_pytorch(name, args, kwargs, shape):
    ours, theirs = getattr(nn, name)(*args, **kwargs), getattr(torch.nn, name)(*args, **kwargs)
    assert {n: p.shape for n, p in ours.parameters_and_names()} == {
        n: tuple(p.shape) for n, p in theirs.state_dict().items()
    }
    assert [p.name for p in ours.trainable_params()] == [n for n, _ in theirs.named_parameters()]
    for parameter in ours.trainable_params():
        parameter.set_data(Tensor(theirs.state_dict()[parameter.name].numpy().copy()))
    x = torch.tensor(values(*shape), requires_grad=True)
    ours.set_train()
    for _ in range(2):
        made, inside = value_and_grad(ours, 0)(Tensor(values(*shape)))
        wanted = theirs(x)
        x.grad = None
        wanted.sum().backward()
    assert np.allclose(made.asnumpy(), wanted.detach().numpy(), atol=1e-6)
    assert np.allclose(inside.asnumpy(), x.grad.numpy(), atol=1e-5)
    for path, parameter in ours.parameters_and_names():
        assert np.allclose(parameter.asnumpy(), theirs.state_dict()[path].numpy(), atol=1e-6), path


INSIDE = torch.sigmoid(torch.tensor(values(4, 3))).numpy()
LOSSES = [
    ("BCELoss", {"reduction": "sum"}, INSIDE, INSIDE[::-1].copy()),
    ("BCEWithLogitsLoss", {}, values(4, 3), INSIDE),
    ("KLDivLoss", {"reduction": "batchmean"}, np.log(INSIDE), INSIDE[::-1].copy()),
    ("KLDivLoss", {"log_target": True, "reduction": "sum"}, np.log(INSIDE), np.log(INSIDE[::-1].copy())),
    ("L1Loss", {}, values(4, 3), INSIDE),
    ("MSELoss", {"reduction": "none"}, values(4, 3), INSIDE),
    ("SmoothL1Loss", {"beta": 0.5}, values(4, 3), INSIDE),
    ("SoftMarginLoss", {}, values(4, 3), np.sign(values(4, 3)[::-1])),
    ("CrossEntropyLoss", {"label_smoothing": 0.1}, values(4, 3), np.array([0, 2, 1, 1])),
    ("NLLLoss", {"ignore_index": 1}, np.log(INSIDE), np.array([0, 2, 1, 1])),
]


@pytest.mark.parametrize(
    ("name", "kwargs", "x", "y"), LOSSES, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(LOSSES)]
)
def test_losses_as_pytorch(name, kwargs, x, y):
    target = y if name in ("CrossEntropyLoss", "NLLLoss") else y.astype(np.float32)
    wanted = getattr(torch.nn, name)(**kwargs)(torch.tensor(x), torch.tensor(target.copy())).numpy()
    if target.dtype.kind == "i":
        target = target.astype(np.int32)
    made = getattr(nn, name)(**kwargs)(Tensor(x), Tensor(target.copy()))
    assert np.allclose(made.asnumpy(), wanted, atol=1e-6)
    with pytest.raises(ValueError, match="reduction"):
        getattr(nn, name)(reduction="some")(Tensor(x), Tensor(target.copy()))


def test_first_values_are_spread_as_in_pytorch():
    assert np.abs(nn.Conv2d(16, 64, 3).weight.asnumpy()).max() == pytest.approx(1 / 12, rel=0.01)
    assert nn.Embedding(200, 50).weight.asnumpy().std() == pytest.approx(1, rel=0.05)
