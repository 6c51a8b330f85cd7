import numpy as np

from millrace._src.runtime.ops.array import creation, pad
from millrace._src.runtime.ops.nn import dropout as a
from millrace._src.runtime.ops.nn import embedding, linear
from tests.contracts.ops.samples import Call, Fails, samples


@samples(linear.bidense)
def _(make):
    yield Call(make(2, 3), make(2, 2), make(4, 3, 2), make(4))
    yield Call(make(5, 2, 3), make(5, 2, 2), make(4, 3, 2))
    yield Fails(make(2, 3), make(2, 2), make(4, 2, 2))


@samples(linear.bias_add, linear.bias_add_primitive)
def _(make):
    yield Call(make(2, 3), make(3))
    yield Call(make(2, 3, 4), make(3))
    yield Call(make(4, 3, 2).T, make(3))
    yield Call(make(2, 3, dtype="int32"), make(3, dtype="int32"))
    yield Fails(make(2, 3), make(2))
    yield Fails(make(3), make(3))
    yield Fails(make(2, 3), make(3, dtype="float16"))


@samples(embedding.embedding)
def _(make):
    yield Call(np.array([[1, 2], [0, 1]]), make(3, 2))
    yield Call(np.array([1], np.int32), make(3, 2), 1)
    yield Call(np.array([1]), make(3, 2), None, 0.5)
    yield Fails(make(2), make(3, 2))


@samples(a.dropout)
def _(make):
    yield Call(make(3, 4), 0.0)
    yield Call(make(3, 4), 0.5, False)
    yield Call(make(3, 4), 0.5)
    yield Call(make(3, 4), 0.5, True, 7)
    yield Fails(make(3, 4), 2.0)
    yield Fails(make(3, 4), "text")


@samples(a.dropout_mint)
def _(make):
    yield Call(make(3, 4), 0.5, False)
    yield Call(make(3, 4), 0.5)


@samples(a.dropout1d)
def _(make):
    yield Call(make(2, 3, 4), 0.5, False)
    yield Call(make(2, 3, 4), 0.5)
    yield Call(make(3, 4), 0.5)
    yield Fails(make(2, 3, 4), 1.5)


@samples(a.dropout2d, a.dropout2d_mint)
def _(make):
    yield Call(make(2, 3, 4, 2), 0.5, False)
    yield Call(make(2, 3, 4, 2), 0.5)
    yield Call(make(2, 3, 4, 2), 0.0)
    yield Fails(make(2, 3, 4, 2), 1.5)


@samples(a.dropout3d)
def _(make):
    yield Call(make(2, 3, 4, 2, 2), 0.5, False)
    yield Call(make(2, 3, 4, 2, 2), 0.5)
    yield Fails(make(2, 3, 4), 0.5)


@samples(a.dropout_mask)
def _(make):
    yield Call(make(3, 4), 1.0)
    yield Call(make(3, 4), 0.5)
    yield Fails(make(3, 4), 0.0)
    yield Fails(make(3, 4, dtype="int32"), 0.5)


@samples(a.dropout2d_mask)
def _(make):
    yield Call(make(2, 3, 4, 2), 1.0)
    yield Call(make(2, 3, 4, 2), 0.5)
    yield Fails(make(2, 3, 4, 2), 1.5)


@samples(a.dropout3d_mask)
def _(make):
    yield Call(make(2, 3, 4, 2, 2), 1.0)
    yield Call(make(2, 3, 4, 2, 2), 0.5)


@samples(a.dropout_gen_mask)
def _(make):
    yield Call((3, 4), 0.5)


@samples(a.dropout_do_mask)
def _(make):
    yield Call(make(3, 4), np.arange(16, dtype=np.uint8), 0.5)


@samples(creation.one_hot_mint)
def _(make):
    yield Call(make(3, dtype="int64", low=0, high=4), 5)
    yield Call(make(2, 3, dtype="int64", low=0, high=4))
    yield Fails(make(3), 5)


@samples(pad.pad_mint)
def _(make):
    yield Call(make(2, 3), (1, 2))
    yield Call(make(2, 3, 4), (1, 2, 0, 1), "constant", 5.0)
    yield Call(make(1, 2, 3, 4), (1, 2, 1, 1), "reflect")
    yield Call(make(1, 2, 3, 4), (1, 2, 1, 1), "replicate")
    yield Fails(make(2, 3), (1, 2), "text")
