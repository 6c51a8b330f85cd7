from millrace._src.runtime.ops.array import concat_split as j
from tests.contracts.ops.samples import Call, Fails, samples


@samples(j.concat, j.concat_mint)
def _(make):
    yield Call((make(2, 3), make(2, 3)))
    yield Call([make(2, 3), make(2, 1)], 1)
    yield Call((make(2, 3), make(2, 1)), -1)
    yield Call((make(3, 2).T, make(2, 3)))
    yield Call((make(2), make(0)))
    yield Call((make(2),))
    yield Call((make(2, dtype="int32"), make(3, dtype="int32")))
    yield Call((make(2, dtype="bool"), make(3, dtype="bool")))
    yield Call((make(2, dtype="float16"), make(3, dtype="float16")))
    yield Fails((make(2, 3), make(3, 2)))
    yield Fails((make(2, 3), make(2, 3)), 4)
    yield Fails(())
    yield Fails(make(2, 3))
    yield Fails((make(2), 3))
    yield Fails((make(2), make(2, dtype="int32")))


@samples(j.parallel_concat)
def _(make):
    yield Call([make(1, 3), make(1, 3)])
    yield Call([make(1, 3, dtype="int32"), make(1, 3, dtype="int32"), make(1, 3, dtype="int32")])
    yield Fails([make(1, 3), make(1, 2)])


@samples(j.stack, j.stack_mint)
def _(make):
    yield Call((make(2), make(2)))
    yield Call([make(2, 3), make(2, 3)], 1)
    yield Call((make(2, 3), make(2, 3)), -1)
    yield Call((make(3, 2).T, make(2, 3)))
    yield Call((make(), make()))
    yield Call((make(2, dtype="int32"), make(2, dtype="int32")))
    yield Call((make(2, dtype="bool"),))
    yield Fails((make(2), make(3)))
    yield Fails((make(2), make(2)), 4)
    yield Fails(())
    yield Fails((make(2), make(2, dtype="int32")))


@samples(j.stack_primitive)
def _(make):
    yield Call(make(2), make(2))
    yield Call(make(2, 3), make(2, 3), axis=1)
    yield Call(make(2, dtype="int32"), make(2, dtype="int32"), axis=-1)
    yield Fails(make(2), make(3))


@samples(j.hstack, j.vstack, j.dstack, j.column_stack)
def _(make):
    yield Call((make(3), make(3)))
    yield Call([make(2, 3), make(2, 3)])
    yield Call((make(2, 3, 4), make(2, 3, 4)))
    yield Call((make(3, 2).T, make(2, 3)))
    yield Call((make(), make()))
    yield Call((make(3, dtype="int32"), make(3, dtype="int32")))
    yield Fails((make(2, 3), make(4, 5)))
    yield Fails(make(2, 3))
    yield Fails((make(2), [1, 2]))


@samples(j.split, j.split_mint, j.split_method)
def _(make):
    yield Call(make(5, 2), 2)
    yield Call(make(5, 2), (2, 3))
    yield Call(make(5, 2), [1, 0, 4])
    yield Call(make(5, 2), 1, 1)
    yield Call(make(5, 2), 1, -1)
    yield Call(make(2, 5).T, 2)
    yield Call(make(4, dtype="int32"), 3)
    yield Call(make(4, dtype="bool"), 2)
    yield Fails(make(5, 2), [2, 2])
    yield Fails(make(5, 2), 0)
    yield Fails(make(5, 2), 2, 5)
    yield Fails(make(5, 2), 2.5)
    yield Fails(make(5, 2), "text")


@samples(j.split_primitive)
def _(make):
    yield Call(make(4, 2))
    yield Call(make(4, 2), 0, 2)
    yield Call(make(4, 2), -1, 2)
    yield Call(make(2, 4, dtype="int32").T, 1, 2)
    yield Fails(make(4, 2), 0, 3)
    yield Fails(make(4, 2), 5, 2)


@samples(j.split_v)
def _(make):
    yield Call(make(5, 2), [2, 3], 0, 2)
    yield Call(make(5, 2, dtype="int32"), [1, -1], 0, 2)
    yield Fails(make(5, 2), [2, 2], 0, 3)


@samples(j.chunk, j.chunk_mint)
def _(make):
    yield Call(make(5, 2), 2)
    yield Call(make(5, 2), 9)
    yield Call(make(5, 2), 2, 1)
    yield Call(make(2, 5).T, 3, -2)
    yield Call(make(4, dtype="int64"), 2)
    yield Fails(make(5, 2), 0)
    yield Fails(make(5, 2), 2, 4)
    yield Fails(make(5, 2), 1.5)


@samples(j.tensor_split)
def _(make):
    yield Call(make(5), 2)
    yield Call(make(5), (1, 3))
    yield Call(make(5), [1, 9])
    yield Call(make(5), 7)
    yield Call(make(2, 3), 2, 1)
    yield Call(make(2, 3).T, 2, -2)
    yield Fails(make(5), 0)
    yield Fails(make(5), 2, 3)
    yield Fails(make(5), "text")


@samples(j.vsplit, j.hsplit, j.dsplit)
def _(make):
    yield Call(make(2, 4, 4), 2)
    yield Call(make(2, 4, 5), (1, 2))
    yield Call(make(2, 2, 2, dtype="int32"), 2)
    yield Fails(make(), 2)


@samples(j.unbind, j.unstack, j.unstack_num)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 1)
    yield Call(make(2, 3).T, -1)
    yield Call(make(3, dtype="int32"))
    yield Call(make(3, dtype="bool"))
    yield Fails(make(2, 3), 4)
