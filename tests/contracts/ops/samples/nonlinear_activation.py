from millrace._src.runtime.ops.nn import activation
from tests.contracts.ops.samples import Call, Fails, samples, unary

unary(
    activation.mish,
    activation.softsign,
    activation.fast_gelu,
    activation.tanhshrink,
    activation.softplus_plain,
    activation.logsigmoid,
    low=-4,
    high=4,
)
unary(activation.selu, activation.hardswish, activation.hardsigmoid, low=-4, high=8)


@samples(activation.elu, activation.elu_mint, activation.elu_)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 1.0)
    yield Call(make(0, 2))
    yield Call(make(3, dtype="float64"))
    yield Fails(make(3, dtype="int32"))


@samples(activation.celu)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 0.5)
    yield Call(make(3), alpha=-2.0)
    yield Call(make(3, dtype="float16"))
    yield Fails(make(3), 0.0)
    yield Fails(make(3), "text")


@samples(activation.prelu)
def _(make):
    yield Call(make(3, 4), make(4))
    yield Call(make(2, 3, 4), make(3))
    yield Call(make(2, 3, 4, 5), make(1))
    yield Call(make(2, 3).T, make(2))
    yield Call(make(2, 3, dtype="float16"), make(3, dtype="float16"))
    yield Fails(make(2, 3), make(2))


@samples(activation.softplus)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 2)
    yield Call(make(3, low=-50, high=50), 1.0, 20.0)
    yield Call(make(3, dtype="float64"), 0.5, 10)
    yield Fails(make(3), "text")


@samples(activation.logsigmoid_mint, activation.relu6_mint, activation.relu_)
def _(make):
    yield Call(make(3, 4, low=-4, high=8))
    yield Call(make(2, 3).T)
    yield Call(make(0, 2))


@samples(activation.hardtanh, activation.hardtanh_mint, activation.hardtanh_)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, -0.5, 0.5)
    yield Call(make(3, dtype="int32", low=-9, high=9), -2, 2)
    yield Call(make(3, dtype="float64"), -1, 1)
    yield Fails(make(3), "text")


@samples(activation.glu, activation.glu_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(4, 3), 0)
    yield Call(make(2, 3).T.copy(order="F").reshape(3, 2), -1)
    yield Call(make(3, 4, dtype="float64"))
    yield Fails(make(3, 5))


@samples(activation.swiglu)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(4, 3), 0)


@samples(activation.rrelu)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 0.5, 0.5)
    yield Fails(make(3), 2.0, 1.0)
    yield Fails(make(3), "text")


@samples(activation.threshold, activation.threshold_mint, activation.threshold_)
def _(make):
    yield Call(make(3, 4), 0.5, 9.0)
    yield Call(make(2, 3).T, -1, 2)
    yield Call(make(4, dtype="int32", low=-9, high=9), 1, 7)
    yield Fails(make(3), "text", 1.0)


@samples(activation.hardshrink, activation.softshrink)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T, 1.5)
    yield Call(make(0, 2), lambd=0.0)
    yield Call(make(3, dtype="float16"))
    yield Fails(make(3), "text")
    yield Fails(make(3, dtype="int32"))
