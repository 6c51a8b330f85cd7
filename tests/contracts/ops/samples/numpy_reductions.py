import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.numpy import linear_algebra
from millrace._src.runtime.ops.numpy import reductions as r
from tests.contracts.ops.samples import Call, Fails, samples


@samples(r.sum)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 0)
    yield Call(make(2, 3).T, 1, None, True)
    yield Call(make(3, dtype="int32"))
    yield Call(make(3), dtype=mstype.int32)
    yield Call(make(3), initial=10)
    yield Call([1, 2, 3])
    yield Call(make())
    yield Fails(make(3), 5)


@samples(r.mean)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T, 0, True)
    yield Call(make(3), dtype=mstype.float16)
    yield Fails(make(3), 5)


@samples(r.std, r.var)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T, 0, 1, True)
    yield Call(make(2, 3), (0, 1))
    yield Fails(make(3), 5)


@samples(r.average)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 1)
    yield Call(make(2, 3), 1, make(2, 3, low=0.5))
    yield Call(make(3), None, make(3, low=0.5), True)


@samples(r.amax, r.amin)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T, 1)
    yield Call(make(2, 3), 0, True)
    yield Call(make(3, dtype="int32", low=-9, high=9))
    yield Call(make(3), initial=0.5)
    yield Call(make(3), initial=0.5, where=np.array([True, False, True]))
    yield Fails(make(3), 5)


@samples(r.ptp)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T, 1, True)


@samples(r.argmax, r.argmin)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T, 1)
    yield Fails(make(3), 5)


@samples(r.count_nonzero, r.sometrue)
def _(make):
    yield Call(make(2, 3, dtype="int32", low=0, high=1))
    yield Call(make(2, 3, dtype="int32", low=0, high=1), 1)
    yield Call(make(2, 3), 0, True)


@samples(r.cumsum, r.cumprod, r.nancumsum)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T, 1)
    yield Call(make(3), 0, mstype.float16)
    yield Fails(make(3), 5)


@samples(r.diff)
def _(make):
    yield Call(make(5))
    yield Call(make(2, 5).T, 2, 0)
    yield Call(make(2, 3), 1, 1, make(2, 1), make(2, 1))


@samples(r.nansum, r.nanmean, r.nanmax, r.nanmin, r.nanstd, r.nanvar)
def _(make):
    gone = make(2, 4)
    gone[0, 1] = np.nan
    yield Call(gone)
    yield Call(gone, 1)
    yield Call(make(2, 3), 0, keepdims=True)


@samples(linear_algebra.dot, linear_algebra.inner)
def _(make):
    yield Call(make(3), make(3))
    yield Call(make(2, 3), make(3, 3))
    yield Call(make(2), make())
    yield Fails(make(2, 3), make(4))


@samples(linear_algebra.outer, linear_algebra.kron)
def _(make):
    yield Call(make(2), make(3))
    yield Call(make(2, 2), make(3))


@samples(linear_algebra.tensordot)
def _(make):
    yield Call(make(2, 3), make(3, 2), 1)
    yield Call(make(2, 3, 4), make(3, 4, 2))
    yield Call(make(2, 3, 4), make(4, 3, 2), ((1, 2), (1, 0)))
    yield Fails(make(2, 3), make(4, 2), 1)


@samples(linear_algebra.multi_dot)
def _(make):
    yield Call([make(2, 3), make(3, 4), make(4, 2)])


@samples(linear_algebra.trace)
def _(make):
    yield Call(make(3, 3))
    yield Call(make(2, 3, 4), 1, 1, 2)


@samples(linear_algebra.norm)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(3))
    yield Call(make(2, 3), None, 1)
    yield Call(make(2, 3).T, 1, 0, True)
    yield Call(make(2, 3), "fro", (0, 1))
    yield Call(make(3), float("inf"))
