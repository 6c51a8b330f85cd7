import numpy as np

from millrace._src.runtime.ops.math import statistics as s
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32, i64

HOLES = np.array([[1, np.nan, 3], [4, 5, np.nan]], "float32")


@samples(s.median, s.median_method, s.median_mint, s.nanmedian)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 0)
    yield Call(make(3, 5), 1, True)
    yield Call(make(2, 3).T, -1)
    yield Call(make(5, dtype="int32", low=0, high=99))
    yield Fails(make(3, 4), 5)


@samples(s.median_of)
def _(make):
    yield Call(make(3, 4), True)
    yield Call(make(3, 4), False, 1, True)
    yield Call(HOLES, False, 1, False, True)


@samples(s.quantile, s.quantile_of)
def _(make):
    yield Call(make(3, 4), 0.3)
    yield Call(make(3, 4), [0.1, 0.5], 1)
    yield Fails(make(3, 4), 3.0)


@samples(s.nanquantile)
def _(make):
    yield Call(make(3, 4), 0.3)
    yield Call(HOLES, 0.5, 1, True)
    yield Fails(make(3, 4), 3.0)


@samples(s.histc, s.histc_mint, s.histogram_of)
def _(make):
    yield Call(make(3, 4), 4)
    yield Call(make(3, 4), 4, -1.0, 1.0)
    yield Call(i32(1, 2, 3, 3), 3)


@samples(s.histogram_fixed_width)
def _(make):
    yield Call(make(3, 4), np.array([-1, 1], "float32"), 5)


@samples(s.bincount, s.bincount_mint)
def _(make):
    yield Call(i32(1, 2, 3, 3))
    yield Call(i64(1, 2, 3, 3), make(4), 7)


@samples(s.bincount_of)
def _(make):
    yield Call(i32(1, 2, 3, 3), np.array(5, "int32"), make(4))
    yield Call(i32(1, 2, 3, 9), np.array(5, "int32"), make(4))


@samples(s.cov)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(5))
    yield Call(make(3, 4), correction=0, fweights=i64(1, 2, 1, 1))
    yield Call(make(3, 4), aweights=make(4, low=0.5))


@samples(s.aminmax)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), axis=1, keepdims=True)
    yield Call(make(3, 4), axis=None)


@samples(s.std_mean, s.var_mean)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1, 1, True)
    yield Call(make(2, 3, 4), (0, 2), True)


@samples(s.std_mean_mint, s.var_mean_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1, correction=0, keepdim=True)


@samples(s.reduce_std)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), [1], False, True)
    yield Call(make(2, 3, 4), (0, 2))


@samples(s.nanmean, s.nansum, s.nansum_mint)
def _(make):
    yield Call(HOLES)
    yield Call(HOLES, 1)
    yield Call(HOLES, 0, True)
    yield Call(make(2, 3).T, -1)


@samples(s.ptp)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1, True)
    yield Call(make(5, dtype="int32"))
