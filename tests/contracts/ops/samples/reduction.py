from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.linalg import norm
from millrace._src.runtime.ops.math import reduction as r
from tests.contracts.ops.samples import Call, Fails, samples


def _along(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), (0, 2))
    yield Call(make(2, 3, 4), -1, True)
    yield Call(make(2, 3).T, 0)
    yield Call(make())
    yield Call(make(0, 3), 0)
    yield Call(make(3, 4, dtype="int32", low=-9, high=9))
    yield Call(make(3, 4, dtype="float64"), 0)
    yield Fails(make(3, 4), 5)
    yield Fails(make(3, 4), "text")


samples(r.sum, r.mean, r.mean_mint, r.reduce_mean_primitive, r.prod, r.prod_mint, r.reduce_prod_primitive)(
    _along
)


@samples(r.reduce_sum_primitive)
def _(make):
    yield from _along(make)
    yield Call(make(3, 4), 1, True, False)


@samples(r.any, r.all, r.any_mint, r.all_mint, r.reduce_any_primitive, r.reduce_all_primitive)
def _(make):
    yield Call(make(3, 4, dtype="bool"))
    yield Call(make(3, 4, dtype="bool"), 1)
    yield Call(make(2, 3, 4, dtype="bool"), -1, True)
    yield Call(make(2, 3, dtype="bool").T, 0)
    yield Call(make(dtype="bool"))
    yield Call(make(0, 3, dtype="bool"), 0)
    yield Fails(make(3, dtype="bool"), 5)


@samples(r.std, r.var)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(3, 4), 0, 1)
    yield Call(make(2, 3, 4), -1, 0, True)
    yield Call(make(2, 3).T, 0)
    yield Fails(make(3), 5)


@samples(r.std_mint, r.var_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1, keepdim=True)
    yield Call(make(2, 3).T, 0, correction=0)


@samples(r.logsumexp)
def _(make):
    yield Call(make(3, 4), 1)
    yield Call(make(3, 4, low=80, high=99), 0, True)
    yield Call(make(2, 3).T, -1)
    yield Fails(make(3), 5)


@samples(norm.norm)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 2, 1)
    yield Call(make(3, 4), 1, 0, True)
    yield Call(make(3, 4), float("inf"), 1)
    yield Call(make(3, 4), "fro")
    yield Call(make(2, 3).T, None, 0)
    yield Call(make(4), dtype=mstype.float64)
    yield Fails(make(3, 4), 2, 7)
