import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import gather as g
from millrace._src.runtime.ops.array import index_routines
from millrace._src.runtime.ops.nn import embedding
from tests.contracts.ops.samples import Call, Fails, samples


def i32(*values):
    return np.array(values, "int32")


def i64(*values):
    return np.array(values, "int64")


def _rows(make):
    yield Call(make(3, 4), i32(0, 2, 0), 0)
    yield Call(make(3, 4), i64([0, 1], [3, -1]), 1)
    yield Call(make(3, 4), np.array(1, "int32"), -1)
    yield Call(make(2, 3).T, i32(1), 0)
    yield Call(make(3, 4, dtype="int32"), i32(2, 1), 0)
    yield Call(make(3, dtype="bool"), i32(2, 1), 0)
    yield Call(make(3, 4), np.zeros((0,), "int32"), 0)
    yield Fails(make(3, 4), i32(0, 5), 0)
    yield Fails(make(3, 4), i32(0), 3)
    yield Fails(make(3, 4), make(2), 0)


@samples(g.gather)
def _(make):
    yield from _rows(make)
    yield Call(make(2, 3, 4), i32([0, 1], [2, 2]), 1, 1)
    yield Call(make(2, 3, 4), i32([0, 1], [3, 2]), 2, 1)
    yield Call(make(2, 3, 4), i32([[0], [1], [1]], [[3], [2], [0]]), 2, 2)
    yield Fails(make(3, 4), 1, 0)


samples(g.gather_rows)(_rows)


@samples(g.gather_method)
def _(make):
    yield from _rows(make)
    yield Call(make(3, 4), 1, i64([0, 1], [3, 2], [0, 0]))


@samples(g.gather_d, g.gather_elements)
def _(make):
    yield Call(make(3, 4), 0, i32([0, 1, 2, 0]))
    yield Call(make(3, 4), 1, i64([0, -1], [1, 2], [3, 3]))
    yield Call(make(2, 3).T, -1, i64([0], [1], [1]))
    yield Call(make(2, 2, dtype="int32"), 1, i64([0, 1], [1, 1]))
    yield Fails(make(3, 4), 1, i64([0, 9], [1, 2], [3, 3]))
    yield Fails(make(3, 4), 2, i64([0, 1], [1, 2], [3, 3]))
    yield Fails(make(3, 4), 1, make(3, 2))


@samples(g.gather_nd, g.gather_nd_method)
def _(make):
    yield Call(make(3, 4), i32([0, 1], [2, 3]))
    yield Call(make(3, 4), i64([0], [2]))
    yield Call(make(2, 3, 4), i32([[0, 1]], [[1, 2]]))
    yield Call(make(4, 3).T, i32([0, 1], [2, 3]))
    yield Fails(make(3, 4), i32([0, 9]))
    yield Fails(make(3, 4), i32([0, 1, 2]))


@samples(g.index_select, g.index_select_mint)
def _(make):
    yield Call(make(3, 4), 0, i32(0, 2))
    yield Call(make(3, 4), -1, i64(0, 0, 3))
    yield Call(make(2, 3).T, 1, i64(1))
    yield Fails(make(3, 4), 0, i32(7))


@samples(g.take)
def _(make):
    yield Call(make(3, 4), i64(0, 5, -1))
    yield Call(make(3, 4), i64([0, 5], [1, 1]))


@samples(g.take_method)
def _(make):
    yield Call(make(3, 4), i32(0, 5, 11))
    yield Call(make(3, 4), i32(0, 2), 1)
    yield Call(make(3, 4), i32(1, 7), 0, "clip")
    yield Call(make(3, 4), i32(1, 7), 0, "wrap")


@samples(index_routines.nonzero, index_routines.argwhere, index_routines.non_zero)
def _(make):
    yield Call(make(3, 4, dtype="int32", low=0, high=1))
    yield Call(make(3, 4, dtype="bool"))
    yield Call(make(5, dtype="bool"))
    yield Call(make(2, 3, dtype="bool").T)


@samples(index_routines.count_nonzero, index_routines.count_nonzero_method)
def _(make):
    yield Call(make(3, 4, dtype="int32", low=0, high=1))
    yield Call(make(3, 4, dtype="int32", low=0, high=1), 1)
    yield Call(make(2, 3, 4, dtype="int32", low=0, high=1), (0, 2), True)
    yield Call(make(3, 4), 0, False, mstype.int64)
    yield Fails(make(3, 4), 5)


@samples(index_routines.count_nonzero_mint, index_routines.count_nonzero_along)
def _(make):
    yield Call(make(3, 4, dtype="int32", low=0, high=1))
    yield Call(make(3, 4, dtype="int32", low=0, high=1), 1)


@samples(embedding.embedding_lookup)
def _(make):
    yield Call(make(3, 4), i32([0, 2], [1, 1]), 0)
    yield Call(make(3, 4), i32([5, 2], [6, 9]), 4)
