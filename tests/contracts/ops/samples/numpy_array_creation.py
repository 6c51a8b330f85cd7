from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.numpy import array_creation as c
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.array, c.asarray)
def _(make):
    yield Call([1, 2, 3])
    yield Call([1.5, 2])
    yield Call(3)
    yield Call(2.5)
    yield Call([[True], [False]])
    yield Call([1, 2], mstype.float16)
    yield Call(make(2, 3))
    yield Call(make(2, 3).T, mstype.int32)
    yield Call([make(2), make(2)])
    yield Fails("text")


@samples(c.asfarray)
def _(make):
    yield Call([1, 2, 3])
    yield Call(make(2, dtype="int32"))
    yield Call([1], mstype.float16)


@samples(c.zeros, c.ones)
def _(make):
    yield Call((2, 3))
    yield Call(3)
    yield Call([2, 2], mstype.int32)
    yield Call((2,), "float16")
    yield Call((0, 2))
    yield Fails((-1,))
    yield Fails("text")


@samples(c.empty)
def _(make):
    yield Call((2, 3))
    yield Call(3, mstype.int32)


@samples(c.full)
def _(make):
    yield Call((2, 2), 3)
    yield Call(2, 2.5)
    yield Call((2,), 3, mstype.float32)
    yield Call((2, 2), make(2))
    yield Fails((-1,), 3)


@samples(c.zeros_like, c.ones_like)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, dtype="int32"))
    yield Call([1, 2])
    yield Call(make(2), mstype.int32, (3,))


@samples(c.empty_like)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2), mstype.int32, (3,))


@samples(c.full_like)
def _(make):
    yield Call(make(2, 3), 3)
    yield Call(make(2, dtype="int32"), 3.5)
    yield Call(make(2), 3, mstype.int32, (3,))


@samples(c.arange)
def _(make):
    yield Call(5)
    yield Call(1, 5, 2)
    yield Call(0.5, 3)
    yield Call(3, 0, -1)
    yield Call(5, dtype=mstype.float32)
    yield Fails("text")


@samples(c.linspace)
def _(make):
    yield Call(0, 1, 5)
    yield Call(0, 1, 5, False)
    yield Call(0, 1, 3, True, True)
    yield Call([0, 1], [1, 2], 3)
    yield Call([0, 1], [1, 2], 3, axis=1)
    yield Call(0, 5, 3, dtype=mstype.int32)
    yield Call(1, 2, 1)
    yield Fails(0, 1, 2.5)


@samples(c.logspace)
def _(make):
    yield Call(0, 2, 3)
    yield Call(0, 2, 4, False, 2.0)
    yield Call(0, 2, 3, dtype=mstype.float16)


@samples(c.geomspace)
def _(make):
    yield Call(1, 100, 3)
    yield Call(1, 8, 3, False)


@samples(c.eye)
def _(make):
    yield Call(3)
    yield Call(2, 3, 1)
    yield Call(3, 2, -1, mstype.int32)
    yield Fails(-1)


@samples(c.identity)
def _(make):
    yield Call(2)
    yield Call(2, mstype.int32)


@samples(c.tri)
def _(make):
    yield Call(3)
    yield Call(2, 3, 1)
    yield Call(3, 2, -1, mstype.int32)


@samples(c.tril, c.triu)
def _(make):
    yield Call(make(3, 3))
    yield Call(make(2, 3, 3), 1)
    yield Call(make(3, 4).T, -1)
    yield Call(make(3))
    yield Call([[1, 2], [3, 4]])


@samples(c.tril_indices, c.triu_indices)
def _(make):
    yield Call(2)
    yield Call(3, 1)
    yield Call(3, -1, 2)


@samples(c.tril_indices_from, c.triu_indices_from)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(3, 3), 1)
    yield Fails(make(3))


@samples(c.diag)
def _(make):
    yield Call(make(3))
    yield Call(make(3), 1)
    yield Call(make(3, 4), -1)
    yield Fails(make(2, 2, 2))


@samples(c.diagflat)
def _(make):
    yield Call(make(2, 2))
    yield Call(make(2), 1)


@samples(c.diagonal)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), 1, 1, 2)
    yield Fails(make(3))


@samples(c.diag_indices)
def _(make):
    yield Call(2)
    yield Call(3, 3)


@samples(c.ix_)
def _(make):
    yield Call(make(2, dtype="int32"), make(3, dtype="int32"))
    yield Fails(make(2, 2), make(3))


@samples(c.indices)
def _(make):
    yield Call((2, 3))
    yield Call((2, 3), sparse=True)


@samples(c.meshgrid)
def _(make):
    yield Call(make(2), make(3))
    yield Call(make(2), make(3), indexing="ij")
    yield Call(make(2), make(3), sparse=True)
    yield Call(make(2), make(3), make(2))
    yield Fails(make(2), make(3), indexing="zz")
