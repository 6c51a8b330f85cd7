from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.math import max_min as x
from tests.contracts.ops.samples import Call, Fails, samples


@samples(x.max, x.min)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), -1, True)
    yield Call(make(2, 3).T, 0)
    yield Call(make(3, 4, dtype="int32", low=-9, high=9), 0)
    yield Call(make(3, 4), 1, initial=0.5, where=make(3, 4, dtype="bool"))
    yield Fails(make(3), 5)


@samples(x.max_mint, x.min_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), -1, True)
    yield Call(make(2, 3).T, make(3, 2))
    yield Fails(make(3), 5)


@samples(x.argmax, x.argmin, x.argmin_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), -1, True)
    yield Call(make(2, 3).T, 0)
    yield Fails(make(3), 5)


@samples(x.amax, x.amin, x.amax_mint, x.amin_mint, x.reduce_max_primitive, x.reduce_min_primitive)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), (0, 2))
    yield Call(make(2, 3, 4), -1, True)
    yield Call(make(2, 3).T, 0)
    yield Call(make(3, 4, dtype="int32", low=-9, high=9), 0)
    yield Fails(make(3), 5)


@samples(x.argmax_with_value, x.argmin_with_value, x.argmax_value, x.argmin_value)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), -1, True)
    yield Call(make(2, 3).T, 0)
    yield Fails(make(3), 5)


@samples(x.argmax_primitive, x.argmin_primitive)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 0)
    yield Call(make(2, 3).T, -1, mstype.int64)
    yield Fails(make(3), 5)
