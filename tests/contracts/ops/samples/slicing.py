from millrace._src.runtime.ops.array import flip_roll
from millrace._src.runtime.ops.array import slicing as c
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.slice)
def _(make):
    yield Call(make(3, 4), (0, 1), (2, 2))
    yield Call(make(3, 4), [0, 1], [-1, 2])
    yield Call(make(4, 3).T, (1, 0), (2, 4))
    yield Call(make(3, 4, dtype="int32"), (0, 1), (2, 2))
    yield Call(make(3, dtype="bool"), (1,), (2,))
    yield Fails(make(3, 4), (0, 1), (2, 9))
    yield Fails(make(3, 4), (0,), (2,))
    yield Fails(make(3, 4), 0, 2)


@samples(c.strided_slice)
def _(make):
    yield Call(make(3, 4), (0, 1), (3, 4), (2, 2))
    yield Call(make(3, 4), (2, 1), (0, 4), (-1, 1))
    yield Call(make(3, 4), (1,), (3,), (1,))
    yield Call(make(3, 4), (0, -3), (-1, 9), (1, 1))
    yield Call(make(4, 3).T, (0, 3), (3, 0), (1, -2))
    yield Call(make(3, 4), (0, 1), (3, 4), (1, 1), 2, 1)
    yield Call(make(3, 4), (0, 1), (1, 4), (1, 1), shrink_axis_mask=1)
    yield Call(make(3, 4), (0, 0), (1, 2), (1, 1), new_axis_mask=1)
    yield Call(make(2, 3, 4), (0, 1), (1, 3), (1, 1), ellipsis_mask=1)
    yield Call(make(3, 4, dtype="int32"), (0, 1), (3, 4), (1, 2))
    yield Call(make(3, 4), (5, 1), (7, 4), (1, 1))
    yield Fails(make(3, 4), (0, 1), (3, 4), (0, 1))
    yield Fails(make(3, 4), (0, 1), (3, 4), (1, 1, 1))
    yield Fails(make(3, 4), 0, 1, 1)


@samples(c.narrow)
def _(make):
    yield Call(make(3, 4), 0, 1, 2)
    yield Call(make(3, 4), 1, 0, 4)
    yield Call(make(4, 3).T, -1, 1, 2)
    yield Fails(make(3, 4), 0, 2, 2)
    yield Fails(make(3, 4), 0, -2, 2)
    yield Fails(make(3, 4), 5, 0, 2)


@samples(c.narrow_mint)
def _(make):
    yield Call(make(3, 4), 0, 1, 2)
    yield Call(make(4, 3).T, -1, 1, 2)
    yield Fails(make(3, 4), 0, 2, 2)


@samples(c.select_mint)
def _(make):
    yield Call(make(3, 4), 0, 1)
    yield Call(make(4, 3).T, -1, -1)
    yield Fails(make(3, 4), 0, 5)


@samples(flip_roll.flip, flip_roll.flip_method, flip_roll.reverse)
def _(make):
    yield Call(make(2, 3), (0,))
    yield Call(make(2, 3), [0, -1])
    yield Call(make(2, 3), ())
    yield Call(make(2, 3).T, (1,))
    yield Call(make(2, 3, dtype="int32"), (1,))
    yield Call(make(3, dtype="bool"), (0,))
    yield Fails(make(2, 3), (0, 0))
    yield Fails(make(2, 3), (5,))


@samples(flip_roll.fliplr, flip_roll.flipud)
def _(make):
    yield Call(make(2, 3))
    yield Call(make(2, 3, 2).T)
    yield Call(make(2, 3, dtype="int32"))
    yield Fails(make())


@samples(flip_roll.rot90)
def _(make):
    yield Call(make(2, 3), 1, (0, 1))
    yield Call(make(2, 3), -1, [0, 1])
    yield Call(make(2, 3), 2, (1, 0))
    yield Call(make(2, 3).T, 3, (0, 1))
    yield Call(make(2, 3, 2, dtype="int32"), 5, (1, 2))
    yield Fails(make(2, 3), 1, (0, 0))
    yield Fails(make(2, 3), 1, (0, 5))
    yield Fails(make(2, 3), 1.5, (0, 1))


@samples(flip_roll.roll)
def _(make):
    yield Call(make(2, 3), 1)
    yield Call(make(2, 3), 1, 0)
    yield Call(make(2, 3).T, (1, -1), (0, 1))
    yield Call(make(4, dtype="int32"), -1, 0)
    yield Fails(make(2, 3), 1, 5)


@samples(flip_roll.reverse_sequence, flip_roll.reverse_sequence_method)
def _(make):
    yield Call(make(3, 4), make(3, dtype="int64", low=0, high=4), 1)
    yield Call(make(3, 4), make(4, dtype="int32", low=0, high=3), 0, 1)
    yield Call(make(2, 3, 4, dtype="int32"), make(2, dtype="int64", low=0, high=4), 2)
    yield Call(make(4, 3).T, make(3, dtype="int64", low=0, high=4), 1)
    yield Fails(make(3, 4), make(2, dtype="int64", low=0, high=3), 1)
    yield Fails(make(3, 4), make(3, dtype="int64", low=9, high=9), 1)


@samples(c.select_view)
def _(make):
    yield Call(make(3, 4), 0, 1)
    yield Call(make(4, 3, dtype="int32").T, -1, 0)
    yield Fails(make(3, 4), 0, 5)


@samples(c.itemset)
def _(make):
    yield Call(make(3), 1, 9.0)
    yield Call(make(2, 2).T, (0, 1), 9.0)
    yield Call(make(2, 2), 3, 9.0)
    yield Call(make(1), 5.0)
    yield Fails(make(3), 2)
