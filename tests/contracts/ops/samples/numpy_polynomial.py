import numpy as np

from millrace._src.runtime.ops.numpy import mathematical_functions, numpy_statistics
from millrace._src.runtime.ops.numpy import polynomial as m
from tests.contracts.ops.samples import Call, Fails, samples


@samples(mathematical_functions.correlate, mathematical_functions.convolve)
def _(make):
    yield Call(make(5), make(2))
    yield Call(make(5), make(3), "full")
    yield Call(make(5), make(3), "same")
    yield Call(make(5), make(2), "same")
    yield Call(make(5), make(3), "valid")
    yield Call(make(2), make(5))
    yield Fails(make(5), make(2), "zz")


@samples(mathematical_functions.cross)
def _(make):
    yield Call(make(3), make(3))
    yield Call(make(2, 3), make(2, 3))
    yield Call(make(2), make(2))
    yield Call(make(3, 2), make(3, 2), axis=0)
    yield Fails(make(4), make(4))


@samples(mathematical_functions.interp)
def _(make):
    line = np.array([0.0, 1.0, 3.0], np.float32)
    yield Call(make(5), line, make(3))
    yield Call(make(5), line, make(3), -9.0, 9.0)
    yield Call(0.5, [0, 1], [2, 3])


@samples(numpy_statistics.cov, numpy_statistics.corrcoef)
def _(make):
    yield Call(make(2, 5))
    yield Call(make(5, 2), rowvar=False)
    yield Call(make(5), make(5))


@samples(numpy_statistics.bincount)
def _(make):
    yield Call(make(5, dtype="int32", low=0, high=3))
    yield Call(make(5, dtype="int32", low=0, high=3), make(5))
    yield Call(make(5, dtype="int32", low=0, high=3), minlength=6)


@samples(mathematical_functions.trapz)
def _(make):
    yield Call(make(5))
    yield Call(make(2, 5), None, 2.0, 0)
    yield Call(make(5), np.array([0.0, 1.0, 3.0, 4.0, 9.0], np.float32))


@samples(mathematical_functions.unwrap_angles)
def _(make):
    yield Call(make(6, low=-9, high=9))
    yield Call(make(3, 4, low=-9, high=9), axis=0)


@samples(mathematical_functions.gradient)
def _(make):
    yield Call(make(5))
    yield Call(make(3, 4))
    yield Call(make(3, 4), 2.0, axis=1)


@samples(mathematical_functions.ediff1d)
def _(make):
    yield Call(make(5))
    yield Call(make(2, 3), make(1), make(2))


@samples(m.polyadd, m.polysub, m.polymul)
def _(make):
    yield Call([1, 2], [3])
    yield Call(make(3), make(2))


@samples(m.polyval)
def _(make):
    yield Call([1, 2, 3], make(3))
    yield Call(make(3), make(2, 3))


@samples(m.polyder, m.polyint)
def _(make):
    yield Call([1, 2, 3])
    yield Call(make(4), 2)
