from millrace._src.runtime.ops.framework import stop_gradient as g
from tests.contracts.ops.samples import Call, samples


@samples(g.stop_gradient)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T)
    yield Call(make(0, 2))
    yield Call(make())
