import numpy as np

from millrace._src.runtime.ops.scipy import scipy_linalg as s
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.decomposition import positive, square


@samples(s.block_diag_scipy)
def _(make):
    yield Call(make(1, 2), make(3), make(2, 2))


@samples(s.inv_scipy)
def _(make):
    yield Call(square(make))
    yield Call(np.array([[1, 2], [3, 5]], "int32"))
    yield Fails(make(2, 3))


@samples(s.cholesky_scipy, s.cho_factor)
def _(make):
    yield Call(positive(make))
    yield Call(positive(make), True)
    yield Call(positive(make, dtype="float64"))


@samples(s.cho_solve)
def _(make):
    yield Call((np.tril(square(make)), True), make(3))
    yield Call((np.triu(square(make)), False), make(3, 2))


@samples(s.eigh)
def _(make):
    yield Call(positive(make), eigvals_only=True)
    yield Call(positive(make), lower=False, eigvals_only=True)


@samples(s.lu_factor, s.lu)
def _(make):
    yield Call(make(3, 3))
    yield Call(make(3, 3, dtype="float64"))


@samples(s.lstsq_scipy)
def _(make):
    yield Call(make(4, 2), make(4))
    yield Call(make(4, 2), make(4, 3))


@samples(s.solve_triangular)
def _(make):
    yield Call(square(make), make(3))
    yield Call(square(make), make(3, 2), 1)
    yield Call(square(make), make(3), "T", True, True)
    yield Call(square(make), make(3), 0, True)
    yield Fails(square(make), make(3), "text")
