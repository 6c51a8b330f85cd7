from millrace._src.runtime.ops.array import reshape as s
from tests.contracts.ops.samples import Call, Fails, samples


@samples(s.reshape)
def _(make):
    yield Call(make(2, 3), (3, 2))
    yield Call(make(2, 3), [-1])
    yield Call(make(2, 3), (3, -1))
    yield Call(make(2, 3).T, (2, 3))
    yield Call(make(), (1, 1))
    yield Call(make(1), ())
    yield Call(make(0, 3), (3, 0))
    yield Call(make(4, dtype="bool"), (2, 2))
    yield Call(make(4, dtype="bfloat16"), (2, 2))
    yield Call(make(4, dtype="complex64"), (2, 2))
    yield Fails(make(2, 3), (4,))
    yield Fails(make(2, 3), (-1, -1))
    yield Fails(make(2, 3), 6)
    yield Fails(make(2, 3), "text")
    yield Fails(3, (3,))


@samples(s.view)
def _(make):
    yield Call(make(2, 3), 3, 2)
    yield Call(make(2, 3), (3, 2))
    yield Call(make(2, 3).T, -1)
    yield Call(make(0, 3), 3, 0)
    yield Fails(make(2, 3), 4)


@samples(s.view_as, s.reshape_as)
def _(make):
    yield Call(make(2, 3), make(3, 2))
    yield Call(make(2, 3, dtype="int32"), make(6))
    yield Fails(make(2, 3), make(4))


@samples(s.resize)
def _(make):
    yield Call(make(2, 3), 2, 2)
    yield Call(make(2, 3), (4, 2))
    yield Call(make(2, 3, dtype="int32").T, 3)
    yield Fails(make(2, 3), -1)


@samples(s.transpose, s.permute, s.permute_mint)
def _(make):
    yield Call(make(2, 3, 4), (0, 2, 1))
    yield Call(make(2, 3, 4), (0, -1, 1))
    yield Call(make(2, 3), (0, 1))
    yield Call(make(2, 3).T, (1, 0))
    yield Call(make(0, 3), (1, 0))
    yield Call(make(2, 3, dtype="int8"), (1, 0))
    yield Call(make(2, 3, dtype="bool"), (1, 0))
    yield Fails(make(2, 3, 4), (0, 1))
    yield Fails(make(2, 3, 4), (0, 1, 1))
    yield Fails(make(2, 3), (0, 5))
    yield Fails(make(2, 3), "text")
    yield Fails(3, (0,))


@samples(s.permute_method)
def _(make):
    yield Call(make(2, 3, 4), 0, 2, 1)
    yield Call(make(2, 3, 4), (2, 0, -2))
    yield Call(make(3), 0)
    yield Fails(make(2, 3, 4), 0, 1)


@samples(s.transpose_method)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3), 0, 1)
    yield Call(make(2, 3, 4), 0, 2)
    yield Call(make(2, 3, 4), 0, 2, 1)
    yield Call(make(2, 3, 4), (0, 2, 1))
    yield Call(make(2, 3, 4), [2, 1, 0])
    yield Fails(make(2, 3, 4), 0, 7)
    yield Fails(make(2, 3, 4), (0, 1))


@samples(s.transpose_mint, s.swapaxes, s.swapdims)
def _(make):
    yield Call(make(2, 3, 4), 0, 2)
    yield Call(make(2, 3, 4), -1, 1)
    yield Call(make(2, 3, dtype="int32").T, 0, 1)
    yield Fails(make(2, 3), 0, 4)
    yield Fails(make(2, 3), 0.5, 1)


@samples(s.movedim)
def _(make):
    yield Call(make(2, 3, 4), 0, -1)
    yield Call(make(2, 3, 4), (0, 1), (-1, 0))
    yield Call(make(2, 3).T, 1, 0)
    yield Fails(make(2, 3), 0, 4)
    yield Fails(make(2, 3), (0, 1), (0,))


@samples(s.t)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(3))
    yield Call(make(2, 3, 4))
    yield Call(make())


@samples(s.expand_dims, s.unsqueeze)
def _(make):
    yield Call(make(2, 3), 0)
    yield Call(make(2, 3), -1)
    yield Call(make(2, 3).T, 2)
    yield Call(make(), 0)
    yield Call(make(0, 2), 1)
    yield Call(make(3, dtype="float16"), -2)
    yield Call(make(3, dtype="bool"), 0)
    yield Fails(make(2, 3), 5)
    yield Fails(make(2, 3), 0.5)
    yield Fails(3, 0)


@samples(s.squeeze)
def _(make):
    yield Call(make(1, 2, 1))
    yield Call(make(1, 2, 1), 0)
    yield Call(make(1, 2, 1), (0, 2))
    yield Call(make(1, 2, 1), -1)
    yield Call(make(1, 2, 1), 1)
    yield Call(make(1, 2, 1), ())
    yield Call(make(2, 3).T)
    yield Call(make(1, 0))
    yield Call(make(1, dtype="int64"))
    yield Fails(make(1, 2, 1), 5)
    yield Fails(make(1, 2, 1), 0.5)
    yield Fails(3)


@samples(s.squeeze_mint)
def _(make):
    yield Call(make(1, 2, 1), 0)
    yield Call(make(1, 2, 1), (0, 1))
    yield Fails(make(1, 2, 1), 5)


@samples(s.flatten)
def _(make):
    yield Call(make(2, 3, 4))
    yield Call(make(2, 3, 4), "F")
    yield Call(make(2, 3, 4), start_dim=0, end_dim=1)
    yield Call(make(2, 3, 4), start_dim=0)
    yield Call(make(3))
    yield Call(make())
    yield Call(make(2, 3).T)
    yield Call(make(2, 3, 2, dtype="int32"))
    yield Fails(make(2, 3), "K")
    yield Fails(make(2, 3), start_dim=5)


@samples(s.flatten_mint)
def _(make):
    yield Call(make(2, 3, 4))
    yield Call(make(2, 3, 4), 1)
    yield Call(make(2, 3, 4), 0, 1)
    yield Call(make())
    yield Fails(make(2, 3), 5)


@samples(s.flatten_method)
def _(make):
    yield Call(make(2, 3, 4))
    yield Call(make(2, 3, 4), "F")
    yield Call(make(2, 3, 4), start_dim=1)
    yield Call(make(2, 3, 4), 1, 2)
    yield Call(make())
    yield Fails(make(2, 3), "K")
    yield Fails(make(2, 3), start_dim=5)


@samples(s.flatten_rows)
def _(make):
    yield Call(make(2, 3, 4))
    yield Call(make(3))
    yield Call(make(2, 3).T)
    yield Call(make(2, 2, 2, dtype="int32"))
    yield Fails(make())


@samples(s.ravel)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3).T)
    yield Call(make())
    yield Call(make(0, 2))
    yield Call(make(2, 2, dtype="bool"))
    yield Fails(3)
