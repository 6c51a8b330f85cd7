import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import masking as m
from millrace._src.runtime.ops.array import sorting
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32, i64


@samples(m.masked_fill, m.masked_fill_method)
def _(make):
    yield Call(make(3, 4), make(3, 4, dtype="bool"), 0.5)
    yield Call(make(3, 4), make(4, dtype="bool"), np.float32(2).reshape(()))
    yield Call(make(2, 3).T, make(3, 2, dtype="bool"), -1)
    yield Call(make(3, 4, dtype="int32"), make(3, 1, dtype="bool"), 7)
    yield Call(make(3, 4), make(2, 3, 4, dtype="bool"), 1.0)
    yield Fails(make(3, 4), make(3, 4), 0.5)
    yield Fails(make(3, 4), make(3, 4, dtype="bool"), "text")


@samples(m.masked_fill_)
def _(make):
    yield Call(make(3, 4), make(3, 4, dtype="bool"), 0.5)


@samples(m.masked_select)
def _(make):
    yield Call(make(3, 4), make(3, 4, dtype="bool"))
    yield Call(make(3, 4), make(4, dtype="bool"))
    yield Call(make(2, 3).T, make(3, 2, dtype="bool"))
    yield Fails(make(3, 4), make(3, dtype="bool"))


@samples(m.masked_scatter)
def _(make):
    yield Call(make(3, 4), make(3, 4, dtype="bool"), make(12))
    yield Call(make(3, 4), make(4, dtype="bool"), make(3, 4))


@samples(m.index_fill)
def _(make):
    yield Call(make(3, 4), 0, i32(0, 2), 5.0)
    yield Call(make(3, 4), -1, i32(0, -1), np.float32(2).reshape(()))
    yield Call(make(2, 3).T, 1, i32(0), 0.5)
    yield Call(make(3, 4, dtype="int32"), 0, i32(0), 5)
    yield Fails(make(3, 4), 0, i32(0, 8), 5.0)
    yield Fails(make(3, 4), 5, i32(0), 5.0)


@samples(m.index_put, m.index_put_)
def _(make):
    yield Call(make(3, 4), (i64(0, 1), i64(1, 1)), make(2))
    yield Call(make(3, 4), (i64(0, 1),), make(1))
    yield Call(make(3, 4), (i64(0, 0), i64(1, 1)), make(2), True)


@samples(m.index_put_primitive)
def _(make):
    yield Call(make(3, 4), make(2), (i64(0, 1), i64(1, 1)))
    yield Call(make(3, 4), make(2), (i64(0, 0), i64(1, 1)), 1)


@samples(sorting.searchsorted)
def _(make):
    yield Call(np.sort(make(5)), make(3))
    yield Call(np.sort(make(2, 5)), make(2, 3), right=True)
    yield Call(np.sort(make(5)), make(3), out_int32=True)
    yield Call(np.array([1, 3, 3, 5], "int32"), np.array([3, 4], "int32"), side="right")
    yield Call(np.array([5, 1, 3], "float32"), np.array([2, 4], "float32"), sorter=i64(1, 2, 0))
    yield Fails(np.sort(make(5)), make(3), side="up")
    yield Fails(np.sort(make(5)), make(3), side="left", right=True)


@samples(sorting.searchsorted_method)
def _(make):
    yield Call(np.sort(make(5)), make(3))
    yield Call(np.sort(make(5)), make(3), "right")
    yield Fails(np.sort(make(5)), make(3), "up")


@samples(sorting.search_sorted)
def _(make):
    yield Call(np.sort(make(5)), make(3))
    yield Call(np.array([1, 3, 3, 5], "int32"), np.array([3, 4], "int32"), dtype=mstype.int32, right=True)


@samples(sorting.bucketize)
def _(make):
    yield Call(make(3, 4), [-1.0, 0.0, 1.0])
    yield Call(np.array([1, 3, 4], "float32"), [1.0, 3.0], right=True)
    yield Call(np.array([1, 3, 4], "int32"), [1, 3])


@samples(sorting.bucketize_left)
def _(make):
    yield Call(make(3, 4), [-1.0, 0.0, 1.0])
    yield Call(np.array([1, 3, 4], "int32"), [1.0, 3.0])
