from millrace._src.runtime.ops.numpy import array_creation
from millrace._src.runtime.ops.numpy import windows as c
from tests.contracts.ops.samples import Call, Fails, samples


@samples(array_creation.vander)
def _(make):
    yield Call(make(3))
    yield Call(make(3), 2, True)
    yield Call([1, 2, 3])
    yield Fails(make(2, 3))


@samples(c.bartlett, c.blackman, c.hamming, c.hanning)
def _(make):
    yield Call(5)
    yield Call(1)
    yield Fails("text")
