"""Layers that keep matrices for a second-order optimizer, and the loss over classes that are drawn."""

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Tensor, nn


@pytest.fixture(params=["PYNATIVE_MODE", "GRAPH_MODE"])
def _mode(request):
    ms.set_context(mode=getattr(ms, request.param))
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def draw(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.usefixtures("_mode")
def test_a_dense_layer_writes_down_inputs_and_gradients_each_time():
    layer = nn.DenseThor(3, 2)
    weights = Tensor(draw(2, seed=4))
    step = ms.value_and_grad(lambda x: (layer(x) * weights).sum(), None, layer.trainable_params())
    for seed in range(3):  # recorded, then replayed
        x = draw(5, 3, seed=seed)
        step(Tensor(x))
        assert np.allclose(layer.matrix_a.asnumpy(), x.T @ x / 3, atol=1e-6)
    gradient = np.tile(weights.asnumpy(), (5, 1))
    assert np.allclose(layer.matrix_g.asnumpy(), gradient.T @ gradient / 5, atol=1e-6)
    layer.thor = False
    before = layer.matrix_a.asnumpy().copy()
    nn.SequentialCell(layer)(Tensor(draw(5, 3, seed=9)))
    assert np.array_equal(layer.matrix_a.asnumpy(), before)


@pytest.mark.usefixtures("_mode")
def test_a_convolution_writes_down_what_its_kernel_sees():
    layer = nn.Conv2dThor(2, 3, 3, has_bias=True)
    plain = nn.Conv2d(2, 3, 3, has_bias=True, weight_init=layer.weight, bias_init="zeros")
    x, factor = draw(2, 2, 4, 5), Tensor(draw(2, 3, 4, 5, seed=1))
    made = layer(Tensor(x))
    assert np.allclose(made.asnumpy(), plain(Tensor(x)).asnumpy(), atol=1e-6)
    ms.value_and_grad(lambda x: (layer(x) * factor).sum(), None, layer.trainable_params())(Tensor(x))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.stack(
        [padded[:, :, i : i + 3, j : j + 3].reshape(2, -1) for i in range(4) for j in range(5)], -1
    )
    mean = seen.mean(0)
    assert np.allclose(layer.matrix_a_cov.asnumpy(), mean @ mean.T / 20, atol=1e-6)
    gradient = factor.asnumpy().mean(0).reshape(3, -1)
    assert np.allclose(layer.matrix_g_cov.asnumpy(), gradient @ gradient.T / 20, atol=1e-6)
    assert layer.a_normalizer.asnumpy() == layer.g_normalizer.asnumpy() == 20


@pytest.mark.usefixtures("_mode")
def test_classes_are_drawn_anew_and_leave_the_true_ones_out():
    ms.set_seed(4)
    loss = nn.SampledSoftmaxLoss(3, 6, seed=2)
    labels = Tensor([0, 1])
    drawn = [tuple(loss._sample_classes(labels)[0].asnumpy().tolist()) for _ in range(20)]
    assert all(len(set(each)) == 3 and not {0, 1} & set(each) for each in drawn)
    assert len(set(drawn)) > 3
    w, b, x = Tensor(draw(6, 4)), Tensor(draw(6, seed=1)), Tensor(draw(2, 4, seed=2))
    first = [loss(w, b, labels, x).asnumpy() for _ in range(3)]
    ms.set_seed(4)
    again = nn.SampledSoftmaxLoss(3, 6, seed=2)
    for _ in range(20):
        again._sample_classes(labels)
    assert np.array_equal(first, [again(w, b, labels, x).asnumpy() for _ in range(3)])
    assert not np.array_equal(first[0], first[1])
    mean = nn.SampledSoftmaxLoss(2, 6, 1, (Tensor([3, 4]), Tensor(0.4), Tensor(0.4)), reduction="mean")
    assert mean(w, b, labels, x).shape == ()


def test_what_needs_other_hardware_says_so():
    with pytest.raises(ValueError, match="Train with the optimizer itself"):
        nn.OptTFTWrapper(nn.SGD(nn.Dense(2, 2).trainable_params(), 0.1))
