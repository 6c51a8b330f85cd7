from millrace._src.runtime.ops.array import scatter_inplace as n
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32, i64


@samples(
    n.scatter_add, n.scatter_sub, n.scatter_mul, n.scatter_div, n.scatter_max, n.scatter_min, n.scatter_update
)
def _(make):
    yield Call(make(3, 4), i32(0, 2), make(2, 4, low=1))
    yield Call(make(3, 4), i32([0], [2]), make(2, 1, 4, low=1))
    yield Call(make(3), i64(0, 2), make(2, low=1))
    yield Call(make(3, 4, dtype="int32", low=1, high=9), i32(0, 2), make(2, 4, dtype="int32", low=1, high=3))
    yield Fails(make(3, 4), i32(0, 1), make(2, 3))


@samples(
    n.scatter_nd_add,
    n.scatter_nd_sub,
    n.scatter_nd_mul,
    n.scatter_nd_div,
    n.scatter_nd_max,
    n.scatter_nd_min,
    n.scatter_nd_update_primitive,
)
def _(make):
    yield Call(make(3, 4), i32([0], [2]), make(2, 4, low=1))
    yield Call(make(3, 4), i64([0, 1], [2, 3]), make(2, low=1), False)
    yield Fails(make(3, 4), i32([0], [1]), make(2, 3))


@samples(n.index_add)
def _(make):
    yield Call(make(3, 4), i32(0, 2), make(2, 4), 0)
    yield Call(make(3, 4), i32(0, 0), make(3, 2), 1)
    yield Fails(make(3, 4), i32(0, 2), make(2, 4), 5)


@samples(n.inplace_index_add)
def _(make):
    yield Call(make(3, 4), i32(0, 2), make(2, 4), 0)
    yield Call(make(3, 4), i32(0, 0), make(3, 2), 1)


@samples(n.index_add_copy, n.index_add_)
def _(make):
    yield Call(make(3, 4), 0, i64(0, 2), make(2, 4))
    yield Call(make(3, 4), 1, i64(0, 0), make(3, 2), alpha=2)


@samples(n.inplace_update, n.inplace_add, n.inplace_sub, n.inplace_update_method)
def _(make):
    yield Call(make(3, 4), make(2, 4), (0, 2))
    yield Call(make(3, 4), make(1, 4), (1,))


@samples(n.inplace_update_v2)
def _(make):
    yield Call(make(3, 4), (0, 2), make(2, 4))
