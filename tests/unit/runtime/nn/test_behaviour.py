"""Layers as a user meets them: first values, dropout, statistics, names inside a net, errors that help."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, nn, set_context, set_seed  # noqa: E402

torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (lambda: nn.Dense(400, 100), 1 / 20),
        (lambda: nn.Conv2d(16, 64, 3, has_bias=True), 1 / 12),
        (lambda: nn.Conv1d(36, 64, 4, has_bias=True), 1 / 12),
        (lambda: nn.Conv3d(16, 32, 3, has_bias=True), 1 / np.sqrt(432)),
        (lambda: nn.Conv2dTranspose(64, 16, 3, has_bias=True), 1 / 12),
        (lambda: nn.Conv2d(64, 64, 3, group=4), 1 / 12),
    ],
)
def test_weights_begin_within_the_bounds_that_mindspore_has(make, bound):
    set_seed(1)
    layer = make()
    for parameter in layer.get_parameters():
        largest = np.abs(parameter.asnumpy()).max()
        assert largest <= bound * (1 + 1e-6)
        assert largest > bound * (0.99 if parameter.size > 1000 else 0.8)
        assert abs(parameter.asnumpy().mean()) < bound / 4


@pytest.mark.parametrize(
    ("layer", "shape", "kept"),
    [
        (nn.Dropout(p=0.3), (100, 100), 0.7),
        (nn.Dropout(0.9), (100, 100), 0.9),
        (nn.Dropout1d(0.3), (100, 100, 2), 0.7),
        (nn.Dropout2d(0.3), (100, 100, 2, 2), 0.7),
        (nn.Dropout3d(0.3), (100, 100, 1, 2, 2), 0.7),
        (nn.DropoutExt(0.3), (100, 100), 0.7),
    ],
)
def test_dropout(layer, shape, kept):
    set_seed(4)
    x = Tensor(np.ones(shape, np.float32))
    assert np.array_equal(layer.set_train(False)(x).asnumpy(), x.asnumpy())
    layer.set_train()
    first, second = layer(x).asnumpy(), layer(x).asnumpy()
    assert not np.array_equal(first, second)
    assert np.mean(first != 0) == pytest.approx(kept, abs=0.03)
    assert np.allclose(first[first != 0], 1 / kept)
    if len(shape) > 2:
        whole = first.reshape(100, 100, -1)
        assert np.array_equal(whole.min(-1), whole.max(-1)), "a channel was dropped in part"


def test_dropout_draws_anew_in_a_recorded_graph():
    layer, x = nn.Dropout(p=0.5).set_train(), Tensor(np.ones((20, 20), np.float32))
    set_context(mode=GRAPH_MODE)
    try:
        made = [layer(x).asnumpy() for _ in range(4)]
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert all(not np.array_equal(a, b) for i, a in enumerate(made) for b in made[:i])


def test_statistics_go_where_the_parameters_are():
    layer = nn.BatchNorm2d(2, momentum=0.8)
    places = {name: p._torch.data_ptr() for name, p in layer.parameters_dict().items()}
    x = np.random.default_rng(0).standard_normal((4, 2, 3, 3)).astype(np.float32)
    layer.set_train()(Tensor(x))
    assert {name: p._torch.data_ptr() for name, p in layer.parameters_dict().items()} == places
    assert np.allclose(layer.moving_mean.asnumpy(), 0.2 * x.mean((0, 2, 3)), atol=1e-6)
    assert np.allclose(layer.moving_variance.asnumpy(), 0.8 + 0.2 * x.var((0, 2, 3), ddof=1), atol=1e-6)
    before = layer.moving_mean.asnumpy().copy()
    layer.set_train(False)(Tensor(x))
    assert np.array_equal(layer.moving_mean.asnumpy(), before)


class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0]), name="my")
        self.p = nn.PReLU()
        self.bn = nn.BatchNorm2d(2)


class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Inner()
        self.seq = nn.SequentialCell(nn.PReLU())


def test_names_inside_a_net_are_those_of_attributes():
    norm = ["bn.moving_mean", "bn.moving_variance", "bn.gamma", "bn.beta"]
    assert [p.name for p in Inner().get_parameters()] == ["my", "p.w", *norm]
    wanted = ["a.w", "a.p.w", *(f"a.{name}" for name in norm), "seq.0.w"]
    assert [p.name for p in Outer().get_parameters()] == wanted


def test_a_table_of_ones_own():
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    layer = nn.Embedding(4, 3, embedding_table=Tensor(table), padding_idx=1)
    assert layer(Tensor([[3, 1]])).tolist() == [[[9, 10, 11], [0, 0, 0]]]
    lookup = nn.EmbeddingLookup(4, 3, param_init=Tensor(table))
    assert lookup(Tensor([2, 7, -1])).tolist() == [[6, 7, 8], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: nn.Conv2d(3, 4, 3, padding=1), ValueError, "Pass pad_mode='pad'"),
        (lambda: nn.Conv2d(3, 4, 3)(Tensor(np.ones((1, 2, 5, 5), np.float32))), RuntimeError, "Conv2d"),
        (lambda: nn.BatchNorm2d(3)(Tensor(np.ones((2, 3), np.float32))), ValueError, "must have 4 axes"),
        (lambda: nn.BatchNorm2d(3)(Tensor(np.ones((2, 4, 2, 2), np.float32))), ValueError, "'num_features'"),
        (
            lambda: nn.InstanceNorm2d(3)(Tensor(np.ones((2, 3), np.float32))),
            ValueError,
            "4 axes and 3 channels",
        ),
        (lambda: nn.MaxPool2d(3, 2, padding=1), ValueError, "pad_mode"),
        (lambda: nn.get_activation("swish"), KeyError, "The 'name' must be in"),
        (lambda: nn.Embedding(4, 3)(Tensor([9])), RuntimeError, "out of range"),
        (lambda: nn.Unflatten(3, (2, 2))(Tensor([1.0])), ValueError, "'axis'"),
    ],
)
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_a_pooling_with_padding_of_its_own_knows_where_the_channels_are():
    x = np.random.default_rng(1).standard_normal((2, 3, 6, 7)).astype(np.float32)
    for options in ({"padding": 1}, {"padding": 1, "dilation": 2, "ceil_mode": True}):
        first = nn.MaxPool2d(3, 2, pad_mode="pad", **options)(Tensor(x)).asnumpy()
        last = nn.MaxPool2d(3, 2, pad_mode="pad", data_format="NHWC", **options)(
            Tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
        )
        assert (last.asnumpy().transpose(0, 3, 1, 2) == first).all()
