"""Distributions and bijectors as a user meets them: modes, seeds, samples, gradients, classes of one's own."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.nn.probability.bijector as msb
import millrace.nn.probability.distribution as msd
from millrace import Parameter, Tensor, nn, ops

ALL = {
    "Normal": (msd.Normal, ([0.5, 1.0], 1.5), 0.2),
    "Uniform": (msd.Uniform, ([0.5, 1.0], 2.5), 0.1),
    "Exponential": (msd.Exponential, ([0.5, 2.0],), 0.2),
    "Logistic": (msd.Logistic, ([0.5, 1.0], 0.7), 0.2),
    "Gumbel": (msd.Gumbel, (np.array([0.5, 1.0], np.float32), np.array([0.7], np.float32)), 0.2),
    "LogNormal": (msd.LogNormal, ([0.2, 0.4], 0.3), 0.2),
    "Gamma": (msd.Gamma, ([2.0, 3.0], [1.5]), 0.2),
    "Beta": (msd.Beta, ([2.0, 3.0], [1.5]), 0.1),
    "Poisson": (msd.Poisson, ([1.5, 4.0],), 0.2),
    "Bernoulli": (msd.Bernoulli, ([0.3, 0.7],), 0.1),
    "Geometric": (msd.Geometric, ([0.3, 0.7],), 0.3),
}


@pytest.fixture(params=["PYNATIVE_MODE", "GRAPH_MODE"])
def mode(request):
    ms.set_context(mode=getattr(ms, request.param))
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.fixture(autouse=True)
def fresh_seed():
    yield
    ms.set_seed(1)


@pytest.mark.parametrize("name", ALL)
def test_samples_have_the_moments(name, mode):
    kind, args, slack = ALL[name]
    ms.set_seed(11)
    dist = kind(*args, seed=5)
    for _ in range(2):  # recorded, then replayed
        drawn = dist("sample", (4000,))
    assert drawn.dtype == dist.dtype
    values = drawn.asnumpy().astype(np.float64)
    assert values.shape == (4000, 2)
    assert np.allclose(values.mean(0), dist.mean().asnumpy(), atol=slack)
    assert np.allclose(values.std(0), dist.sd().asnumpy(), atol=slack)


def test_samples_of_cauchy_and_categories():
    ms.set_seed(2)
    drawn = msd.Cauchy(1.0, 2.0, seed=4).sample((4001,)).asnumpy()
    assert np.median(drawn) == pytest.approx(1.0, abs=0.3)
    chosen = msd.Categorical([[0.2, 0.3, 0.5], [0.8, 0.1, 0.1]], seed=4).sample((4000,)).asnumpy()
    assert chosen.shape == (4000, 2)
    assert np.allclose(np.bincount(chosen[:, 0]) / 4000, [0.2, 0.3, 0.5], atol=0.05)
    assert np.allclose(np.bincount(chosen[:, 1]) / 4000, [0.8, 0.1, 0.1], atol=0.05)


@pytest.mark.parametrize("name", ALL)
def test_a_seed_gives_the_same_samples_again_and_others_in_each_call(name):
    kind, args, _ = ALL[name]

    def draw(seed):
        ms.set_seed(3)
        dist = kind(*args, seed=seed)
        return [dist.sample((20,)).asnumpy() for _ in range(2)]

    first, second = draw(7)
    assert np.array_equal([first, second], draw(7))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, draw(8)[0])
    assert np.array_equal(draw(None), draw(None))  # set_seed alone does it too


def test_both_modes_give_the_same_bits():
    value = Tensor(np.array([[0.3, 0.6], [0.9, 0.2]], np.float32))
    for kind, args, _ in ALL.values():
        dist = kind(*args)
        for asked in ("prob", "log_prob", "cdf"):
            if kind is msd.Beta and asked == "cdf":
                continue
            found = []
            for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
                ms.set_context(mode=mode)
                found += [dist(asked, value).asnumpy() for _ in range(2)]
            ms.set_context(mode=ms.PYNATIVE_MODE)
            assert all(np.array_equal(found[0], each, equal_nan=True) for each in found), (kind, asked)


def test_it_learns_in_a_net(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mean = Parameter(Tensor([0.0]), name="mean")
            self.normal = msd.Normal(seed=1)

        def construct(self, x):
            loss = -self.normal.log_prob(x, self.mean, Tensor([1.0])).mean()
            return (
                loss
                + 0.0
                * self.normal(
                    "kl_loss", "Normal", self.mean, Tensor([1.0]), Tensor([0.0]), Tensor([1.0])
                ).sum()
            )

    net = Net()
    step = ms.value_and_grad(net, None, net.trainable_params())
    for _ in range(60):
        _, (gradient,) = step(Tensor([2.0, 4.0]))
        ops.assign_sub(net.mean, 0.2 * gradient)
    assert net.mean.asnumpy() == pytest.approx(3.0, abs=1e-3)


def test_a_parameter_of_the_net_is_a_parameter_of_the_distribution():
    dist = msd.Normal(Parameter(Tensor([1.0]), name="centre"), 1.0)
    assert [p.name for p in dist.trainable_params()] == ["centre"]
    dist.trainable_params()[0].set_data(Tensor([5.0]))
    assert dist.mean().asnumpy() == 5.0


def test_a_distribution_of_ones_own(mode):
    class Triangle(msd.Distribution):
        def __init__(self, a=None, seed=None, dtype=ms.float32, name="Triangle"):
            param = dict(locals())
            param["param_dict"] = {"a": a}
            super().__init__(seed, dtype, name, param)
            self._a = self._add_parameter(a, "a")

        def _cdf(self, value, a=None):
            return ops.square(self._check_value(value, "value") / self._check_param_type(a))

        def _var(self, a=None):
            return ops.square(self._check_param_type(a)) / 18

    dist = Triangle(2.0)
    x = Tensor([1.0])
    assert dist("cdf", x).asnumpy() == pytest.approx(0.25)
    assert dist("survival_function", x).asnumpy() == pytest.approx(0.75)
    assert dist("log_survival", x).asnumpy() == pytest.approx(np.log(0.75))
    assert dist("log_cdf", x, Tensor(4.0)).asnumpy() == pytest.approx(np.log(1 / 16))
    assert dist.sd().asnumpy() == pytest.approx(2 / np.sqrt(18))
    assert dist.parameters["a"] == 2.0
    for asked in ("prob", "mean", "sample", "entropy"):
        with pytest.raises(NotImplementedError, match=f"{asked} is not implemented for Triangle"):
            getattr(dist, asked)(*([x] if asked == "prob" else []))
    with pytest.raises(TypeError, match=r"Pass 'a' in this call or to Triangle\(\.\.\.\)"):
        Triangle().cdf(x)


def test_a_bijector_of_ones_own_transforms_a_distribution():
    class Cube(msb.Bijector):
        def __init__(self):
            super().__init__(name="Cube", param={})

        def _forward(self, x):
            return x**3

        def _inverse(self, y):
            return ops.pow(y, 1 / 3)

        def _inverse_log_jacobian(self, y):
            return -np.log(3) - 2 / 3 * ops.log(y)

    dist = Cube()(msd.Uniform(0.0, 2.0))
    assert isinstance(dist, msd.TransformedDistribution)
    assert dist.cdf(Tensor([1.0])).asnumpy() == pytest.approx(0.5)
    assert dist.prob(Tensor([1.0])).asnumpy() == pytest.approx(1 / 6)
    with pytest.raises(NotImplementedError, match="forward_log_jacobian"):
        Cube().forward_log_jacobian(Tensor([1.0]))
    with pytest.raises(ValueError, match="non-linear"):
        dist.mean()


def test_bijectors_go_there_and_back():
    x = Tensor(np.linspace(0.05, 0.95, 7).astype(np.float32))
    ways = (
        msb.Exp(),
        msb.PowerTransform(0.5),
        msb.ScalarAffine(2.0, 1.0),
        msb.Softplus(3.0),
        msb.GumbelCDF(0.5, 2.0),
    )
    for way in (*ways, *map(msb.Invert, ways[1:])):
        there = way.forward(x)
        if isinstance(way, msb.Invert) and isinstance(way.bijector, (msb.PowerTransform, msb.ScalarAffine)):
            there = way("forward", x)
        back = way.inverse(there)
        assert np.allclose(back.asnumpy(), x.asnumpy(), rtol=2e-4, atol=1e-5), way
        stretch = (way.forward_log_jacobian(x) + way.inverse_log_jacobian(there)).asnumpy()
        assert np.allclose(stretch, 0, atol=1e-3), way
    assert msb.PowerTransform(np.ones(2, np.float32)).shape_mapping((3, 1)) == (3, 2)


def test_large_values_do_not_overflow():
    far = Tensor([-200.0, 200.0])
    assert np.isfinite(msd.Logistic(0.0, 1.0).log_prob(far).asnumpy()).all()
    assert np.isfinite(msb.Softplus().forward(far).asnumpy()).all()
    assert np.isfinite(msb.Softplus().inverse(Tensor([1e-6, 200.0])).asnumpy()).all()


def test_copies_and_pickles():
    dist = msd.LogNormal([0.5, 1.0], 1.5)
    for other in (copy.deepcopy(dist), pickle.loads(pickle.dumps(dist))):
        assert np.array_equal(other.mean().asnumpy(), dist.mean().asnumpy())


def test_errors_say_what_is_wanted():
    normal = msd.Normal(0.0, 1.0)
    with pytest.raises(TypeError, match=r"Tensor or Parameter, but got float\. Write Tensor\(0\.5\)"):
        normal.prob(0.5)
    with pytest.raises(ValueError, match=r"need to broadcast, but got mean: \(2,\), sd: \(3,\)"):
        normal.mean(Tensor([1.0, 2.0]), Tensor([1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"greater than zero, but got -1"):
        msd.Normal(0.0, -1.0)
    with pytest.raises(TypeError, match=r"Write \(3,\)"):
        normal.sample(3)
    assert nn.probability.distribution is msd
