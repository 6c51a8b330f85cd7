from millrace._src.runtime.ops.math import arithmetic, comparison, logical_bitwise
from tests.contracts.ops.samples import Call, Fails, binary, samples

binary(
    arithmetic.add,
    arithmetic.sub,
    arithmetic.mul,
    arithmetic.add_scaled,
    arithmetic.sub_scaled,
    arithmetic.subtract,
    arithmetic.real_div,
    arithmetic.maximum,
    arithmetic.minimum,
    arithmetic.true_divide,
    arithmetic.atan2,
)
binary(arithmetic.pow, arithmetic.hypot, arithmetic.xlogy, low=0.5, high=3.0)
binary(
    arithmetic.floor_div,
    arithmetic.floor_divide,
    arithmetic.floor_mod,
    arithmetic.fmod,
    arithmetic.remainder,
    low=1.2,
    high=5.0,
)
binary(
    comparison.equal,
    comparison.not_equal,
    comparison.less,
    comparison.less_equal,
    comparison.greater,
    comparison.greater_equal,
)
binary(logical_bitwise.logical_and, logical_bitwise.logical_or, logical_bitwise.logical_xor)
binary(logical_bitwise.bitwise_and, logical_bitwise.bitwise_or, logical_bitwise.bitwise_xor, exact=True)


@samples(arithmetic.div)
def _(make):
    yield Call(make(3, 4), make(3, 4, low=0.5))
    yield Call(make(3, 4), make(4, low=0.5), rounding_mode="floor")
    yield Call(make(3, 4), 1.5, rounding_mode="trunc")
    yield Call(make(3, dtype="int32", high=9), make(3, dtype="int32", low=1, high=4))
    yield Call(make(3, dtype="int32", high=9), 2, rounding_mode="floor")
    yield Call(make(0, 2), make(2))
    yield Call(make(3), 0)
    yield Fails(make(3), 2, rounding_mode="up")
    yield Fails(make(3), "text")
