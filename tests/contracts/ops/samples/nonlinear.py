from millrace._src.runtime.ops.nn import nonlinear as n
from tests.contracts.ops.samples import Call, Fails, samples, unary

unary(n.mish, n.softsign, n.fast_gelu, n.tanhshrink, n.softplus_plain, n.logsigmoid, low=-4, high=4)
unary(n.selu, n.hardswish, n.hardsigmoid, low=-4, high=8)


@samples(n.elu, n.elu_mint, n.elu_)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 1.0)
    yield Call(make(0, 2))
    yield Call(make(3, dtype="float64"))
    yield Fails(make(3, dtype="int32"))


@samples(n.celu)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 0.5)
    yield Call(make(3), alpha=-2.0)
    yield Call(make(3, dtype="float16"))
    yield Fails(make(3), 0.0)
    yield Fails(make(3), "text")


@samples(n.prelu)
def _(make):
    yield Call(make(3, 4), make(4))
    yield Call(make(2, 3, 4), make(3))
    yield Call(make(2, 3, 4, 5), make(1))
    yield Call(make(2, 3).T, make(2))
    yield Call(make(2, 3, dtype="float16"), make(3, dtype="float16"))
    yield Fails(make(2, 3), make(2))


@samples(n.softplus)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 2)
    yield Call(make(3, low=-50, high=50), 1.0, 20.0)
    yield Call(make(3, dtype="float64"), 0.5, 10)
    yield Fails(make(3), "text")


@samples(n.logsigmoid_mint, n.relu6_mint, n.relu_)
def _(make):
    yield Call(make(3, 4, low=-4, high=8))
    yield Call(make(2, 3).T)
    yield Call(make(0, 2))


@samples(n.hardtanh, n.hardtanh_mint, n.hardtanh_)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, -0.5, 0.5)
    yield Call(make(3, dtype="int32", low=-9, high=9), -2, 2)
    yield Call(make(3, dtype="float64"), -1, 1)
    yield Fails(make(3), "text")


@samples(n.glu, n.glu_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(4, 3), 0)
    yield Call(make(2, 3).T.copy(order="F").reshape(3, 2), -1)
    yield Call(make(3, 4, dtype="float64"))
    yield Fails(make(3, 5))


@samples(n.swiglu)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(4, 3), 0)


@samples(n.rrelu)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 0.5, 0.5)
    yield Fails(make(3), 2.0, 1.0)
    yield Fails(make(3), "text")


@samples(n.threshold, n.threshold_mint, n.threshold_)
def _(make):
    yield Call(make(3, 4), 0.5, 9.0)
    yield Call(make(2, 3).T, -1, 2)
    yield Call(make(4, dtype="int32", low=-9, high=9), 1, 7)
    yield Fails(make(3), "text", 1.0)


@samples(n.hardshrink, n.softshrink)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 1.5)
    yield Call(make(0, 2), lambd=0.0)
    yield Call(make(3, dtype="float16"))
    yield Fails(make(3), "text")
    yield Fails(make(3, dtype="int32"))
