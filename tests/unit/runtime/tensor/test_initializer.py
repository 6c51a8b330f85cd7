"""Initialisers: the distribution is MindSpore's formula, a seed gives the same values again."""

import math

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace._src.core.random.seeds import set_seed
from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.tensor import initializer as i

SHAPE = (200, 300)
FAN_IN, FAN_OUT = 300, 200
UNIFORM = [
    (i.Uniform(0.2), 0.2),
    (i.XavierUniform(2), 2 * math.sqrt(6 / (FAN_IN + FAN_OUT))),
    (i.HeUniform(), math.sqrt(3) * math.sqrt(2 / FAN_IN)),
    (i.HeUniform(1.0, "fan_out"), math.sqrt(3) * math.sqrt(1 / FAN_OUT)),
    (i.HeUniform(nonlinearity="tanh"), math.sqrt(3) * 5 / 3 / math.sqrt(FAN_IN)),
    (i.VarianceScaling(2.0, "fan_avg", "uniform"), math.sqrt(3 * 2 / 250)),
]
NORMAL = [
    (i.Normal(0.5, 1.0), 1.0, 0.5),
    (i.XavierNormal(), 0, math.sqrt(2 / (FAN_IN + FAN_OUT))),
    (i.HeNormal(nonlinearity="relu"), 0, math.sqrt(2 / FAN_IN)),
    (i.VarianceScaling(), 0, math.sqrt(1 / FAN_IN)),
    (i.VarianceScaling(3.0, "fan_out", "untruncated_normal"), 0, math.sqrt(3 / FAN_OUT)),
    (i.TruncatedNormal(1.0), 0, 0.87962566103423978),
]


def values(init, shape=SHAPE, dtype=mstype.float32):
    set_seed(3)
    return i.initializer(init, shape, dtype).asnumpy()


@pytest.mark.parametrize(("init", "bound"), UNIFORM, ids=repr)
def test_uniform(init, bound):
    found = values(init)
    assert bound * 0.999 < np.abs(found).max() <= bound * 1.000001
    assert abs(found.std() - bound / math.sqrt(3)) < 0.01 * bound
    assert np.array_equal(found, values(init))


@pytest.mark.parametrize(("init", "mean", "deviation"), NORMAL, ids=repr)
def test_normal(init, mean, deviation):
    found = values(init)
    assert abs(found.mean() - mean) < 0.02 * deviation
    assert abs(found.std() - deviation) < 0.02 * deviation
    assert np.array_equal(found, values(init))


def test_truncated_normal_is_cut_off():
    found = values(i.TruncatedNormal(0.1, 1.0, -1, 3))
    assert 1.0 - 0.1 <= found.min() < 0.91
    assert 1.25 < found.max() <= 1.0 + 0.3


def test_the_rest():
    assert values("zeros", (2,)).tolist() == [0, 0]
    assert values(3, (2,)).tolist() == [3, 3]
    assert values(i.Constant(2.5), (2,), mstype.float16).dtype == np.float16
    assert values(i.Identity(), (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert values(i.Dirac(), (2, 2, 3))[0, 0].tolist() == [0, 1, 0]
    rows = values(i.Orthogonal(), (3, 5))
    assert np.allclose(rows @ rows.T, np.eye(3), atol=1e-5)
    assert (values(i.Sparse(0.3), (10, 4)) == 0).sum(0).tolist() == [3, 3, 3, 3]


def test_what_cannot_be():
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        values(i.XavierUniform(), (3,))
    with pytest.raises(ValueError, match="not found"):
        values("nonsense")
    with pytest.raises(TypeError):
        values(object())
