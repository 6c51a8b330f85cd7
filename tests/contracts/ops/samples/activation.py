from millrace._src.runtime.ops.nn import activation as a
from tests.contracts.ops.samples import Call, Fails, samples, unary

unary(a.relu, a.relu6, a.sigmoid, a.silu, a.silu_mint, a.gelu_tanh, low=-4, high=8)


@samples(a.gelu)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), "tanh")
    yield Call(make(2, 3).T, approximate="none")
    yield Call(make(0, 2))
    yield Call(make(3, dtype="float64"))
    yield Fails(make(3), "other")
    yield Fails(make(3, dtype="int32"))


@samples(a.gelu_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, approximate="tanh")
    yield Call(make(0, 2))
    yield Fails(make(3), approximate="other")


@samples(a.leaky_relu, a.leaky_relu_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 0.1)
    yield Call(make(0, 2), 0.5)
    yield Call(make(3, dtype="float64"))
    yield Fails(make(3), "text")
