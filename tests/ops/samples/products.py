from millrace.ops import products as d
from tests.ops.samples import Call, Fails, samples


@samples(d.dense, d.linear)
def _(make):
    yield Call(make(2, 3), make(4, 3))
    yield Call(make(2, 3), make(4, 3), make(4))
    yield Call(make(2, 2, 3), make(4, 3), make(4))
    yield Call(make(3, 2).T, make(3, 4).T)
    yield Call(make(3, dtype="float64"), make(4, 3, dtype="float64"))
    yield Fails(make(2, 5), make(4, 3))
