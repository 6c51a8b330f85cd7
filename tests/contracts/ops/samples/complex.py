from millrace._src.runtime.ops.math import complex as c
from millrace._src.runtime.ops.math import logical_bitwise
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.real, c.imag, c.conj, c.angle, c.isreal)
def _(make):
    yield Call(make(2, 3, dtype="complex64"))
    yield Call(make(2, 3, dtype="complex128").T)
    yield Call(make(3))
    yield Call(make(dtype="complex64"))
    yield Fails(3)


@samples(c.polar)
def _(make):
    yield Call(make(2, 3, low=0), make(2, 3))
    yield Call(make(3, dtype="float64", low=0), make(3, dtype="float64"))
    yield Fails(make(3, dtype="int32"), make(3, dtype="int32"))


@samples(c.complex_of)
def _(make):
    yield Call(make(2, 3), make(2, 3))
    yield Call(make(3, dtype="float64"), make(3, dtype="float64"))
    yield Fails(make(3, dtype="int32"), make(3, dtype="int32"))
    yield Fails(make(3), make(3, dtype="float64"))


@samples(c.complex_abs)
def _(make):
    yield Call(make(2, 3, dtype="complex64"))
    yield Call(make(2, 3, dtype="complex128").T)
    yield Fails(make(3))


@samples(c.view_as_real)
def _(make):
    yield Call(make(2, 3, dtype="complex64"))
    yield Call(make(dtype="complex64"))
    yield Fails(make(3))


@samples(c.adjoint)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3, 4, dtype="complex64"))
    yield Call(make(2, 3).T)


@samples(c.conjugate_transpose)
def _(make):
    yield Call(make(2, 3, dtype="complex64"), (1, 0))
    yield Call(make(2, 3, 4), (0, 2, 1))


@samples(logical_bitwise.bitwise_left_shift, logical_bitwise.bitwise_right_shift)
def _(make):
    yield Call(make(3, dtype="int32", low=0, high=99), make(3, dtype="int32", low=0, high=4))
    yield Call(make(2, 3, dtype="int32", low=0, high=99), 2)
    yield Call(make(3, 2, dtype="int64", low=0, high=99).T, make(3, dtype="int64", low=0, high=4))
    yield Fails(make(3), 1)


@samples(logical_bitwise.left_shift, logical_bitwise.right_shift)
def _(make):
    yield Call(make(3, dtype="int32", low=0, high=99), make(3, dtype="int32", low=0, high=4))
    yield Call(make(2, 3, dtype="uint8", low=0, high=99), make(3, dtype="uint8", low=0, high=1))
    yield Fails(make(3), make(3))
