from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import attributes
from millrace._src.runtime.ops.array import cast as c
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.cast)
def _(make):
    yield Call(make(3, 4), mstype.float16)
    yield Call(make(3, low=-9, high=9), mstype.int32)
    yield Call(make(3, low=-9, high=9), mstype.int8)
    yield Call(make(2, 3).T, mstype.float64)
    yield Call(make(3, dtype="int32", low=-1, high=1), mstype.bool_)
    yield Call(make(3, dtype="bool"), mstype.float32)
    yield Call(make(3, dtype="int64", high=300), mstype.uint8)
    yield Call(make(3), mstype.bfloat16)
    yield Call(make(3, dtype="float64"), mstype.complex64)
    yield Call(make(3, dtype="complex64"), mstype.complex128)
    yield Call(make(0, 2), mstype.int32)
    yield Call(make(), mstype.int64)
    yield Call(make(3), mstype.float32)
    yield Call(3, mstype.float16)
    yield Call(2.5, mstype.int32)
    yield Fails(make(3), "int32")
    yield Fails(make(3), 3)
    yield Fails([1, 2], mstype.float32)


@samples(c.to)
def _(make):
    yield Call(make(3), mstype.int32)
    yield Call(make(2, 3).T, mstype.float64)
    yield Fails(make(3), "text")


@samples(c.type_as)
def _(make):
    yield Call(make(3), make(2, dtype="int32"))
    yield Call(make(2, 3).T, make(dtype="float64"))


@samples(c.type_method)
def _(make):
    yield Call(make(3))
    yield Call(make(3, dtype="int8"))
    yield Call(make(3), mstype.int32)
    yield Call(make(3), "Float64")


@samples(
    c.half,
    c.float_method,
    c.double,
    c.bfloat16,
    c.int_method,
    c.long,
    c.short,
    c.byte,
    c.bool_method,
)
def _(make):
    yield Call(make(3, low=0, high=9))
    yield Call(make(2, 3, low=0, high=9).T)
    yield Call(make(3, dtype="int64", low=0))
    yield Call(make(3, dtype="bool"))
    yield Call(make(0, 2))


@samples(c.clone, c.deepcopy, c.identity, c.contiguous)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T)
    yield Call(make())
    yield Call(make(3, dtype="int32"))


@samples(c.move_to)
def _(make):
    yield Call(make(2, 3), "CPU")
    yield Call(make(2, 3).T, "CPU", False)
    yield Fails(make(3), "text")


@samples(
    attributes.shape,
    attributes.dyn_shape,
    attributes.dyn_shape_in,
    attributes.dtype,
    attributes.size,
    attributes.rank,
    attributes.numel,
    attributes.dim,
)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3, dtype="int8").T)
    yield Call(make(dtype="bool"))
    yield Call(make(0, 2, dtype="float16"))
    yield Fails(3)


@samples(attributes.stride)
def _(make):
    yield Call(make(3))
    yield Call(make(3), 0)
    yield Call(make(3), -1)


@samples(attributes.storage_offset, attributes.is_contiguous)
def _(make):
    yield Call(make(3))
    yield Call(make())


@samples(attributes.is_signed, attributes.is_floating_point, attributes.is_complex)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, dtype="int32"))
    yield Call(make(2, dtype="uint8"))
    yield Call(make(2, dtype="bool"))
    yield Call(make(2, dtype="complex64"))


@samples(attributes.is_tensor, attributes.isconstant)
def _(make):
    yield Call(make(2))
    yield Call(3)
    yield Call("text")
    yield Call([1])


@samples(attributes.is_nonzero)
def _(make):
    yield Call(make(1))
    yield Call(make(1, dtype="int32", low=0, high=0))
    yield Fails(make(2))


@samples(c.move_to_device)
def _(make):
    yield Call(make(2, 3), "CPU", True)
    yield Fails(make(3), "text", True)
