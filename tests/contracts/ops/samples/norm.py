import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.linalg import distance
from millrace._src.runtime.ops.linalg import norm as n
from tests.contracts.ops.samples import Call, Fails, samples


@samples(n.matrix_norm, n.matrix_norm_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), "nuc")
    yield Call(make(3, 4), 2)
    yield Call(make(3, 4), -1)
    yield Call(make(2, 3, 4), 1, (0, 2), True)
    yield Call(make(3, 4), float("inf"), dtype=mstype.float64)
    yield Fails(make(3, 4), "text")


@samples(n.vector_norm, n.vector_norm_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 3, 1)
    yield Call(make(3, 4), 0, 1, True)
    yield Call(make(3, 4), float("inf"), 0)
    yield Call(make(3, 4), float("-inf"), (0, 1))
    yield Call(make(2, 3).T, 1, -1)


@samples(n.norm_mint)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1, 1)
    yield Call(make(3, 4), 2, (0, 1), True)
    yield Call(make(3, 4), "nuc")


@samples(n.cond)
def _(make):
    well = make(3, 3) + 3 * np.eye(3, dtype="float32")
    yield Call(well)
    yield Call(well, "fro")
    yield Call(well, 1)
    yield Call(well, -2)


@samples(n.renorm, n.renorm_first)
def _(make):
    yield Call(make(3, 4), 2, 0, 1.0)
    yield Call(make(3, 4), 1, 1, 2.0)
    yield Call(make(2, 3, 4), 2, -1, 2.0)


@samples(n.lp_norm)
def _(make):
    yield Call(make(3, 4), 0)
    yield Call(make(3, 4), [0, 1], 2, True)
    yield Call(make(2, 3, 4), (0, 2), 3)
    yield Call(make(2, 3).T, -1)


@samples(n.euclidean_norm)
def _(make):
    yield Call(make(3, 4), np.array([0], "int32"))
    yield Call(make(3, 4), np.array([0, 1], "int64"), True)


@samples(n.nuclear_norm)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), [0, 2], True)


@samples(distance.dist)
def _(make):
    yield Call(make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(4), 3)
    yield Call(make(3, 4), make(3, 4), 1.5)
    yield Fails(make(3), 2)


@samples(distance.cdist, distance.cdist_mint)
def _(make):
    yield Call(make(3, 4), make(2, 4))
    yield Call(make(3, 4), make(2, 4), 1.0)
    yield Call(make(2, 3, 4), make(2, 5, 4), 3.0)
    yield Call(make(2, 3).T, make(4, 2), float("inf"))
    yield Fails(make(3, 4), make(2, 3))


@samples(distance.pdist)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(4, 2), 1.0)
    yield Call(make(4, 2), float("inf"))
