from millrace._src.runtime.ops.math import elementwise_unary as e
from millrace._src.runtime.ops.math import logical_bitwise
from millrace._src.runtime.ops.math import trigonometric as t
from tests.contracts.ops.samples import Call, samples, unary

unary(
    e.abs, e.neg, e.square, e.sign, e.positive, e.exp, e.exp2, e.expm1, t.sin, t.cos, t.sinh, t.cosh, t.tanh, t.atan,
    t.asinh, e.erf, e.erfc, e.floor, e.ceil, e.trunc, e.isnan, e.isnan_mint, e.isinf, e.isfinite,
    logical_bitwise.logical_not, e.round_special,
)  # fmt: skip
unary(e.sqrt, e.sqrt_mint, e.rsqrt, e.reciprocal, e.log, e.log2, e.log10, e.log1p, low=0.3, high=3.0)
unary(t.acosh, low=1.1, high=3.0)
unary(
    t.asin,
    t.arcsin,
    t.acos,
    t.atanh,
    e.erfinv,
    t.tan,
    low=-0.9,
    high=0.9,
)


@samples(e.round)
def _(make):
    yield Call(make(3, 4, low=-9, high=9))
    yield Call(make(2, 3).T)
    yield Call(make(0, 2))
    yield Call(make(4, low=-99, high=99), decimals=1)
