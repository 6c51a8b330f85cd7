from millrace._src.runtime.ops.array import broadcast as s
from millrace._src.runtime.ops.array import creation, diagonal
from tests.contracts.ops.samples import Call, Fails, samples


@samples(s.broadcast_to, s.expand, s.expand_method)
def _(make):
    yield Call(make(3), (2, 3))
    yield Call(make(1, 3), (4, -1))
    yield Call(make(2, 1, 3), (2, 5, 3))
    yield Call(make(), (2, 2))
    yield Call(make(1, 2).T, (2, 3))
    yield Call(make(3, dtype="int32"), (2, 3))
    yield Call(make(3, dtype="bool"), (2, 3))
    yield Fails(make(3), (2, 4))
    yield Fails(make(2, 3), (3,))


@samples(s.expand_as)
def _(make):
    yield Call(make(3), make(2, 3))
    yield Call(make(1, 3, dtype="int32"), make(2, 3))
    yield Fails(make(3), make(2, 4))


@samples(s.tile)
def _(make):
    yield Call(make(2, 3), (2,))
    yield Call(make(2, 3), (1, 2))
    yield Call(make(2, 3), (2, 1, 1))
    yield Call(make(2, 3).T, (2, 2))
    yield Call(make(2, 3), ())
    yield Call(make(2, 3), (0, 1))
    yield Call(make(), (2,))
    yield Call(make(2, dtype="int32"), (2,))
    yield Call(make(2, dtype="bool"), (2,))
    yield Fails(make(2, 3), (-1, 1))
    yield Fails(make(2, 3), 2)
    yield Fails(make(2, 3), "text")


@samples(s.repeat)
def _(make):
    yield Call(make(2, 3), 2, 1)
    yield Call(make(2, 3), (2, 1, 2))
    yield Call(make(3), 2)
    yield Fails(make(2, 3), (2,))


@samples(s.repeat_elements)
def _(make):
    yield Call(make(2, 3), 2)
    yield Call(make(2, 3), 2, -1)
    yield Call(make(2, 3).T, 3, 1)
    yield Call(make(3, dtype="int32"), 2)
    yield Fails(make(2, 3), 0)
    yield Fails(make(2, 3), 2, 5)
    yield Fails(make(2, 3), 1.5)


@samples(s.repeat_interleave, s.repeat_interleave_mint)
def _(make):
    yield Call(make(2, 3), 2)
    yield Call(make(2, 3), 2, 0)
    yield Call(make(2, 3), (1, 2), 0)
    yield Call(make(2, 3).T, 2, -1)
    yield Call(make(3, dtype="int32"), 2, 0)
    yield Fails(make(2, 3), [1, 2, 3], 0)
    yield Fails(make(2, 3), 2, 5)


@samples(s.meshgrid, s.meshgrid_mint)
def _(make):
    yield Call(make(2), make(3))
    yield Call(make(2), make(3), indexing="ij")
    yield Call(make(2), make(3), indexing="xy")
    yield Call(make(2), make(3), make(4))
    yield Call(make(2, dtype="int32"), make(3, dtype="int32"))
    yield Fails(make(2), make(3), indexing="zz")
    yield Fails(make(2, 2), make(3))
    yield Fails(make(2), make(3, dtype="int32"))


@samples(s.cartesian_prod)
def _(make):
    yield Call(make(2), make(3))
    yield Call(make(2))
    yield Call(make(2), make(2), make(3))
    yield Call(make(2, dtype="int32"), make(3, dtype="int32"))
    yield Fails(make(2), 3)


@samples(s.combinations)
def _(make):
    yield Call(make(3))
    yield Call(make(3), 2, True)
    yield Call(make(4), 3)
    yield Call(make(3, dtype="int32"), 1)
    yield Fails(make(2, 3))


@samples(diagonal.block_diag)
def _(make):
    yield Call(make(2), make(2, 2), make())
    yield Call(make(2, 3), make(1, 2))
    yield Fails(make(2, 2, 2))
    yield Fails(make(2), "text")


@samples(creation.vander)
def _(make):
    yield Call(make(3))
    yield Call(make(3, dtype="int32"), 2)
    yield Call(make(3), 5)
    yield Fails(make(2, 3))
    yield Fails(make(3), 1.5)
