import numpy as np

from millrace._src.runtime.ops.linalg import decomposition as g
from tests.contracts.ops.samples import Call, Fails, samples


def square(make, n=3, dtype="float32"):
    """A matrix that is far from singular."""
    return make(n, n, dtype=dtype) + (3 * np.eye(n)).astype(dtype)


def positive(make, n=3, dtype="float32"):
    half = make(n, n, dtype=dtype)
    return (half @ half.T + 2 * np.eye(n)).astype(dtype)


@samples(g.inverse, g.matrix_inverse, g.det)
def _(make):
    yield Call(square(make))
    yield Call(np.stack([square(make), square(make)]))
    yield Call(square(make).T)
    yield Call(square(make, dtype="float64"))
    yield Call(square(make, 2, "complex64"))
    yield Fails(make(2, 3))
    yield Fails(make(2, 2, dtype="int32"))


@samples(g.logdet, g.slogdet)
def _(make):
    yield Call(positive(make))
    yield Call(np.stack([positive(make), positive(make)]))
    yield Call(positive(make, dtype="float64"))
    yield Fails(make(2, 3))


@samples(g.cholesky)
def _(make):
    yield Call(positive(make))
    yield Call(positive(make), True)
    yield Call(np.stack([positive(make), positive(make)]))
    yield Fails(make(2, 3))
    yield Fails(-np.eye(2, dtype="float32"))


@samples(g.cholesky_inverse)
def _(make):
    yield Call(np.tril(square(make)))
    yield Call(np.triu(square(make)), True)


@samples(g.cholesky_solve)
def _(make):
    yield Call(make(3, 2), np.tril(square(make)))
    yield Call(make(3, 2), np.triu(square(make)), True)


@samples(g.qr, g.qr_mint, g.qr_method, g.qr_full)
def _(make):
    yield Call(make(4, 3))
    yield Call(make(3, 3))
    yield Call(make(2, 3, 2))


@samples(g.svd, g.svd_all)
def _(make):
    yield Call(make(4, 3), False, False)


@samples(g.eig, g.eigvals, g.eig_all)
def _(make):
    yield Call(np.diag(np.array([1, 2, 3], "float32")))


@samples(g.lstsq)
def _(make):
    yield Call(make(4, 2), make(4, 3))
    yield Call(make(4, 2, dtype="float64"), make(4, 1, dtype="float64"))
    yield Call(make(4, 2), make(4))
    yield Fails(make(4, 2), make(3, 2))


@samples(g.lstsq_damped)
def _(make):
    yield Call(make(4, 2), make(4, 3))


@samples(g.lu_solve)
def _(make):
    yield Call(make(3, 2), square(make), np.array([1, 2, 3], "int32"))
    yield Call(make(3, 2), square(make), np.array([3, 2, 3], "int32"))


@samples(g.lu_unpack)
def _(make):
    yield Call(square(make), np.array([1, 2, 3], "int32"))
    yield Call(square(make), np.array([3, 2, 3], "int32"))


@samples(g.geqrf)
def _(make):
    yield Call(make(4, 3))


@samples(g.orgqr)
def _(make):
    yield Call(make(3, 3, low=-0.5, high=0.5), make(3, low=0.2, high=0.5))


@samples(g.ormqr)
def _(make):
    yield Call(make(3, 3, low=-0.5, high=0.5), make(3, low=0.2, high=0.5), make(3, 2))
    yield Call(make(3, 3, low=-0.5, high=0.5), make(3, low=0.2, high=0.5), make(2, 3), False, True)


@samples(g.pinv)
def _(make):
    yield Call(make(4, 3))
    yield Call(make(2, 3, 2))
    yield Call(make(3, 3, dtype="float64"), rtol=0.1)
    yield Fails(make(3))


@samples(g.matrix_exp)
def _(make):
    yield Call(make(3, 3))
    yield Call(make(2, 3, 3, dtype="float64"))


@samples(g.matrix_logarithm)
def _(make):
    yield Call(positive(make).astype("complex64"))
    yield Fails(make(2, 2))


@samples(g.matrix_power)
def _(make):
    yield Call(square(make), 3)
    yield Call(square(make), 0)
    yield Call(square(make), -2)
    yield Fails(make(2, 3), 2)


@samples(g.matrix_solve)
def _(make):
    yield Call(square(make), make(3, 2))
    yield Call(square(make), make(3, 2), True)
    yield Call(square(make, dtype="float64"), make(3, 1, dtype="float64"))


@samples(g.matrix_solve_ls)
def _(make):
    yield Call(make(4, 2, dtype="float64"), make(4, 1, dtype="float64"), np.array(0.5))
    yield Call(make(4, 2, dtype="float64"), make(4, 1, dtype="float64"), np.array(0.0), False)


@samples(g.matrix_triangular_solve)
def _(make):
    yield Call(square(make), make(3, 2))
    yield Call(square(make), make(3, 2), False)
    yield Call(square(make), make(3, 2), True, True)


@samples(g.triangular_solve)
def _(make):
    yield Call(make(3, 2), square(make))
    yield Call(make(3, 2), square(make), False, True)


@samples(g.trace)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T)
    yield Call(make(3, 3, dtype="int32"))
    yield Fails(make(3))
    yield Fails(make(2, 2, 2))


@samples(g.trace_method)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 3, 4), 0, 1, 2)
    yield Fails(make(3, 4), 0, 0, 5)


@samples(g.tridiagonal_mat_mul)
def _(make):
    yield Call(make(1, 3), make(1, 3), make(1, 3), make(3, 2))
