import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.math import cumulative as c
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.cumsum, c.cumsum_mint, c.cumsum_method, c.cumprod)
def _(make):
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), 0)
    yield Call(make(2, 3).T, -1)
    yield Call(make(4, dtype="int32"), 0)
    yield Call(make(3, 4), 0, dtype=mstype.float64)
    yield Call(make(0, 3), 0)
    yield Fails(make(3, 4), 5)


@samples(c.cum_sum, c.cum_prod)
def _(make):
    yield Call(make(3, 4), 1)
    yield Call(make(3, 4), 1, True)
    yield Call(make(3, 4), 0, False, True)
    yield Call(make(3, 4), -1, True, True)
    yield Call(make(4, dtype="int32"), 0, True)
    yield Fails(make(3, 4), 5)


@samples(c.cummax, c.cummin, c.cummax_mint, c.cummin_mint)
def _(make):
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3).T, 0)
    yield Call(make(5, dtype="int32"), 0)
    yield Fails(make(3, 4), 5)


@samples(c.logcumsumexp)
def _(make):
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3).T, 0)


@samples(c.cumulative_logsumexp)
def _(make):
    yield Call(make(3, 4), np.array(1, "int32"))
    yield Call(make(3, 4), np.array(0, "int32"), True)
    yield Call(make(3, 4), np.array(0, "int32"), False, True)


@samples(c.diff, c.diff_method, c.diff_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1, 0)
    yield Call(make(3, 4), 2, 1)
    yield Call(make(3, 4), 1, 1, make(3, 1), make(3, 2))
    yield Call(make(5, dtype="int32"))


@samples(c.trapz)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), dx=2.0, dim=0)
    yield Call(make(3, 4), np.sort(make(4)))
    yield Call(make(4, dtype="int32"))
    yield Fails(make(3), dx="text")
