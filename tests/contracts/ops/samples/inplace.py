import numpy as np

from millrace._src.runtime.ops.array import where
from millrace._src.runtime.ops.math import arithmetic, comparison, elementwise_ternary, reduction
from millrace._src.runtime.ops.math import inplace as b
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32


@samples(elementwise_ternary.addcdiv, elementwise_ternary.addcmul)
def _(make):
    yield Call(make(3, 4), make(3, 4), make(3, 4, low=0.5))
    yield Call(make(3, 4), make(4), make(3, 1, low=0.5), 0.5)
    yield Call(make(3, 4), make(3, 4), make(3, 4, low=0.5), make(1))
    yield Fails(make(3, 4), make(3), make(3, 4))


@samples(elementwise_ternary.addcdiv_mint)
def _(make):
    yield Call(make(3, 4), make(3, 4), make(3, 4, low=0.5))
    yield Call(make(3, 4), make(4), make(3, 1, low=0.5), value=0.5)


@samples(elementwise_ternary.addcdiv_of, elementwise_ternary.addcmul_of)
def _(make):
    yield Call(make(3, 4), make(3, 4), make(3, 4, low=0.5), make(1))


@samples(elementwise_ternary.lerp)
def _(make):
    yield Call(make(3, 4), make(3, 4), 0.3)
    yield Call(make(3, 4), make(3, 4), make(3, 4))
    yield Call(make(2, 3).T, make(3, 2), 0.7)


@samples(elementwise_ternary.addn, elementwise_ternary.accumulate_n)
def _(make):
    yield Call([make(3, 4), make(3, 4), make(3, 4)])
    yield Call((make(3), make(3)))
    yield Call([i32(1, 2), i32(3, 4)])
    yield Fails([make(3), make(4)])


@samples(comparison.isclose, comparison.allclose)
def _(make):
    one = make(3, 4)
    yield Call(one, one + np.float32(1e-7))
    yield Call(one, one + np.float32(0.1), 0.5, 0.0)
    yield Call(np.array([np.nan, 1], "float32"), np.array([np.nan, 1], "float32"), equal_nan=True)


@samples(comparison.approximate_equal, comparison.approximate_equal_method)
def _(make):
    one = make(3, 4)
    yield Call(one, one + np.float32(1e-6))
    yield Call(one, one + np.float32(0.1), 0.5)


@samples(comparison.equal_method)
def _(make):
    yield Call(i32(1, 2), i32(1, 3))
    yield Call(i32(1, 2), 2)


@samples(comparison.equal_count)
def _(make):
    yield Call(i32(1, 2, 3), i32(1, 3, 3))


@samples(comparison.check_numerics)
def _(make):
    yield Call(make(3, 4))
    yield Fails(np.array([np.nan], "float32"))


@samples(comparison.compare_and_bitpack)
def _(make):
    yield Call(make(2, 16), np.float32(0.5).reshape(()))


@samples(b.add_, b.sub_, b.mul_, b.div_, b.floor_divide_, b.remainder_)
def _(make):
    yield Call(make(3, 4, low=1), make(4, low=1))
    yield Call(make(3, 4, low=1), 2)


@samples(b.exp_, b.log_, b.floor_, b.tanh_, b.erfinv_)
def _(make):
    yield Call(make(3, 4, low=0.2, high=0.9))


@samples(b.clamp_)
def _(make):
    yield Call(make(3, 4), -1, 1)


@samples(reduction.sum_to_size)
def _(make):
    yield Call(make(3, 4), (1, 4))
    yield Call(make(3, 4), 3, 1)


@samples(where.choose)
def _(make):
    yield Call(i32(0, 2, 1), [i32(1, 2, 3), i32(4, 5, 6), i32(7, 8, 9)])
    yield Call(i32(0, 5, 1), [i32(1, 2, 3), i32(4, 5, 6)], "wrap")


@samples(arithmetic.multiply_method, arithmetic.true_divide_method)
def _(make):
    yield Call(make(3, 4), make(4, low=0.5))
    yield Call(i32(1, 2), 2)
