import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.random import categorical, distributions, permutation
from millrace._src.runtime.ops.random import uniform_normal as d
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32


@samples(d.normal)
def _(make):
    yield Call((2, 3), make(), make(low=1))
    yield Call((2, 3), make(3), make(low=1), 5)
    yield Call((2,), 0.0, 1.0)


@samples(d.normal_mint)
def _(make):
    yield Call(make(3), make(3, low=1))
    yield Call(0.0, 2.0, (2, 3))


@samples(d.standard_normal, d.standard_normal_of, d.uniform_real)
def _(make):
    yield Call((2, 3))
    yield Call((0,), 3)
    yield Fails((2, -3))


@samples(d.randn, d.rand)
def _(make):
    yield Call(2, 3)
    yield Call((2, 3), dtype=mstype.float16, seed=3)
    yield Fails(2, dtype=mstype.int32)
    yield Fails(2, -1)


@samples(d.randn_mint, d.rand_mint)
def _(make):
    yield Call(2, 3)
    yield Call((2, 3), dtype=mstype.float16)


@samples(d.randn_like, d.rand_like)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 4, dtype=mstype.float64)


@samples(d.randn_like_mint, d.rand_like_mint)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), dtype=mstype.float64)


@samples(d.uniform)
def _(make):
    yield Call((2, 3), np.float32(0).reshape(()), np.float32(1).reshape(()))
    yield Call((2, 3), np.array(0, "int32"), np.array(9, "int32"), 2, mstype.int32)


@samples(d.uniform_int)
def _(make):
    yield Call((2, 3), np.array(0, "int32"), np.array(9, "int32"))


@samples(d.randint)
def _(make):
    yield Call(0, 5, (2, 3))
    yield Call(-3, 5, (4,), 2, dtype=mstype.int32)
    yield Fails(5, 0, (3,))


@samples(d.randint_like)
def _(make):
    yield Call(make(2, 3, dtype="int32"), 0, 5)
    yield Fails(make(2, 3), 0, 5)


@samples(d.randint_mint)
def _(make):
    yield Call(0, 5, (2, 3))
    yield Call(5, (2, 3))


@samples(d.randint_like_mint)
def _(make):
    yield Call(make(2, 3), 5)
    yield Call(make(2, 3), -2, 5)


@samples(permutation.randperm, permutation.randperm_mint)
def _(make):
    yield Call(1)
    yield Call(1, dtype=mstype.int32)


@samples(permutation.randperm_padded)
def _(make):
    yield Call(i32(3), 5)


@samples(permutation.shuffle, permutation.shuffle_of)
def _(make):
    yield Call(make(9, 2))
    yield Call(np.ones((9, 2), "float32"), 3)


@samples(d.normal_, d.uniform_, d.exponential_, d.random_, categorical.bernoulli_, d.uniform_method)
def _(make):
    yield Call(make(2, 3))


@samples(distributions.cauchy, distributions.log_normal)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 0.5, 3.0)


@samples(distributions.cauchy_of)
def _(make):
    yield Call([2, 3])
