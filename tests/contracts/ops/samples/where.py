from millrace._src.runtime.ops.array import where as c
from millrace._src.runtime.ops.math import clamp
from tests.contracts.ops.samples import Call, Fails, samples


@samples(clamp.clamp, clamp.clip_by_value)
def _(make):
    yield Call(make(3, 4), -1, 1)
    yield Call(make(3, 4), 0.5)
    yield Call(make(2, 3).T, None, 0.5)
    yield Call(make(3, 4), make(4, low=-1, high=0), make(low=0, high=1))
    yield Call(make(4, dtype="int32", low=-9, high=9), -2, 3)
    yield Call(make(0, 2), -1, 1)
    yield Fails(make(3))
    yield Fails(make(3), "a")


@samples(c.where, c.where_mint, c.select)
def _(make):
    yield Call(make(3, 4, dtype="bool"), make(3, 4), make(3, 4))
    yield Call(make(3, 4, dtype="bool"), make(3, 4), 1.0)
    yield Call(make(3, 4, dtype="bool"), 2.0, make(3, 4))
    yield Call(make(2, 3, dtype="bool").T, make(3, 2), make(3, 2))
    yield Call(make(0, 2, dtype="bool"), make(0, 2), make(0, 2))
    yield Fails(make(3, dtype="bool"), make(3), "text")


@samples(c.where_method)
def _(make):
    yield Call(make(3, 4), make(3, 4, dtype="bool"), 0.0)
    yield Call(make(2, 3).T, make(3, 2, dtype="bool"), make(3, 2))
    yield Call(make(0, 2), make(0, 2, dtype="bool"), 1.0)


@samples(c.select_method)
def _(make):
    yield Call(make(3, 4), make(3, 4, dtype="bool"), make(3, 4))
    yield Call(make(2, 3).T, make(3, 2, dtype="bool"), make(3, 2))
    yield Call(make(3, 4), 1, 2)
