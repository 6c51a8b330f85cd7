"""Steps of optimizers, in place. The numbers are what MindSpore 2.7.0 leaves in the Parameters (its kernels for the
CPU), for a first parameter of [1, 2, -3], others of [1.1, 2.1, 2.9], [1.2, 2.2, 2.8] ..., and this gradient."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Parameter, Tensor, ops  # noqa: E402

GRADIENT = [0.1, -0.2, 0.3]
G = object()  # stands for the gradient in a call

STEPS = {
    "ApplyMomentum": (
        ops.ApplyMomentum(), [0.01, G, 0.9],
        [[0.9891, 1.9831, -3.0291], [1.09, 1.69, 2.91]],
    ),
    "Adam": (
        ops.Adam(), [0.9, 0.99, 0.01, 0.9, 0.99, 1e-8, G],
        [[0.99083, 1.98733, -3.01585], [1.0, 1.87, 2.64], [1.1881, 2.1784, 2.7729]],
    ),
    "Adam, Nesterov": (
        ops.Adam(use_nesterov=True), [0.9, 0.99, 0.01, 0.9, 0.99, 1e-8, G],
        [[0.99165, 1.98873, -3.01445], [1.0, 1.87, 2.64], [1.1881, 2.1784, 2.7729]],
    ),
    "AdamWeightDecay": (
        ops.AdamWeightDecay(), [0.01, 0.9, 0.99, 1e-8, 0.1, G],
        [[0.98983, 1.98533, -3.01285], [1.0, 1.87, 2.64], [1.1881, 2.1784, 2.7729]],
    ),
    "ApplyRMSProp": (
        ops.ApplyRMSProp(), [0.01, G, 0.9, 0.1, 1e-6],
        [[0.879, 1.78145, -3.28185], [0.991, 1.894, 2.619], [0.121, 0.21855, 0.28185]],
    ),
    "ApplyCenteredRMSProp": (
        ops.ApplyCenteredRMSProp(), [G, 0.01, 0.9, 0.1, 1e-6],
        [[0.86649, 2.0, -3.0], [1.0, 1.87, 2.64], [1.081, 1.984, 2.529], [0.13351, 2.3, 2.7]],
    ),
    "ApplyAdagrad": (ops.ApplyAdagrad(), [0.01, G], [[0.99905, 2.00137, -3.00174], [1.11, 2.14, 2.99]]),
    "ApplyAdagradV2": (ops.ApplyAdagradV2(1e-6), [0.01, G], [[0.99905, 2.00137, -3.00174], [1.11, 2.14, 2.99]]),
    "ApplyAdadelta": (
        ops.ApplyAdadelta(), [0.01, 0.9, 1e-6, G],
        [[0.9989, 2.00216, -3.0031], [0.991, 1.894, 2.619], [1.08121, 1.98465, 2.52962]],
    ),
    "ApplyFtrl": (
        ops.ApplyFtrl(), [G, 0.01, 0.1, 0.2, -0.5],
        # MindSpore: 0.00578, as it takes l1 for -l1 where the linear term is below 0
        [[-0.00685, 0.00441, -0.0627], [1.11, 2.14, 2.99], [0.82434, -0.74723, 10.96688]],
    ),
    "ApplyAdaMax": (
        ops.ApplyAdaMax(), [0.9, 0.01, 0.9, 0.99, 1e-8, G],
        [[0.91582, 1.91414, -3.09524], [1.0, 1.87, 2.64], [1.188, 2.178, 2.772]],
    ),
    "ApplyAddSign": (
        ops.ApplyAddSign(), [0.01, 0.9, 0.5, 0.9, G], [[0.9986, 2.0008, -3.0042], [1.0, 1.87, 2.64]],
    ),
    "ApplyPowerSign": (
        ops.ApplyPowerSign(), [0.01, 2.0, 0.5, 0.9, G], [[0.99728, 2.00074, -3.00816], [1.0, 1.87, 2.64]],
    ),
    "ApplyGradientDescent": (ops.ApplyGradientDescent(), [0.01, G], [[0.999, 2.002, -3.003]]),
    "ApplyProximalGradientDescent": (
        ops.ApplyProximalGradientDescent(), [0.01, 0.1, 0.2, G], [[0.99601, 1.99701, -2.99601]],
    ),
    "ApplyProximalAdagrad": (
        ops.ApplyProximalAdagrad(), [0.01, 0.1, 0.2, G], [[0.99621, 1.99795, -2.99769], [1.11, 2.14, 2.99]],
    ),
    "ApplyAdamWithAmsgrad": (
        ops.ApplyAdamWithAmsgrad(), [0.9, 0.99, 0.01, G],
        [[0.99123, 1.98767, -3.01578], [1.0, 1.87, 2.64], [1.19881, 2.19784, 2.79729], [1.3, 2.3, 2.79729]],
    ),
    "ApplyAdamWithAmsgradV2": (
        ops.ApplyAdamWithAmsgradV2(), [0.9, 0.99, 0.01, 0.9, 0.999, 1e-8, G],
        [[0.99123, 1.98767, -3.01578], [1.0, 1.87, 2.64], [1.19881, 2.19784, 2.79729], [1.3, 2.3, 2.79729]],
    ),
    "ApplyAdagradDA": (
        ops.ApplyAdagradDA(), [G, 0.01, 0.1, 0.2, 2],
        [[-0.00906, -0.01133, -0.01761], [1.2, 1.9, 3.2], [1.21, 2.24, 2.89]],
    ),
}  # fmt: skip


def parameters(count):
    first = np.array([1, 2, -3], np.float32)
    values = [first, *(np.abs(first + np.float32(0.1 * i)) for i in range(1, count))]
    return [Parameter(Tensor(value), name=f"p{i}") for i, value in enumerate(values)]


@pytest.mark.parametrize("numbers", ["plain", "tensors"])
@pytest.mark.parametrize("name", STEPS)
def test_a_step_leaves_what_mindspores_leaves(name, numbers):
    primitive, rest, wanted = STEPS[name]
    gradient = Tensor(np.array(GRADIENT, np.float32))
    as_given = (lambda n: n) if numbers == "plain" else (lambda n: Tensor(np.float32(n)))
    ours = parameters(len(wanted))
    places = [p._torch.data_ptr() for p in ours]
    made = primitive(*ours, *(gradient if n is G else as_given(n) for n in rest))
    assert (made if isinstance(made, Parameter) else made[0]) is ours[0]
    assert [p._torch.data_ptr() for p in ours] == places, "a parameter keeps its storage"
    for parameter, value in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(parameter.asnumpy(), value, rtol=5e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("stat", "wanted"), [(1.0, [0.9989, 2.0018, -3.0027]), (0.0, [0.99811, 1.99982, -3.00513])]
)
def test_sgd_starts_its_accumulation_where_stat_says_so(stat, wanted):
    (p,) = parameters(1)
    accumulation = Parameter(Tensor(np.array([0.1, 0.2, 0.3], np.float32)), name="a")
    state = Parameter(Tensor(np.full(3, stat, np.float32)), name="s")
    gradient = Tensor(np.array(GRADIENT, np.float32))
    ops.SGD(0.1, 0.01)(p, gradient, Tensor(np.float32(0.01)), accumulation, Tensor(np.float32(0.9)), state)
    np.testing.assert_allclose(p.asnumpy(), wanted, rtol=1e-5, atol=1e-5)
    assert state.asnumpy().tolist() == [0, 0, 0]


def test_adams_step_without_the_parameter():
    m, v = parameters(2)
    gradient = Tensor(np.array(GRADIENT, np.float32))
    step = ops.AdamNoUpdateParam()(m, v, 0.9, 0.99, 0.01, 0.9, 0.99, 1e-8, gradient)
    np.testing.assert_allclose(step.asnumpy(), [-0.00872, -0.01234, 0.01576], atol=1e-5)
    np.testing.assert_allclose(m.asnumpy(), [0.91, 1.78, -2.67], rtol=1e-5)


def test_steps_that_mindspore_has_for_other_devices():
    """Checked by hand: MindSpore's CPU has no kernel for them, or forgets Nesterov's change."""
    gradient = Tensor(np.array(GRADIENT, np.float32))
    v, a = parameters(2)
    ops.ApplyMomentum(use_nesterov=True)(v, a, 0.01, gradient, 0.9)
    np.testing.assert_allclose(v.asnumpy()[0], 1 - 0.01 * (0.1 + 0.9 * 1.09), rtol=1e-6)
    v, a = parameters(2)
    ops.ApplyKerasMomentum()(v, a, 0.01, gradient, 0.9)
    np.testing.assert_allclose(v.asnumpy()[0], 1 + 1.1 * 0.9 - 0.001, rtol=1e-6)
    v, a = parameters(2)
    ops.FusedWeightScaleApplyMomentum()(0.1, 2.0, v, a, 0.01, gradient, 0.9)
    np.testing.assert_allclose(a.asnumpy()[0], 1.1 * 0.9 + 2 * (0.1 + 0.1), rtol=1e-6)
    (w,) = parameters(1)
    made = ops.LARSUpdate()(w, gradient, Tensor(np.float32(14.0)), Tensor(np.float32(0.14)), 0.1, 0.01)
    ratio = 0.001 * 14**0.5 / (0.14**0.5 + 0.1 * 14**0.5 + 1e-5)
    np.testing.assert_allclose(made.asnumpy()[0], (0.1 + 0.1) * ratio, rtol=1e-5)


def test_a_gradient_of_another_shape_is_refused_and_nothing_is_written():
    v, a = parameters(2)
    with pytest.raises(ValueError, match=r"ApplyMomentum.*shapes must be equal"):
        ops.ApplyMomentum()(v, a, 0.01, Tensor(np.ones(2, np.float32)), 0.9)
    assert v.asnumpy().tolist() == [1, 2, -3]
    with pytest.raises(TypeError, match="must be a Tensor or Parameter"):
        ops.ApplyMomentum()(v, a, 0.01, "text", 0.9)
    with pytest.raises(TypeError, match="missing a required argument"):
        ops.ApplyMomentum()(v, a)


def test_they_pickle():
    made = pickle.loads(pickle.dumps(ops.Adam(use_nesterov=True)))
    assert made.options == {"use_locking": False, "use_nesterov": True}


# The same for gradients of the rows 0 and 2 of three, for a first parameter [[1, 2], [-3, 4], [0.5, 0.6]].
ROWS = {
    "SparseApplyAdagrad": (
        ops.SparseApplyAdagrad(0.01), [G],
        [[[0.99905, 2.00137], [-3, 4], [0.49639, 0.59569]], [[1.11, 2.14], [2.9, 4.1], [0.69, 0.86]]],
    ),
    "SparseApplyAdagradV2": (
        ops.SparseApplyAdagradV2(0.01, 1e-6), [G],
        [[[0.99905, 2.00137], [-3, 4], [0.49639, 0.59569]], [[1.11, 2.14], [2.9, 4.1], [0.69, 0.86]]],
    ),
    "SparseApplyFtrl": (
        ops.SparseApplyFtrl(0.01, 0.1, 0.2, -0.5), [G],
        [
            [[-0.00685, 0.00441], [-3, 4], [0.02041, 0.04447]],
            [[1.11, 2.14], [2.9, 4.1], [0.69, 0.86]],
            [[0.82434, -0.74723], [2.8, 4.2], [-1.80329, -4.24211]],
        ],
    ),
}  # fmt: skip
# And for the rows 0, 2 and 0 again, whose gradients are added up.
TWICE = {
    "SparseApplyAdagrad": (
        ops.SparseApplyAdagrad(0.01), [G],
        [[[0.99503, 1.99734], [-3, 4], [0.49639, 0.59569]], [[1.46, 2.26], [2.9, 4.1], [0.69, 0.86]]],
    ),
    "FusedSparseAdam": (
        ops.FusedSparseAdam(), [0.9, 0.99, 0.01, 0.9, 0.99, 1e-8, G],
        [
            [[0.99038, 1.98693], [-3.01568, 3.9819], [0.49316, 0.59248]],
            [[1.05, 1.93], [2.61, 3.69], [0.57, 0.67]],
            [[1.1916, 2.1796], [2.772, 4.158], [0.6939, 0.7936]],
        ],
    ),
    "FusedSparseLazyAdam": (
        ops.FusedSparseLazyAdam(), [0.9, 0.99, 0.01, 0.9, 0.99, 1e-8, G],
        [
            [[0.99038, 1.98693], [-3, 4], [0.49316, 0.59248]],
            [[1.05, 1.93], [2.9, 4.1], [0.57, 0.67]],
            [[1.1916, 2.1796], [2.8, 4.2], [0.6939, 0.7936]],
        ],
    ),
    "FusedSparseFtrl": (
        ops.FusedSparseFtrl(0.01, 0.1, 0.2, -0.5), [G],
        [
            [[0.11589, 0.05399], [-3, 4], [0.02041, 0.04447]],
            [[1.46, 2.26], [2.9, 4.1], [0.69, 0.86]],
            [[-14.14958, -8.23839], [2.8, 4.2], [-1.80329, -4.24211]],
        ],
    ),
    "FusedSparseProximalAdagrad": (
        ops.FusedSparseProximalAdagrad(), [0.01, 0.1, 0.2, G],
        [[[0.99256, 1.99402], [-3, 4], [0.494, 0.59333]], [[1.46, 2.26], [2.9, 4.1], [0.69, 0.86]]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("table", "name"), [("rows", n) for n in ROWS] + [("twice", n) for n in TWICE])
def test_a_step_of_some_rows_leaves_what_mindspores_leaves(table, name):
    primitive, rest, wanted = (ROWS if table == "rows" else TWICE)[name]
    gradient = np.array([[0.1, -0.2], [0.3, 0.4], [0.5, 0.6]], np.float32)
    rows = np.array([0, 2, 0], np.int32)
    if table == "rows":
        gradient, rows = gradient[:2], rows[:2]
    first = np.array([[1, 2], [-3, 4], [0.5, 0.6]], np.float32)
    ours = [
        Parameter(Tensor(np.abs(first + np.float32(0.1 * i)) if i else first), name=f"p{i}")
        for i in range(len(wanted))
    ]
    primitive(*ours, *(Tensor(gradient) if n is G else n for n in rest), Tensor(rows))
    for parameter, value in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(parameter.asnumpy(), value, rtol=5e-5, atol=1e-5)
