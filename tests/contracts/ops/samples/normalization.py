import numpy as np

from millrace._src.runtime.ops.nn import normalization
from tests.contracts.ops.samples import Call, Fails, samples


def _four(make, channels=3):
    return make(channels), make(channels, low=0.5, high=2), make(channels), make(channels)


@samples(normalization.batch_norm, normalization.batch_norm_mint)
def _(make):
    yield Call(make(2, 3, 4, 2), *_four(make))
    yield Call(make(2, 3, 4, 2), *_four(make), True)
    yield Call(make(4, 3), *_four(make), True, 0.3, 1e-3)
    yield Call(make(4, 3, 5), *_four(make), False, 0.3, 1e-3)
    yield Fails(make(4, 2, 5, 5), *_four(make))


@samples(normalization.batch_norm_of)
def _(make):
    mean, variance, scale, bias = _four(make)
    yield Call(make(2, 3, 4, 2), scale, bias, mean, variance)
    yield Call(make(2, 3, 4, 2), scale, bias, mean, variance, True, 1e-3, 0.5)
    yield Fails(make(2, 4, 4, 2), scale, bias, mean, variance)


@samples(normalization.layer_norm)
def _(make):
    yield Call(make(2, 3, 4), (4,), make(4), make(4))
    yield Call(make(2, 3, 4), (3, 4))
    yield Call(make(2, 3, 4), [4], make(4), make(4), 1e-3)
    yield Fails(make(2, 3, 4), (3,), make(3), make(3))


@samples(normalization.layer_norm_of)
def _(make):
    yield Call(make(2, 3, 4), make(3, 4), make(3, 4))
    yield Call(make(2, 3, 4), make(4), make(4), -1, -1, 1e-3)
    yield Call(make(2, 3, 4), make(4), make(4), 1, 2)
    yield Call(make(4, 3, 2).T, make(4), make(4), 2, 2)
    yield Fails(make(2, 3, 4), make(3), make(3), 2, 2)
    yield Fails(make(2, 3, 4), make(3), make(3), 7, 2)


@samples(normalization.group_norm)
def _(make):
    yield Call(make(2, 4, 5), 2)
    yield Call(make(2, 4, 5, 2), 4, make(4), make(4), 1e-3)
    yield Call(make(2, 4, 5), 1, np.ones(4, np.float32), np.zeros(4, np.float32))
    yield Fails(make(2, 4, 5), 3)
    yield Fails(make(2, 4, 5), "text")


@samples(normalization.rms_norm)
def _(make):
    yield Call(make(2, 3, 4), make(4))
    yield Call(make(2, 3, 4), make(3, 4), 1e-3)


@samples(normalization.add_rms_norm)
def _(make):
    yield Call(make(3, 4), make(3, 4), make(4))


@samples(normalization.add_layer_norm)
def _(make):
    yield Call(make(3, 4), make(3, 4), make(4), make(4))


@samples(normalization.lrn)
def _(make):
    yield Call(make(1, 7, 2, 3))
    yield Call(make(1, 7, 2, 3), 2, 2.0, 0.5, 0.75)
    yield Call(make(3, 2, 5, 1).T)
    yield Fails(make(1, 7, 2))
    yield Fails(make(1, 7, 2, 3), norm_region="text")


@samples(normalization.l2_normalize)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), -1, 1e-12)
    yield Call(make(3, 4), [1])
    yield Call(make(2, 3).T, 0)
    yield Call(np.zeros((2, 3), np.float32), 1)
    yield Call(make(3, 4, dtype="float64"))
    yield Fails(make(3, 4), (0, 1))
    yield Fails(make(3, 4), 3)
    yield Fails(make(3, 4, dtype="int32"))
