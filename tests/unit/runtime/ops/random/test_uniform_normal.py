"""Random numbers: the same seed gives the same, and they are spread as their name says."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import Tensor, mint, ops, set_seed

N = 20000


def f32(*values):
    return Tensor(np.array(values, np.float32))


def i32(*values):
    return Tensor(np.array(values, np.int32))


# What each call draws, with its mean and its deviation.
SPREADS = {
    "normal": (lambda: ops.normal((N,), f32(1.0), f32(2.0)), 1, 2),
    "standard_normal": (lambda: ops.standard_normal((N,)), 0, 1),
    "StandardNormal": (lambda: ops.StandardNormal()((N,)), 0, 1),
    "randn": (lambda: ops.randn(N), 0, 1),
    "mint.normal": (lambda: mint.normal(1.0, 2.0, (N,)), 1, 2),
    "uniform": (lambda: ops.uniform((N,), f32(2.0), f32(4.0)), 3, 2 / 12**0.5),
    "rand": (lambda: ops.rand(N), 0.5, 1 / 12**0.5),
    "UniformReal": (lambda: ops.UniformReal(seed=5)((N,)), 0.5, 1 / 12**0.5),
    "UniformInt": (lambda: ops.UniformInt()((N,), Tensor(0), Tensor(10)), 4.5, (99 / 12) ** 0.5),
    "randint": (lambda: ops.randint(0, 10, (N,)), 4.5, (99 / 12) ** 0.5),
    "gamma": (lambda: ops.gamma((N,), f32(2.0), f32(0.5)), 4, 8**0.5),
    "random_gamma": (lambda: ops.random_gamma(i32(N), f32(2.0)), 2, 2**0.5),
    "poisson": (lambda: ops.poisson((N,), f32(3.0)), 3, 3**0.5),
    "random_poisson": (lambda: ops.random_poisson(i32(N), f32(3.0)), 3, 3**0.5),
    "laplace": (lambda: ops.laplace((N,), f32(1.0), f32(2.0)), 1, 8**0.5),
    "standard_laplace": (lambda: ops.standard_laplace((N,)), 0, 2**0.5),
    "TruncatedNormal": (lambda: ops.TruncatedNormal()(i32(N, 1)), 0, 0.8796),
    "bernoulli": (lambda: ops.bernoulli(ops.rand(N), 0.3), 0.3, 0.21**0.5),
    "multinomial": (lambda: ops.multinomial(f32(1.0, 0.0, 1.0), N), 1, 1),
    "log": (lambda: ops.rand(N).log_normal(0.0, 0.5).log(), 0, 0.5),
    "exponential_": (lambda: ops.rand(N).exponential_(2.0), 0.5, 0.5),
}


@pytest.mark.parametrize("name", SPREADS)
def test_means_and_deviations(name):
    set_seed(7)
    draw, mean, deviation = SPREADS[name]
    made = draw().asnumpy().astype(np.float64).reshape(-1)
    assert abs(made.mean() - mean) < 5 * deviation / N**0.5
    assert made.std() == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("name", SPREADS)
def test_the_same_seed_gives_the_same_numbers_and_then_others(name):
    draw = SPREADS[name][0]
    set_seed(3)
    first, second = draw().asnumpy(), draw().asnumpy()
    set_seed(3)
    assert np.array_equal(draw().asnumpy(), first)
    assert not np.array_equal(first, second)


def test_a_seed_of_its_own_is_not_moved_by_other_draws():
    set_seed(1)
    first = ops.rand(4, seed=9).asnumpy()
    set_seed(1)
    ops.rand(100)
    assert np.array_equal(ops.rand(4, seed=9).asnumpy(), first)


def test_orders_and_choices():
    set_seed(2)
    assert sorted(ops.randperm(50).asnumpy()) == list(range(50))
    assert sorted(ops.shuffle(Tensor(np.arange(50))).asnumpy()) == list(range(50))
    chosen = ops.multinomial(f32(*[1.0] * 6), 6, replacement=False).asnumpy()
    assert sorted(chosen) == list(range(6))
    mask = np.zeros((4, 5), bool)
    mask[1, 2] = mask[3, 4] = True
    places, there = ops.RandomChoiceWithMask(3)(Tensor(mask))
    assert sorted(map(tuple, places.asnumpy()[there.asnumpy()])) == [(1, 2), (3, 4)]
    assert there.asnumpy().tolist() == [True, True, False]


def test_limits_hold():
    limited = ops.ParameterizedTruncatedNormal()(
        i32(2, 5000), f32(0, 5), f32(1, 2), f32(-1, 5), f32(1, 6)
    ).asnumpy()
    assert limited[0].min() >= -1
    assert limited[0].max() <= 1
    assert limited[1].min() >= 5
    assert limited[1].max() <= 6
    assert abs(ops.TruncatedNormal()(i32(100, 100)).asnumpy()).max() <= 2
