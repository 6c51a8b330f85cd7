import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import sorting as o
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32, i64


@samples(o.sort, o.argsort, o.argsort_mint, o.sort_method)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 0)
    yield Call(make(2, 3, 4), 1, True)
    yield Call(make(2, 3).T, -1)
    yield Call(make(7, dtype="int32", low=0, high=3))
    yield Call(make(7, dtype="float64"))
    yield Fails(make(3, 4), 5)


@samples(o.sort_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), dim=0, descending=True, stable=True)


@samples(o.msort)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T)


@samples(o.topk)
def _(make):
    yield Call(make(3, 4), 2)
    yield Call(make(3, 4), 2, 0)
    yield Call(make(3, 4), 1, -1, False)
    yield Call(make(4, 3).T, 3)
    yield Call(make(7, dtype="int32", low=-99, high=99), 3)
    yield Fails(make(3, 4), 9)
    yield Fails(make(3, 4), "text")


@samples(o.topk_mint)
def _(make):
    yield Call(make(3, 4), 2)
    yield Call(make(3, 4), 2, 0, False)


@samples(o.top_k, o.top_k_method)
def _(make):
    yield Call(make(3, 4), 2)
    yield Call(make(2, 3, 4), 4, True)
    yield Call(make(7, dtype="int32", low=-99, high=99), 3)
    yield Fails(make(3, 4), 9)


@samples(o.kthvalue)
def _(make):
    yield Call(make(3, 4), 2)
    yield Call(make(3, 4), 2, 0, True)


@samples(o.nth_element)
def _(make):
    yield Call(make(3, 4), 1)
    yield Call(make(3, 4), 0, True)


@samples(o.intopk)
def _(make):
    yield Call(make(3, 4), i32(3, 0, 2), 2)
    yield Call(np.array([[1, 2, 2, 0]], "float32"), i32(1), 1)


@samples(o.unique, o.unique_primitive, o.unique_mint, o.unique_consecutive)
def _(make):
    yield Call(i32(5, 2, 5, 1))
    yield Call(i64(5, 5, 5, 1))
    yield Call(np.array([[5, 2], [2, 1]], "float32"))


@samples(o.unique_consecutive_primitive)
def _(make):
    yield Call(i32(5, 5, 2, 5, 1), True, True)


@samples(o.unique_with_pad, o.unique_with_pad_method)
def _(make):
    yield Call(i32(5, 5, 2, 5, 1), 0)
    yield Call(i64(5, 5, 2, 5, 1), -1)


@samples(o.upper_bound, o.lower_bound)
def _(make):
    yield Call(np.array([[1, 2, 2, 3]], "float32"), np.array([[2, 0, 9]], "float32"))
    yield Call(np.array([[1, 2, 2, 3]], "int32"), np.array([[2, 0, 9]], "int32"), mstype.int64)
