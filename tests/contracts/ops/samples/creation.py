from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import creation as c
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.zeros, c.ones, c.ones_mint)
def _(make):
    yield Call((2, 3), dtype=mstype.float32)
    yield Call((2, 3))
    yield Call(2, dtype=mstype.int32)
    yield Call((), dtype=mstype.float16)
    yield Call((0, 2), dtype=mstype.float32)
    yield Call((2,), dtype=mstype.bool_)
    yield Call((2,), dtype=mstype.int8)
    yield Call((2,), dtype=mstype.complex64)
    yield Fails((-1, 2), dtype=mstype.float32)
    yield Fails(2.5, dtype=mstype.float32)
    yield Fails((2,), dtype="int32")


@samples(c.empty)
def _(make):
    yield Call((2, 3))
    yield Call(2, 3, dtype=mstype.int32)
    yield Fails((-1, 2))


@samples(c.zeros_like, c.ones_like)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T)
    yield Call(make(2, dtype="int32"))
    yield Call(make(2, dtype="bool"))
    yield Call(make(2), dtype=mstype.float16)
    yield Call(make())
    yield Call(make(0, 2))


@samples(c.empty_like)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, dtype="int32"), dtype=mstype.float16)
    yield Fails(3)


@samples(c.zeros_like_plain, c.ones_like_plain)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T)
    yield Call(make(2, dtype="int32"))
    yield Call(make(2, dtype="bool"))
    yield Call(make(2, dtype="float16"))
    yield Call(make())
    yield Fails(3)


@samples(c.full, c.full_mint)
def _(make):
    yield Call((2, 2), 3)
    yield Call((2, 2), 3.5)
    yield Call([2], True)
    yield Call((), 3)
    yield Call((0, 2), 3.0)
    yield Call((2,), 3, dtype=mstype.float16)
    yield Call((2,), 3.7, dtype=mstype.int32)
    yield Fails((-1,), 3)
    yield Fails((2,), [1, 2])
    yield Fails((2,), "text")


@samples(c.full_like)
def _(make):
    yield Call(make(2, 3), 3)
    yield Call(make(2, dtype="int32"), 3.7)
    yield Call(make(2, dtype="int32"), 3.5, dtype=mstype.float32)
    yield Call(make(2), True)
    yield Call(make(3, 2).T, 1.5)
    yield Fails(make(2), [1])


@samples(c.fill)
def _(make):
    yield Call(mstype.float32, (2, 2), 3)
    yield Call(mstype.int32, (2,), 3.9)
    yield Call(mstype.bool_, (2,), 3)
    yield Call(mstype.float16, (), 0.5)
    yield Fails("float32", (2,), 1)
    yield Fails(mstype.float32, (-2,), 1)


@samples(c.fill_v2)
def _(make):
    yield Call((2, 3), make())
    yield Call((2, 3), make(dtype="int64"))
    yield Fails((2, -3), make())


@samples(c.fills, c.fill_method)
def _(make):
    yield Call(make(2, 3), 3.0)
    yield Call(make(2, 3).T, 3.0)
    yield Call(make(2, dtype="int32"), 3)
    yield Call(make(2), make())


@samples(c.fill_diagonal)
def _(make):
    yield Call(make(3, 3), 5.0)
    yield Call(make(7, 3), 5.0, True)
    yield Call(make(3, 4).T, 5.0)
    yield Fails(make(3), 5.0)


@samples(c.new_zeros, c.new_ones)
def _(make):
    yield Call(make(2), (2, 3))
    yield Call(make(2, dtype="int32"), 2)
    yield Call(make(2), (2,), dtype=mstype.int32)
    yield Fails(make(2), (-1,))


@samples(c.new_full)
def _(make):
    yield Call(make(2), (2, 3), 3)
    yield Call(make(2, dtype="int32"), (2,), 3, dtype=mstype.float32)
    yield Fails(make(2), (-1,), 3)


@samples(c.new_empty)
def _(make):
    yield Call(make(2), (2, 3))
    yield Fails(make(2), (-1,))


@samples(c.eye, c.eye_of)
def _(make):
    yield Call(2, 3, mstype.float32)
    yield Call(3, 2, mstype.int32)
    yield Call(2, 2, mstype.bool_)
    yield Call(0, 2, mstype.float32)
    yield Fails(-1, 2, mstype.float32)
    yield Fails(2.5, 2, mstype.float32)
    yield Fails(2, 2, "float32")


@samples(c.arange)
def _(make):
    yield Call(5)
    yield Call(1, 5, 2)
    yield Call(0.5, 3)
    yield Call(3, 0, -1)
    yield Call(5, dtype=mstype.float16)
    yield Call(2, 2)
    yield Call(1, 2, 0.25)
    yield Fails(0, 3, 0)
    yield Fails(0, 3, -1)
    yield Fails("text")


@samples(c.range)
def _(make):
    yield Call(0, 6, 4)
    yield Call(6, 0, -2)
    yield Call(0.0, 1.0, 0.25)
    yield Call(
        make(dtype="int32", low=0, high=0),
        make(dtype="int32", low=6, high=6),
        make(dtype="int32", low=4, high=4),
    )
    yield Fails(0, 6, 0)
    yield Fails(0, 6, -1)


@samples(c.linspace)
def _(make):
    yield Call(make(), make(), 3)
    yield Call(make(), make(), 1)
    yield Call(make(dtype="float64"), make(dtype="float64"), 4)
    yield Call(1, 5, 5)
    yield Call(1.0, 2.0, 7)
    yield Fails(make(), make(), 0)
    yield Fails(make(2), make(2), 3)
    yield Fails(1, 5, 2.5)


@samples(c.linspace_mint)
def _(make):
    yield Call(1, 5, 5)
    yield Call(1.5, 5, 4, dtype=mstype.float64)
    yield Fails(1, 5, -1)


@samples(c.logspace, c.logspace_of)
def _(make):
    yield Call(make(), make(), 3)
    yield Call(make(), make(), 4, 2, dtype=mstype.float16)
    yield Call(make(), make(), 1, 3)
    yield Fails(make(), make(), 3, dtype=mstype.int32)
    yield Fails(make(), make(), -3)


@samples(c.one_hot)
def _(make):
    one, zero = make(low=1, high=1), make(low=0, high=0)
    yield Call(make(4, dtype="int64", low=0), 3)
    yield Call(make(4, dtype="int32", low=0), 3, 1.5, -1.0)
    yield Call(make(4, dtype="int32", low=0), 3, one, zero)
    yield Call(make(2, 3, dtype="int32", low=-2, high=5), 3, one, zero, 0)
    yield Call(make(2, 3, dtype="int32", low=0), 3, one, zero, 1)
    yield Call(make(3, 2, dtype="int32", low=0).T, 4, one, zero)
    yield Call(make(dtype="int32", low=0), 3, one, zero)
    yield Call(make(4, dtype="int32", low=0), 3, one.astype("float16"), zero.astype("float16"))
    yield Fails(make(4), 3, one, zero)
    yield Fails(make(4, dtype="int32"), -1, one, zero)
    yield Fails(make(4, dtype="int32"), 3, one, zero, 5)
    yield Fails(make(4, dtype="int32"), 3, one, zero, -2)


@samples(c.sequence_mask)
def _(make):
    yield Call(make(3, dtype="int32", low=1, high=4))
    yield Call(make(3, dtype="int32", low=0, high=4), 5)
    yield Call(make(2, 3, dtype="int64", low=0, high=4), 2)
    yield Fails(make(3, dtype="int32", low=0), -1)
