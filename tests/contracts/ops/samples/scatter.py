from millrace._src.runtime.ops.array import scatter as s
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32, i64


@samples(
    s.tensor_scatter_sub,
    s.tensor_scatter_add,
    s.tensor_scatter_mul,
    s.tensor_scatter_div,
    s.tensor_scatter_max,
    s.tensor_scatter_min,
    s.tensor_scatter_update_primitive,
)
def _(make):
    yield Call(make(3, 4), i32([0], [2]), make(2, 4, low=1))
    yield Call(make(3, 4), i64([0, 1], [2, 3]), make(2, low=1))
    yield Call(make(4, 3).T, i32([0, 1], [2, 3]), make(2, low=1))
    yield Call(make(2, 3, 2), i32([[0, 1]], [[1, 2]]), make(2, 1, 2, low=1))
    yield Call(make(3, dtype="int32", low=1, high=9), i32([0], [2]), make(2, dtype="int32", low=1, high=3))
    yield Fails(make(3, 4), i32([0], [8]), make(2, 4))
    yield Fails(make(3, 4), i32([0], [1]), make(2, 3))


@samples(s.scatter_nd)
def _(make):
    yield Call(i32([0], [2], [0]), make(3), (4,))
    yield Call(i64([0, 1], [1, 1]), make(2), (3, 3))
    yield Call(i32([0], [2]), make(2, 4), (3, 4))
    yield Call(i32([0], [2]), make(2, 4, dtype="int32"), (3, 4))
    yield Fails(i32([0], [9]), make(2), (4,))
    yield Fails(i32([0], [1]), make(3), (4,))


@samples(s.tensor_scatter_elements)
def _(make):
    yield Call(make(3, 4), i32([0, 1], [2, 2]), make(2, 2))
    yield Call(make(3, 4), i64([0, 1], [2, -1]), make(2, 2), 1, "add")
    yield Call(make(2, 3).T, i64([0], [1]), make(2, 1), -1)
    yield Fails(make(3, 4), i32([0, 1], [2, 2]), make(2, 2), 0, "mul")
    yield Fails(make(3, 4), i32([0, 9], [2, 2]), make(2, 2))


@samples(s.scatter, s.scatter_mint, s.scatter_method)
def _(make):
    yield Call(make(3, 4), 0, i64([0, 1], [2, 2]), make(2, 2))
    yield Call(make(3, 4), 1, i64([0, 1], [2, 3]), make(2, 2))
    yield Call(make(2, 3).T, -1, i64([0], [1]), make(2, 1))


@samples(s.scatter_, s.scatter_add_)
def _(make):
    yield Call(make(3, 4), 0, i64([0, 1], [2, 2]), make(2, 2))


@samples(s.scatter_add_mint)
def _(make):
    yield Call(make(3, 4), 0, i64([0, 1], [2, 2]), make(2, 2))


@samples(s.scatter_add_method)
def _(make):
    yield Call(make(3, 4), 0, i64([0, 1], [2, 2]), make(2, 2))
    yield Call(make(3, 4), i32([0], [2]), make(2, 4))


@samples(s.select_scatter)
def _(make):
    yield Call(make(3, 4), make(4), 0, 1)
    yield Call(make(3, 4), make(3), -1, -1)
    yield Fails(make(3, 4), make(3), 5, 0)


@samples(s.slice_scatter)
def _(make):
    yield Call(make(3, 4), make(2, 4), 0, 1)
    yield Call(make(3, 4), make(3, 2), 1, 0, 4, 2)
    yield Call(make(3, 4), make(3, 4))


@samples(s.diagonal_scatter)
def _(make):
    yield Call(make(3, 4), make(3))
    yield Call(make(3, 4), make(3), 1)
    yield Call(make(2, 3, 3), make(2, 3), 0, 1, 2)


@samples(s.put_)
def _(make):
    yield Call(make(3, 4), i64(0, 5), make(2))
    yield Call(make(3, 4), i64(0, 0), make(2), True)


@samples(s.scatter_add_with_axis)
def _(make):
    yield Call(make(3, 4), i32([0, 1], [2, 2]), make(2, 2))
    yield Call(make(3, 4), i32([0, 1], [2, 2]), make(2, 2), 1)
