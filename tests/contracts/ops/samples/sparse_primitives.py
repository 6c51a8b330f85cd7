import numpy as np

from millrace._src.runtime.ops.sparse import sparse_primitives as c
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32


def i64(*values):
    return np.array(values, "int64")


@samples(c.coalesce)
def _(make):
    places = np.array([[0, 0, 1, 0], [1, 1, 0, 0]])
    yield Call(places, make(4), i64(2, 2))
    yield Call(places, make(4, dtype="float16"), i64(3, 2))
    yield Call(places, make(4, dtype="float64"), i64(2, 3))
    yield Fails(places, make(4, dtype="int32"), i64(2, 2))
    yield Fails(places, make(4), i64(2, 1))
    yield Fails(places, make(3), i64(2, 2))


@samples(c.coo2csr)
def _(make):
    yield Call(i32(0, 0, 1, 3), 4)
    yield Call(i32(1, 2, 2), 5)


@samples(c.csr2coo)
def _(make):
    yield Call(i32(0, 2, 3, 3, 4), 4)
    yield Call(i64(0, 0, 2), 2)


@samples(c.csr_gather)
def _(make):
    yield Call(i32(0, 2, 3, 4), i32(0, 1, 2, 0), make(3, 3), (3, 3))


@samples(c.sparse_to_dense)
def _(make):
    yield Call(np.array([[0, 1], [1, 2]], "int32"), make(2), (3, 4))
    yield Call(np.array([[0], [2], [1]]), make(3, dtype="int32"), (4,))
    yield Call(np.array([[0, 1], [1, 2]]), make(2, dtype="float64"), (2, 3))
    yield Fails(np.array([[0, 1], [1, 9]]), make(2), (2, 3))
    yield Fails(np.array([[0, 1], [1, 1]]), make(3), (2, 3))
    yield Fails(np.array([[0, 1], [1, 1]]), make(2), "text")


@samples(c.sparse_dense_add)
def _(make):
    yield Call(np.array([[0, 1], [1, 2]], "int32"), make(2), i32(3, 4), make(3, 4))
    yield Call(np.array([[0, 1], [0, 1]]), make(2), i64(3, 4), make(3, 4))
    yield Fails(np.array([[0, 1], [1, 2]], "int32"), make(2), i32(3, 4), make(4, 4))


@samples(c.sparse_dense_matmul)
def _(make):
    places = np.array([[0, 1], [1, 2]], "int32")
    yield Call(places, make(2), (3, 4), make(4, 2))
    yield Call(places, make(2), (3, 4), make(3, 2), adjoint_st=True)
    yield Call(places, make(2), (3, 4), make(2, 4), adjoint_dt=True)
    yield Call(places, make(2, dtype="int32"), (3, 4), make(4, 2, dtype="int32"))
    yield Fails(places, make(2), (3, 4), make(3, 2))
    yield Fails(places, make(2), (3, 4), make(4))


@samples(c.sparse_slice)
def _(make):
    places = np.array([[0, 1], [1, 2], [1, 3], [2, 4]])
    yield Call(places, make(4), i64(3, 5), i64(0, 1), i64(2, 3))
    yield Call(places, make(4, dtype="int32"), i64(3, 5), i64(1, 0), i64(9, 4))
    yield Fails(places, make(4), i64(3, 5), i64(0), i64(2, 3))
