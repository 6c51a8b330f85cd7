from millrace._src.runtime.ops.numpy import array_manipulation as s
from tests.contracts.ops.samples import Call, Fails, samples


@samples(s.reshape)
def _(make):
    yield Call(make(2, 3), (3, 2))
    yield Call(make(2, 3).T, -1)
    yield Call(make(4, dtype="int32"), [2, -1])
    yield Fails(make(2, 3), (4,))


@samples(s.ravel)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T)


@samples(s.transpose)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3, 4), (1, 0, 2))
    yield Fails(make(2, 3), (0, 0))


@samples(s.swapaxes)
def _(make):
    yield Call(make(2, 3, 4), 0, 2)
    yield Call(make(2, 3).T, -1, 0)
    yield Fails(make(2, 3), 0, 5)


@samples(s.moveaxis)
def _(make):
    yield Call(make(2, 3, 4), 0, 2)
    yield Call(make(2, 3, 4), (0, 1), (-1, 0))
    yield Fails(make(2, 3), 0, 5)


@samples(s.rollaxis)
def _(make):
    yield Call(make(2, 3, 4), 2)
    yield Call(make(2, 3, 4), 0, 3)
    yield Call(make(2, 3, 4).T, 1, 2)


@samples(s.expand_dims)
def _(make):
    yield Call(make(2), 0)
    yield Call(make(2), (0, 2))
    yield Call(make(2, 3).T, -1)
    yield Fails(make(2), 5)


@samples(s.squeeze)
def _(make):
    yield Call(make(1, 2, 1))
    yield Call(make(1, 2, 1), 0)
    yield Call(make(1, 2, 1), (0, -1))
    yield Fails(make(1, 2), 5)


@samples(s.broadcast_to)
def _(make):
    yield Call(make(3), (2, 3))
    yield Call(make(2, 1), (2, 3))
    yield Fails(make(3), (2, 4))


@samples(s.broadcast_arrays)
def _(make):
    yield Call(make(3), make(2, 1))
    yield Fails(make(3), make(2))


@samples(s.atleast_1d, s.atleast_2d, s.atleast_3d)
def _(make):
    yield Call(make())
    yield Call(make(2), make(2, 3))
    yield Call(make(2, 3, 4))


@samples(s.concatenate)
def _(make):
    yield Call((make(2), make(3)))
    yield Call([make(2, 2), make(2, 1)], 1)
    yield Call((make(2, 2), make(2, 2)), None)
    yield Call((make(2), make(2, dtype="int32")))
    yield Fails((make(2, 2), make(3, 3)))
    yield Fails(3)


@samples(s.append)
def _(make):
    yield Call(make(2), make(3))
    yield Call(make(2, 2), make(1, 2), 0)
    yield Fails(make(2, 2), make(1, 3), 0)


@samples(s.stack)
def _(make):
    yield Call((make(2), make(2)))
    yield Call([make(2, 3), make(2, 3)], 1)
    yield Fails((make(2), make(3)))


@samples(s.vstack, s.hstack, s.dstack, s.column_stack)
def _(make):
    yield Call((make(3), make(3)))
    yield Call([make(2, 3), make(2, 3)])
    yield Fails((make(2, 3), make(4, 5)))


@samples(s.split, s.array_split)
def _(make):
    yield Call(make(4), 2)
    yield Call(make(4), (1, 3))
    yield Call(make(2, 4), [1], 1)
    yield Fails(make(4), "text")


@samples(s.vsplit, s.hsplit, s.dsplit)
def _(make):
    yield Call(make(2, 2, 4), 2)
    yield Call(make(2, 2, 4), (1,))


@samples(s.tile)
def _(make):
    yield Call(make(2), 2)
    yield Call(make(2, 3), (2, 1))
    yield Call(make(2, 3).T, (2, 1, 2))


@samples(s.repeat)
def _(make):
    yield Call(make(2, 2), 2)
    yield Call(make(2, 2), 2, 0)
    yield Call(make(2, 2).T, [1, 2], 0)
    yield Fails(make(2, 2), -1)


@samples(s.flip)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 1)
    yield Call(make(2, 3).T, (0, 1))


@samples(s.flipud, s.fliplr)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3, 2).T)


@samples(s.rot90)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3, 2), 3, (1, 2))


@samples(s.roll)
def _(make):
    yield Call(make(2, 3), 1)
    yield Call(make(2, 3).T, 1, 1)
    yield Call(make(2, 3), (1, 2), (0, 1))
    yield Call(make(2, 3), 1, (0, 1))


@samples(s.size)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 1)
