import numpy as np

from millrace._src.runtime.ops.nn import adaptive_pooling as p
from millrace._src.runtime.ops.nn import fractional_pooling, unpooling
from tests.contracts.ops.samples import Call, Fails, samples


@samples(p.adaptive_avg_pool1d, p.adaptive_max_pool1d, p.adaptive_avg_pool1d_mint, p.adaptive_max_pool1d_mint)
def _(make):
    yield Call(make(2, 3, 6), 3)
    yield Call(make(2, 3, 6), 1)
    yield Call(make(6, 3, 2).T, 2)
    yield Fails(make(2, 3, 6), "text")


@samples(p.adaptive_avg_pool2d, p.adaptive_max_pool2d)
def _(make):
    yield Call(make(2, 3, 7, 6), 3)
    yield Call(make(2, 3, 7, 6), (3, None))
    yield Call(make(3, 7, 6), (2, 4))
    yield Call(make(5, 6, 3, 2).T, 2)
    yield Call(make(1, 1, 4, 4, dtype="float64"), 2)
    yield Fails(make(2, 3, 7, 6), "text")
    yield Fails(make(2, 3, 7, 6), (3, -2))


@samples(p.adaptive_max_pool2d_with_indices)
def _(make):
    yield Call(make(2, 3, 7, 6), 3)
    yield Call(make(2, 3, 7, 6), (3, 2))


@samples(p.adaptive_avg_pool3d)
def _(make):
    yield Call(make(1, 2, 7, 6, 5), 3)
    yield Call(make(1, 2, 7, 6, 5), (3, None, 2))


@samples(p.adaptive_max_pool3d)
def _(make):
    yield Call(make(1, 2, 7, 6, 5), (3, 3, 3))
    yield Call(make(1, 2, 7, 6, 5), (3, 2, 2), True)


@samples(p.adaptive_max_pool3d_with_indices)
def _(make):
    yield Call(make(1, 2, 7, 6, 5), np.array([3, 2, 2], np.int32))


@samples(unpooling.max_unpool1d)
def _(make):
    yield Call(make(1, 1, 3), np.array([[[0, 3, 4]]]), 2)
    yield Call(make(1, 1, 3), np.array([[[0, 3, 4]]]), 2, 2, 0, (1, 1, 7))
    yield Fails(make(1, 1, 3), np.array([[[0, 3]]]), 2)


_WHERE = np.array([[[[0, 3], [9, 14]]]])


@samples(unpooling.max_unpool2d, unpooling.max_unpool2d_mint)
def _(make):
    yield Call(make(1, 1, 2, 2), _WHERE, 2)
    yield Call(make(1, 1, 2, 2), _WHERE, 2, 2, 0, (1, 1, 5, 5))
    yield Fails(make(1, 1, 3, 2), _WHERE, 2)


@samples(unpooling.max_unpool2d_of)
def _(make):
    yield Call(make(1, 1, 2, 2), _WHERE, 2)
    yield Call(make(1, 1, 2, 2), _WHERE, 2, 2, 0, (1, 1, 5, 5))


@samples(unpooling.max_unpool3d)
def _(make):
    yield Call(make(1, 1, 1, 2, 2), _WHERE[None], 2)


@samples(unpooling.max_unpool3d_of)
def _(make):
    yield Call(make(1, 1, 1, 2, 2), _WHERE[None], 2)


@samples(fractional_pooling.fractional_max_pool2d)
def _(make):
    yield Call(make(1, 2, 6, 7), 2, (3, 4), _random_samples=make(1, 2, 2, low=0, high=1))
    yield Call(make(1, 2, 6, 7), (2, 3), None, (0.5, 0.6), True, make(1, 2, 2, low=0, high=1))


@samples(fractional_pooling.fractional_max_pool3d)
def _(make):
    yield Call(make(1, 2, 6, 7, 5), 2, (3, 4, 2), _random_samples=make(1, 2, 3, low=0, high=1))
    yield Call(make(1, 2, 6, 7, 5), 2, None, (0.5, 0.6, 0.5), True, make(1, 2, 3, low=0, high=1))


@samples(fractional_pooling.fractional_max_pool2d_with_indices)
def _(make):
    yield Call(make(1, 2, 6, 7), make(1, 2, 2, low=0, high=1), 2, (3, 4))


@samples(fractional_pooling.fractional_max_pool3d_with_indices)
def _(make):
    yield Call(make(1, 2, 6, 7, 5), make(1, 2, 3, low=0, high=1), (2.0, 2.0, 2.0), (3, 4, 2))
    yield Call(make(1, 2, 6, 7, 5), make(1, 2, 3, low=0, high=1), 2, (3, 4, 2))
