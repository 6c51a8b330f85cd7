from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import index_routines, reshape
from millrace._src.runtime.ops.framework import scalar_tuple
from millrace._src.runtime.ops.math import elementwise_unary
from tests.contracts.ops.samples import Call, Fails, samples


@samples(scalar_tuple.scalar_to_tensor)
def _(make):
    yield Call(3)
    yield Call(3.5)
    yield Call(True)
    yield Call(3, mstype.float16)
    yield Call(3.7, mstype.int32)
    yield Fails(make(2))
    yield Fails("text")
    yield Fails(3, "float32")


@samples(scalar_tuple.scalar_to_array)
def _(make):
    yield Call(3)
    yield Call(3.5)


@samples(scalar_tuple.tuple_to_array)
def _(make):
    yield Call((1, 2, 3))
    yield Call((1.0, 2.0))
    yield Call((1.5,))
    yield Fails(3)


@samples(scalar_tuple.scalar_cast)
def _(make):
    yield Call(3, mstype.float64)
    yield Call(3.7, mstype.int64)
    yield Call(3, mstype.bool_)
    yield Call(3, mstype.float32)
    yield Fails(make(2), mstype.float32)


@samples(scalar_tuple.make_range)
def _(make):
    yield Call(4)
    yield Call(1, 4)
    yield Call(9, 1, -2)
    yield Fails(1.5)


@samples(scalar_tuple.tuple_len, scalar_tuple.tuple_reversed)
def _(make):
    yield Call((1, 2))
    yield Call((3,))


@samples(scalar_tuple.tuple_getitem)
def _(make):
    yield Call((1, 2), 0)
    yield Call((1, 2), -1)


@samples(scalar_tuple.make_tuple)
def _(make):
    yield Call(1, 2)
    yield Call(make(2), 3)


@samples(scalar_tuple.shape_mul)
def _(make):
    yield Call((2, 3))
    yield Fails(3)


@samples(scalar_tuple.tensor_to_tuple)
def _(make):
    yield Call(make(3, dtype="int64"))


@samples(scalar_tuple.identities)
def _(make):
    yield Call((make(2), make(3, dtype="int32")))


@samples(index_routines.invert_permutation)
def _(make):
    yield Call((2, 0, 1))
    yield Fails((2, 0, 0))


@samples(index_routines.format_axis)
def _(make):
    yield Call(make(5, dtype="int32", low=-4, high=3))
    yield Call(make(5, dtype="int32", low=0, high=3), "NCHW", "NHWC")
    yield Fails(make(5, dtype="int32"), "text")


@samples(index_routines.format_vector)
def _(make):
    yield Call(make(4, dtype="int32", low=0, high=9))
    yield Call(make(4, 2, dtype="int64", low=0, high=9), "NCHW", "NHWC")
    yield Fails(make(5, dtype="int32"))


@samples(elementwise_unary.eps)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, dtype="float16"))
    yield Fails(make(2, dtype="int32"))


@samples(reshape.atleast_1d, reshape.atleast_2d, reshape.atleast_3d)
def _(make):
    yield Call(make())
    yield Call(make(2))
    yield Call(make(2, 3))
    yield Call(make(2, 3, 4).T)
    yield Call([make(), make(2)])
    yield Fails(3)
