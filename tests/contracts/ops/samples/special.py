import numpy as np

from millrace._src.runtime.ops.math import special as s
from tests.contracts.ops.samples import Call, Fails, samples


def _floats(make, low, high):
    yield Call(make(3, 4, low=low, high=high))
    yield Call(make(2, 3, low=low, high=high).T)
    yield Call(make(0, 3))
    yield Call(make(4, dtype="float64", low=low, high=high))
    yield Fails(make(4, dtype="int32", low=1, high=4))


@samples(s.bessel_i0, s.bessel_i0e, s.bessel_i1, s.bessel_i1e, s.i0, s.bessel_j0, s.bessel_j1)
def _(make):
    yield from _floats(make, 0.3, 4.0)


@samples(s.bessel_k0, s.bessel_k0e, s.bessel_k1, s.bessel_k1e, s.bessel_y0, s.bessel_y1, s.digamma)
def _(make):
    yield from _floats(make, 0.3, 4.0)


@samples(s.lgamma)
def _(make):
    yield Call(make(3, 4, low=0.3, high=4))
    yield Call(make(4, dtype="float64", low=0.3, high=4))
    yield Call(make(4, dtype="int32", low=1, high=4))


@samples(s.mvlgamma)
def _(make):
    yield Call(make(3, 4, low=2, high=5), 2)
    yield Call(make(3, low=3, high=5), 4)
    yield Fails(make(3, low=3, high=5), 0)
    yield Fails(make(3, low=3, high=5), "text")


@samples(s.polygamma)
def _(make):
    yield Call(np.array(1, "int32"), make(3, low=0.5, high=4))
    yield Call(np.array(2, "int64"), make(3, low=0.5, high=4))


@samples(s.igamma, s.igammac, s.zeta)
def _(make):
    yield Call(make(3, 4, low=1.5, high=4), make(3, 4, low=0.5, high=4))
    yield Call(make(4, low=1.5, high=4), make(3, 4, low=0.5, high=4))


@samples(s.logit)
def _(make):
    yield Call(make(3, 4, low=0.1, high=0.9))
    yield Call(make(3, 4, low=0.0, high=1), 0.2)
    yield Call(make(2, 3, low=0.1, high=0.9).T)


@samples(s.logit_of)
def _(make):
    yield Call(make(3, 4, low=0.1, high=0.9))
    yield Call(make(3, 4, low=0.0, high=1), 0.2)
