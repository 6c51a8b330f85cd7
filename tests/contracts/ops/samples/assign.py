from millrace._src.runtime.ops.array import assign as a
from tests.contracts.ops.samples import Call, Fails, samples


@samples(a.assign)
def _(make):
    yield Call(make(2, 3), make(2, 3))
    yield Call(make(2, 3).T, make(3, 2))
    yield Call(make(3), make(3, dtype="int32"))
    yield Call(make(3, dtype="int32"), make(3, dtype="int32"))
    yield Call(make(), make())
    yield Fails(make(2), make(3))
    yield Fails(make(2), 3.0)
    yield Fails(3, make(2))


@samples(a.assign_add, a.assign_sub)
def _(make):
    yield Call(make(2, 3), make(2, 3))
    yield Call(make(3, dtype="int32"), make(3, dtype="int32"))
    yield Fails(make(2), make(3))
    yield Fails(make(2, dtype="int32"), make(2))


@samples(a.copy_)
def _(make):
    yield Call(make(2, 3), make(2, 3))
    yield Call(make(2, 3), make(3))
    yield Fails(make(2, 3), make(4))


@samples(a.fill_)
def _(make):
    yield Call(make(2, 3), 3)
    yield Call(make(2, 3, dtype="int32"), 3)


@samples(a.zero_)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3, dtype="int32").T)


@samples(a.fill_diagonal_)
def _(make):
    yield Call(make(3, 3), 5.0)
    yield Call(make(7, 3), 5.0, True)
