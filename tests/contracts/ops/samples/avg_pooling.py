from millrace._src.runtime.ops.nn import avg_pooling as p
from tests.contracts.ops.samples import Call, Fails, samples


@samples(p.avg_pool1d)
def _(make):
    x = make(2, 3, 7)
    yield Call(x, 3, 2, 1)
    yield Call(x, 3, 2, 1, True)
    yield Call(x, 3, 2, 1, False, False)
    yield Call(x, 2)
    yield Fails(x, 3, 2, (1, 0))
    yield Fails(x, (3,), 2)


@samples(p.avg_pool2d)
def _(make):
    x = make(2, 3, 6, 7)
    yield Call(x, 3, 2, 1)
    yield Call(x, 3, 2, (1, 0, 1, 1))
    yield Call(x, 3, 2, 1, False, False)
    yield Call(x, (3, 2), 2, 1, True, False)
    yield Call(x, 3, 2, 1, False, False, 4)
    yield Fails(x, 3, 2, (1, 0))


@samples(p.avg_pool3d)
def _(make):
    x = make(1, 2, 6, 5, 4)
    yield Call(x, 3, 2, 1)
    yield Call(x, 3, 2, (1, 0, 1, 1, 0, 0))
    yield Call(x, 2, 2, 1, True, False)


@samples(p.avg_pool1d_mint)
def _(make):
    yield Call(make(2, 3, 7), 3, 2, 1)
    yield Call(make(2, 3, 7), 3, 2, 1, True, False)


@samples(p.avg_pool2d_mint)
def _(make):
    yield Call(make(2, 3, 6, 7), 3, 2, 1)
    yield Call(make(2, 3, 6, 7), (3, 2), 2, 1, True, False)


@samples(p.avg_pool3d_mint)
def _(make):
    yield Call(make(1, 2, 6, 5, 4), 3, 2, 1)
    yield Call(make(1, 2, 6, 5, 4), 2, None, 1, True, False)


@samples(p.lp_pool1d)
def _(make):
    yield Call(make(2, 3, 7), 2, 3, 2)
    yield Call(make(2, 3, 7), 1.0, 3, ceil_mode=True)
    yield Fails(make(2, 3, 7), 0, 3)
    yield Fails(make(2, 3, 7), "text", 3)


@samples(p.lp_pool2d)
def _(make):
    yield Call(make(2, 3, 6, 7), 2, 3, 2)
    yield Call(make(2, 3, 6, 7), 1.0, (3, 2), ceil_mode=True)
    yield Fails(make(2, 3, 6, 7), 0, 3)
