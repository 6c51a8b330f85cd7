from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.numpy import logic_functions
from millrace._src.runtime.ops.numpy import ufuncs as m
from tests.contracts.ops.samples import Call, Fails, samples


@samples(
    m.abs,
    m.absolute,
    m.fabs,
    m.exp,
    m.exp2,
    m.expm1,
    m.square,
    m.sin,
    m.cos,
    m.tan,
    m.sinh,
    m.cosh,
    m.tanh,
    m.arcsin,
    m.arctan,
    m.arcsinh,
    m.arctanh,
    m.deg2rad,
    m.radians,
    m.rad2deg,
    m.ceil,
    m.floor,
    m.rint,
    m.trunc,
    m.fix,
    m.sign,
    m.signbit,
    m.isnan,
    m.isinf,
    m.isfinite,
    m.isneginf,
    m.isposinf,
    m.negative,
    m.positive,
    m.logical_not,
    m.arccos,
)
def _(make):
    yield Call(make(2, 3, low=-0.9, high=0.9))
    yield Call(make(2, 3, low=-0.9, high=0.9).T)
    yield Call(make(3, dtype="int32", low=1, high=4))
    yield Call(make(3, dtype="float16", low=-0.9, high=0.9))
    yield Call(make(low=-0.9, high=0.9))


@samples(
    m.log,
    m.log2,
    m.log10,
    m.log1p,
    m.sqrt,
    m.cbrt,
    m.arccosh,
    m.reciprocal,
)
def _(make):
    yield Call(make(2, 3, low=1.1, high=3.0))
    yield Call(make(2, 3, low=1.1, high=3.0).T)
    yield Call(make(3, dtype="int32", low=1, high=4))
    yield Call(make(3, dtype="float16", low=1.1, high=3.0))
    yield Call(make(low=1.1, high=3.0))


@samples(m.invert, m.bitwise_not)
def _(make):
    yield Call(make(3, dtype="int32"))
    yield Call(make(3, dtype="int8"), mstype.int32)


@samples(
    m.add,
    m.subtract,
    m.multiply,
    m.divide,
    m.true_divide,
    m.power,
    m.float_power,
    m.floor_divide,
    m.mod,
    m.remainder,
    m.fmod,
    m.maximum,
    m.minimum,
    m.arctan2,
    m.hypot,
    m.copysign,
    m.heaviside,
    m.logaddexp,
    m.logaddexp2,
    m.equal,
    m.not_equal,
    m.less,
    m.less_equal,
    m.greater,
    m.greater_equal,
    m.logical_and,
    m.logical_or,
    m.logical_xor,
    m.divmod,
)
def _(make):
    yield Call(make(2, 3, low=0.5, high=4), make(2, 3, low=0.5, high=4))
    yield Call(make(2, 1, low=0.5, high=4), make(3, low=0.5, high=4))
    yield Call(make(3, low=0.5, high=4), 2)
    yield Call(1.5, make(3, low=0.5, high=4))
    yield Call(make(3, dtype="int32", low=1, high=9), make(3, dtype="int32", low=1, high=4))
    yield Call(make(3, dtype="int32", low=1, high=9), 2)
    yield Call(make(3, low=0.5, high=4), make(3, low=0.5, high=4), mstype.float16)
    yield Fails(make(3), "text")
    yield Fails(make(2), make(3))


@samples(m.bitwise_and, m.bitwise_or, m.bitwise_xor, m.gcd, m.lcm)
def _(make):
    yield Call(make(2, 3, dtype="int32", low=1, high=9), make(3, dtype="int32", low=1, high=9))
    yield Call(make(3, dtype="int32", low=1, high=9), 6)
    yield Fails(make(2, dtype="int32"), make(3, dtype="int32"))


@samples(m.matmul)
def _(make):
    yield Call(make(2, 3), make(3, 2))
    yield Call(make(3), make(3))
    yield Call(make(2, 2, 3), make(3, 2))
    yield Fails(make(2, 3), make(2, 3))


@samples(m.clip)
def _(make):
    yield Call(make(2, 3), -1, 1)
    yield Call(make(2, 3).T, None, 1.0)
    yield Call(make(3, dtype="int32", low=0, high=9), 1, 5)
    yield Call(make(3), make(3, low=-1, high=-0.5), make(3, low=0.5, high=1))


@samples(logic_functions.isclose)
def _(make):
    yield Call(make(3), make(3))
    yield Call(make(3), make(3), 10.0)
    yield Call(make(3, dtype="int32"), make(3, dtype="int32"))
