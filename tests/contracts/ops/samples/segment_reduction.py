from millrace._src.runtime.ops.array import segment_reduction as s
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32, i64


@samples(s.unsorted_segment_sum, s.unsorted_segment_max, s.unsorted_segment_min, s.unsorted_segment_prod)
def _(make):
    yield Call(make(4, 3), i32(0, 1, 0, 2), 3)
    yield Call(make(4), i32(0, 1, 0, 1), 4)
    yield Call(make(4), i32(0, -1, 0, 1), 2)
    yield Call(make(3, 4).T, i64(0, 1, 0, 1), 2)
    yield Call(make(2, 2, 3), i32([0, 1], [1, 0]), 2)
    yield Call(make(4, dtype="int32", low=-9, high=9), i32(0, 1, 0, 1), 3)
    yield Fails(make(4, 3), i32(0, 1), 3)


@samples(s.segment_sum, s.segment_prod, s.segment_max, s.segment_min, s.segment_mean)
def _(make):
    yield Call(make(4, 3), i32(0, 0, 1, 2))
    yield Call(make(4), i64(0, 0, 2, 2))
    yield Call(make(4, 2, dtype="float64"), i32(0, 1, 1, 3))
    yield Call(make(4, dtype="int32", low=-9, high=9), i32(0, 0, 1, 1))


@samples(s.sparse_segment_mean)
def _(make):
    yield Call(make(4, 3), i32(0, 2, 3), i32(0, 0, 1))
