import numpy as np

from millrace._src.runtime.ops.math import arithmetic as n
from millrace._src.runtime.ops.math import elementwise_unary, logical_bitwise, trigonometric
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32

ODD = np.array([np.nan, np.inf, -np.inf, 1.5, -0.0], "float32")


@samples(
    elementwise_unary.frac,
    elementwise_unary.frac_mint,
    elementwise_unary.sgn,
    trigonometric.sinc,
    trigonometric.deg2rad,
    trigonometric.rad2deg,
    trigonometric.deg2rad_method,
    trigonometric.rad2deg_method,
)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T)
    yield Call(make(4, dtype="float64"))
    yield Call(make(0, 3))
    yield Fails(3)


@samples(elementwise_unary.inv)
def _(make):
    yield Call(make(3, 4, low=0.5))
    yield Call(i32(1, 2, 4))


@samples(logical_bitwise.invert, logical_bitwise.bitwise_not)
def _(make):
    yield Call(make(4, dtype="int32", low=-9, high=9))
    yield Call(make(4, dtype="uint8", low=0, high=200))
    yield Fails(make(3))


@samples(
    elementwise_unary.signbit,
    elementwise_unary.isneginf,
    elementwise_unary.isposinf,
    elementwise_unary.isnan_ext,
)
def _(make):
    yield Call(ODD)
    yield Call(make(2, 3).T)


@samples(elementwise_unary.nan_to_num, elementwise_unary.nan_to_num_of)
def _(make):
    yield Call(ODD)
    yield Call(ODD, 1.0, 2.0, 3.0)


@samples(logical_bitwise.population_count)
def _(make):
    yield Call(i32(0, 1, 7, 255))


@samples(n.copysign)
def _(make):
    yield Call(make(3, 4), make(4))
    yield Call(make(3, 4), -1.0)


@samples(n.fmax, n.fmin, n.logaddexp, n.logaddexp2)
def _(make):
    yield Call(make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(4))
    yield Call(make(2, 3).T, make(3, 1))
    yield Fails(make(3), make(4))


@samples(n.gcd, n.lcm)
def _(make):
    yield Call(i32(4, 6, 0), i32(6, 9, 3))
    yield Call(i32([4], [6]), i32(6, 9))
    yield Fails(make(3), make(3))


@samples(n.heaviside)
def _(make):
    yield Call(np.array([-1, 0, 2], "float32"), make(3))


@samples(n.nextafter)
def _(make):
    yield Call(make(3, dtype="float64"), make(3, dtype="float64"))


@samples(n.ldexp, n.ldexp_method)
def _(make):
    yield Call(make(3), i32(1, 2, -1))


@samples(n.float_power, n.float_power_method)
def _(make):
    yield Call(make(3, low=0.5), make(3))
    yield Call(make(3, low=0.5), 2)
    yield Call(i32(1, 2), i32(2, 2))


def _pairs(make):
    yield Call(make(3, 4, low=1, high=9), make(3, 4, low=0.5, high=2))
    yield Call(make(3, 4), make(4, low=0.5))
    yield Call(make(3), 2.0)
    yield Call(i32(-7, 7), i32(2, -2))


@samples(n.truncate_div, n.truncate_mod, n.div_primitive, n.squared_difference, n.xdivy_method)
def _(make):
    yield from _pairs(make)


@samples(n.xdivy, n.div_no_nan, n.mul_no_nan)
def _(make):
    yield Call(make(3, 4), make(4, low=0.5))
    yield Call(make(2, 3).T, 2.0)
    yield Call(make(3, 4), make(3, 4, low=0.5))
    yield Call(np.array([0, 0, 3], "float32"), np.array([0, 2, 4], "float32"))


@samples(n.square_sum_all)
def _(make):
    yield Call(make(3, 4), make(3, 4))
