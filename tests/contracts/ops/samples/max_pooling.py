from millrace._src.runtime.ops.nn import avg_pooling
from millrace._src.runtime.ops.nn import max_pooling as p
from tests.contracts.ops.samples import Call, Fails, samples


@samples(p.max_pool_primitive, avg_pooling.avg_pool_primitive)
def _(make):
    x = make(2, 3, 6, 7)
    yield Call(x, 3, 2, "same")
    yield Call(x, 2, 1, "SAME")
    yield Call(x, (3, 2), (2, 1), "valid")
    yield Call(x, (2, 3), (1, 2), "same")
    yield Call(x)
    yield Call(make(4, 5, 2, 3).T, 2, 2)
    yield Call(make(1, 2, 4, 4, dtype="float16"), 2, 2)
    yield Call(make(1, 2, 4, 4, dtype="float64"), 3, 2, "same")
    yield Fails(x, 2, 1, "pad")
    yield Fails(make(3, 6, 7), 2, 1)
    yield Fails(x, 9, 1)
    yield Fails(x, "text", 1)


@samples(p.max_pool_argmax)
def _(make):
    x = make(2, 3, 6, 7)
    yield Call(x, 3, 2, "same")
    yield Call(x, 2, 1, "SAME")
    yield Call(x, (3, 2), (2, 1), "valid")
    yield Call(x, (2, 3), (1, 2), "same")
    yield Fails(make(3, 6, 7), 2, 1)


@samples(p.max_pool3d_of)
def _(make):
    x = make(1, 2, 6, 5, 4)
    yield Call(x, 3, 2, "same")
    yield Call(x, 2, 1, "valid")
    yield Call(x, 3, 2, "pad", 1)
    yield Call(x, 3, 2, "pad", (1, 0, 1, 0, 1, 0), True)
    yield Call(x, 3, 2, "PAD", 0, True)
    yield Fails(x, 3, 2, "valid", 0, True)
    yield Fails(x, 3, 2, "valid", 1)


@samples(avg_pooling.avg_pool3d_of)
def _(make):
    x = make(1, 2, 6, 5, 4)
    yield Call(x, 3, 2, "same")
    yield Call(x, 2, 1, "valid")
    yield Call(x, 3, 2, "pad", 1)
    yield Call(x, 3, 2, "pad", 1, False, False)
    yield Call(x, 3, 2, "pad", 1, True, True)
    yield Call(x, 3, 2, "pad", 1, False, True, 5)
    yield Fails(x, 3, 2, "valid", 1)


@samples(p.max_pool2d, p.max_pool2d_mint)
def _(make):
    x = make(2, 3, 6, 7)
    yield Call(x, 3, 2, 1)
    yield Call(x, 3, 2, 1, 1, return_indices=True)
    yield Call(x, (3, 2), ceil_mode=True)
    yield Call(x, 2, 2, 0, 2)
    yield Call(make(1, 1, 4, 4, dtype="int32", low=-9, high=9), 2)
    yield Fails(x, 3, 2, 2)


@samples(p.max_pool3d)
def _(make):
    x = make(1, 2, 6, 5, 4)
    yield Call(x, 3, 2, 1)
    yield Call(x, 3, 2, 1, return_indices=True)
    yield Call(x, 2, ceil_mode=True)
    yield Fails(make(2, 6, 5, 4), 3)


@samples(p.max_pool2d_argmax)
def _(make):
    x = make(2, 3, 6, 7)
    yield Call(x, 3, 2, 1)
    yield Call(x, 2)
    yield Call(x, 2, 2, 0, (2, 2), True)


@samples(p.max_pool3d_argmax)
def _(make):
    x = make(1, 2, 6, 5, 4)
    yield Call(x, 3, 2, 1)
    yield Call(x, 2, 2, 0)
