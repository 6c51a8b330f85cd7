from millrace._src.runtime.ops.nn import linear as p
from tests.contracts.ops.samples import Call, Fails, samples


@samples(p.dense, p.linear)
def _(make):
    yield Call(make(2, 3), make(4, 3), make(4))
    yield Call(make(5, 2, 3), make(4, 3))
    yield Call(make(3), make(4, 3))
    yield Call(make(3, 2).T, make(4, 3))
    yield Call(make(2, 3, dtype="float64"), make(4, 3, dtype="float64"), make(4, dtype="float64"))
    yield Fails(make(2, 3), make(4, 2))
