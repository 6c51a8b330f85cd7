"""``nn.thor`` against the formulas of its paper, in float64: MindSpore has no CPU kernels to ask.

(Chen et al., THOR, Trace-based Hardware-driven Layer-Oriented Natural Gradient Descent Computation, 2021; blocks, roots
and scales are those of MindSpore's optimizer for GPUs.)
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Parameter, Tensor, nn, ops, train
from millrace._src.runtime.optim import thor as module

MODES = pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
RATES, DAMPINGS = [0.1, 0.05, 0.02], [0.3, 0.2, 0.1]
BATCH = 4


@pytest.fixture
def in_mode():
    yield lambda mode: ms.set_context(mode=mode)
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.fixture(autouse=True)
def seeded():
    ms.set_seed(2)


def tensor(*values):
    return Tensor(np.array(values, np.float32))


def optimizer(net, **options):
    given = {"momentum": 0.9, "batch_size": BATCH, "frequency": 2} | options
    return nn.thor(net, tensor(*RATES), tensor(*DAMPINGS), **given)


def inverse(matrix, damping, block):
    """Inverses of the blocks along the diagonal, as one matrix."""
    made = np.zeros_like(matrix, np.float64)
    for at in range(0, len(matrix), block):
        part = slice(at, at + block)
        own = matrix[part, part].astype(np.float64)
        made[part, part] = np.linalg.inv(own + np.sqrt(damping) * np.eye(len(own)))
    return made


@pytest.mark.parametrize("block", [128, 2])
@MODES
def test_dense_layers_divide_by_both_matrices(mode, block, monkeypatch, in_mode):
    in_mode(mode)
    monkeypatch.setattr(module, "BLOCK", block)
    net = nn.SequentialCell(nn.Dense(5, 3), nn.Tanh(), nn.Dense(3, 2))
    made = optimizer(net, loss_scale=2.0)
    x, y = (
        Tensor(np.random.default_rng(n).standard_normal((BATCH, w)).astype(np.float32))
        for n, w in [(0, 5), (1, 2)]
    )
    moments, step = {}, nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), made, 2.0).set_train()
    for number in range(3):
        before = {each.name: each.asnumpy().astype(np.float64) for each in made.parameters}
        plain = gradients_of(net, made, x, y)
        step(x, y)
        for layer in (net[0], net[2]):
            a, g = layer.matrix_a.asnumpy(), layer.matrix_g.asnumpy() * (BATCH / 2.0) ** 2
            change = (
                inverse(g, DAMPINGS[number], block)
                @ plain[layer.weight.name]
                @ inverse(a, DAMPINGS[number], block)
            )
            for parameter, gradient in ((layer.weight, change), (layer.bias, plain[layer.bias.name])):
                name = parameter.name
                moments[name] = 0.9 * moments.get(name, 0) + gradient
                wanted = before[name] - RATES[number] * moments[name]
                np.testing.assert_allclose(parameter.asnumpy(), wanted, rtol=2e-4, atol=2e-6, err_msg=name)
    assert made.cov_step.item() == made.global_step.item() == 3


def gradients_of(net, made, *inputs):
    """The gradients of the loss by the optimizer's parameters; nothing is kept of this call."""
    net.add_flags_recursive(thor=False)
    weights = made.parameters
    found = ms.grad(nn.WithLossCell(net, nn.MSELoss()), None, weights)(*inputs)
    net.add_flags_recursive(thor=True)
    return {
        weight.name: each.asnumpy().astype(np.float64) for weight, each in zip(weights, found, strict=True)
    }


def test_a_convolution_counts_its_places():
    net = nn.SequentialCell(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Dense(48, 2))
    made = optimizer(net)
    rng = np.random.default_rng(0)
    x, y = (Tensor(rng.standard_normal(shape).astype(np.float32)) for shape in ((BATCH, 2, 4, 4), (BATCH, 2)))
    conv, plain = net[0], gradients_of(net, made, x, y)
    before = conv.weight.asnumpy().astype(np.float64)
    nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), made).set_train()(x, y)
    places = 16.0
    assert conv.a_normalizer.item() == conv.g_normalizer.item() == places
    # what each place of the output sees, by hand, as a mean over the batch
    around = np.pad(x.asnumpy().astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.stack(
        [around[:, :, r : r + 3, c : c + 3].reshape(BATCH, 18) for r in range(4) for c in range(4)], 2
    ).mean(0)
    np.testing.assert_allclose(conv.matrix_a_cov.asnumpy(), seen @ seen.T / places, rtol=1e-4, atol=1e-6)
    damping = DAMPINGS[0] / places
    a = inverse(conv.matrix_a_cov.asnumpy(), damping, 128) / np.sqrt(places)
    g = inverse(conv.matrix_g_cov.asnumpy() * BATCH**2, damping, 128) / np.sqrt(places)
    change = (g @ plain["0.weight"].reshape(3, 18) @ a).reshape(3, 2, 3, 3)
    np.testing.assert_allclose(conv.weight.asnumpy(), before - RATES[0] * change, rtol=2e-4, atol=2e-6)


class Words(nn.Cell):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(6, 4), nn.LayerNorm((4,))

    def construct(self, ids):
        return self.norm(self.words(ids))


def test_a_table_divides_its_rows_and_a_norm_by_its_own_squares():
    net = Words()
    made = optimizer(net)
    ids, y = (
        Tensor(np.array([1, 3, 3, 5])),
        Tensor(np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)),
    )
    plain = gradients_of(net, made, ids, y)
    before = {each.name: each.asnumpy().astype(np.float64) for each in made.parameters}
    nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), made).set_train()(ids, y)
    root = np.sqrt(DAMPINGS[0])
    counts = np.array([0, 1, 0, 2, 0, 1]) / BATCH
    g = inverse(net.words.matrix_g.asnumpy() * BATCH**2, DAMPINGS[0], 128)
    name = "words.embedding_table"
    wanted = before[name] - RATES[0] * (plain[name] / (counts + root)[:, None]) @ g
    np.testing.assert_allclose(net.words.embedding_table.asnumpy(), wanted, rtol=2e-4, atol=2e-6)
    for parameter in (net.norm.gamma, net.norm.beta):
        gradient = plain[parameter.name]
        wanted = before[parameter.name] - RATES[0] * gradient / (gradient**2 / BATCH + root)
        np.testing.assert_allclose(parameter.asnumpy(), wanted, rtol=1e-4, atol=1e-6)


def test_decay_comes_after_the_division_and_the_norm_of_a_change_is_bounded():
    net = nn.Dense(2, 2, has_bias=False)
    made = optimizer(
        net,
        weight_decay=0.5,
        enable_clip_grad=True,
        decay_filter=lambda each: "weight" in each.name,
        momentum=0.0,
    )
    net.add_flags_recursive(thor=False)
    made.thor = False  # the matrices are zero: what is left is the decay
    before = net.weight.asnumpy() * 100
    net.weight.set_data(Tensor(before))
    made((ops.ones_like(net.weight),))
    change = before - net.weight.asnumpy()
    np.testing.assert_allclose(change, RATES[0] * before / np.linalg.norm(before), rtol=1e-4)


def test_layers_become_others_in_place_and_their_parameters_stay():
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Conv2d(2, 2, 3, group=2), nn.Flatten(), nn.Dense(8, 2))
    weights, dense = list(net.trainable_params()), net[3]
    train.ConvertNetUtils().convert_to_thor_net(net)
    assert [type(each).__name__ for each in net] == ["Conv2dThor", "Conv2d", "Flatten", "DenseThor"]
    assert net[3] is dense
    assert all(a is b for a, b in zip(weights, net.trainable_params(), strict=True))
    assert dense.matrix_a.name == "3.matrix_a"
    train.ConvertNetUtils().convert_to_thor_net(net)
    assert len(net.untrainable_params()) == 4 + 2


@MODES
def test_a_converted_model_looks_at_the_curvature_in_its_turns(mode, in_mode):
    in_mode(mode)
    rows = np.random.default_rng(0).standard_normal((BATCH, 3)).astype(np.float32)
    batch = (Tensor(rows), Tensor(rows[:, :1]))

    def trained(steps, rounds):
        ms.set_seed(2)
        net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 1))
        made = optimizer(net, frequency=3)
        loss = nn.MSELoss()
        model = train.ConvertModelUtils.convert_to_thor_model(train.Model(net, loss, made), net, loss, made)
        seen = []

        class Look(train.Callback):
            def on_train_step_end(self, run_context):
                seen.append(made.matrix_a[1].asnumpy().copy())

        for _ in range(rounds):
            model.train(1, [batch] * steps, callbacks=Look())
        return seen, [each.asnumpy() for each in net.trainable_params()]

    seen, weights = trained(8, 1)
    changed = [n + 1 for n in range(7) if np.any(seen[n] != seen[n + 1])]
    assert changed == [3, 6]
    _, again = trained(4, 2)  # a round goes on over trainings
    for one, other in zip(weights, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_with_another_optimizer_stays():
    net = nn.Dense(2, 1)
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    assert train.ConvertModelUtils.convert_to_thor_model(model, net, nn.MSELoss(), model._optimizer) is model


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"momentum": -0.1}, ValueError, "must be at least 0.0"),
        ({"momentum": 1}, TypeError, "momentum"),
        ({"frequency": 1}, ValueError, "at least 2"),
        ({"frequency": 2.0}, TypeError, "frequency"),
        ({"weight_decay": -1.0}, ValueError, "weight_decay"),
        ({"loss_scale": 0.0}, ValueError, "loss_scale"),
        ({"use_nesterov": 1}, TypeError, "use_nesterov"),
    ],
)
def test_arguments_are_checked(options, error, words):
    with pytest.raises(error, match=words):
        optimizer(nn.Dense(2, 2), **options)
    with pytest.raises(TypeError, match="learning rate"):
        nn.thor(nn.Dense(2, 2), 0.1, tensor(0.1), 0.9)


def test_a_parameter_of_a_user_is_none_of_its_layers():
    class Own(nn.Cell):
        def __init__(self):
            super().__init__()
            self.factor, self.dense = Parameter(Tensor([2.0]), name="factor"), nn.Dense(2, 1)

        def construct(self, x):
            return self.dense(x * self.factor)

    net = Own()
    made = optimizer(net)
    x = Tensor(np.ones((BATCH, 2), np.float32))
    gradient = gradients_of(net, made, x, x[:, :1])["factor"]
    nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), made).set_train()(x, x[:, :1])
    np.testing.assert_allclose(net.factor.asnumpy(), 2 - RATES[0] * gradient, rtol=1e-5)


def test_a_layer_takes_what_it_took_before():
    """Rows of a text: a Dense of three axes, as in a transformer, where MindSpore's DenseThor refuses."""
    net = nn.Dense(3, 2)
    made = optimizer(net)
    x = Tensor(np.random.default_rng(0).standard_normal((BATCH, 5, 3)).astype(np.float32))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), made).set_train()
    step(x, x[:, :, :2])
    rows = x.asnumpy().reshape(-1, 3)
    np.testing.assert_allclose(net.matrix_a.asnumpy(), rows.T @ rows / 3, rtol=1e-5)
