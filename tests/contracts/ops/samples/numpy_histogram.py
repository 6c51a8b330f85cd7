from millrace._src.runtime.ops.numpy import histogram as m
from tests.contracts.ops.samples import Call, samples


@samples(m.histogram)
def _(make):
    yield Call(make(9), 3)
    yield Call(make(9), 3, (-1.0, 1.0))
    yield Call(make(9), [-2.0, 0.0, 1.0])
    yield Call(make(9), 3, None, make(9, low=0.1))
    yield Call(make(9), 3, density=True)


@samples(m.histogram_bin_edges)
def _(make):
    yield Call(make(9), 3)
    yield Call(make(9), 3, (-1.0, 1.0))


@samples(m.histogram2d)
def _(make):
    yield Call(make(9), make(9), 2)
    yield Call(make(9), make(9), (2, 3))


@samples(m.histogramdd)
def _(make):
    yield Call(make(9, 2), 2)
