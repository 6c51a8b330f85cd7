import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import diagonal as d
from tests.contracts.ops.samples import Call, Fails, samples


@samples(d.diag)
def _(make):
    yield Call(make(3))
    yield Call(make(2, 3))
    yield Call(make(2, 3).T)
    yield Call(make(2, dtype="int32"))
    yield Fails(make())


@samples(d.diag_mint)
def _(make):
    yield Call(make(3))
    yield Call(make(3), 1)
    yield Call(make(3, 4), -1)
    yield Fails(make(2, 2, 2))


@samples(d.diag_part)
def _(make):
    yield Call(make(3, 3))
    yield Call(make(2, 3, 2, 3))
    yield Call(make(3, 3, dtype="int32").T)
    yield Fails(make(2, 3))
    yield Fails(make(3))


@samples(d.diagonal, d.diagonal_method)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 1)
    yield Call(make(3, 4).T, -1)
    yield Call(make(2, 3, 4), 0, 1, 2)
    yield Call(make(2, 3, 4), 0, -1, 0)
    yield Call(make(3, 4, dtype="int32"), 9)
    yield Fails(make(3))
    yield Fails(make(3, 4), 0, 1, 1)


@samples(d.diagflat)
def _(make):
    yield Call(make(2, 2))
    yield Call(make(2), 1)
    yield Call(make(2, 3).T, -1)
    yield Call(make(2, dtype="int32"))


@samples(d.diag_embed)
def _(make):
    yield Call(make(2))
    yield Call(make(2, 3), 1)
    yield Call(make(2, 3), 0, 0, 2)
    yield Call(make(2, 3).T, -2)
    yield Fails(make(2), 0, 1, 1)
    yield Fails(make(2), 0, 1, 5)


@samples(d.tril, d.triu)
def _(make):
    yield Call(make(3, 3))
    yield Call(make(3, 4), 1)
    yield Call(make(2, 4, 3), -1)
    yield Call(make(4, 3).T, 1)
    yield Call(make(3, 3, dtype="int32"))
    yield Call(make(3, 3, dtype="bool"))
    yield Call(make(3, 3, dtype="float16"))
    yield Fails(make(3))
    yield Fails(make(3, 3), 0.5)


@samples(d.tril_indices, d.triu_indices, d.tril_indices_primitive, d.triu_indices_primitive)
def _(make):
    yield Call(3, 2)
    yield Call(3, 3, 1)
    yield Call(2, 4, -1, dtype=mstype.int64)
    yield Call(2, 4, 0, dtype=mstype.int32)
    yield Call(0, 2)
    yield Fails(-1, 2)
    yield Fails(2, 2, 0, dtype=mstype.float32)


@samples(d.matrix_band_part)
def _(make):
    yield Call(make(3, 3), 1, 0)
    yield Call(make(3, 4), -1, 1)
    yield Call(make(2, 4, 3).T, 0, -1)
    yield Call(make(3, 3, dtype="int32"), 1, 1)
    yield Fails(make(3), 1, 0)


def _k(*numbers):
    return np.array(numbers if len(numbers) > 1 else numbers[0], np.int32)


@samples(d.matrix_diag_part)
def _(make):
    yield Call(make(3, 4), _k(0), make())
    yield Call(make(3, 4), _k(-1, 2), make())
    yield Call(make(2, 4, 3), _k(-2, 1), make(), "LEFT_RIGHT")
    yield Call(make(4, 3).T, _k(-2, 1), make(), "LEFT_LEFT")
    yield Call(make(3, 4), _k(1, 2), make(), "RIGHT_RIGHT")
    yield Fails(make(3, 4), _k(2, 1), make())
    yield Fails(make(3), _k(0), make())


@samples(d.matrix_diag)
def _(make):
    yield Call(make(3))
    yield Call(make(2, 3), 1)
    yield Call(make(2, 3), (0, 1), 3, 4, 9.0)


@samples(d.matrix_diag_primitive)
def _(make):
    n = _k(-1)
    yield Call(make(2, 3), _k(0), n, n, make())
    yield Call(make(2, 3), _k(1), n, n, make())
    yield Call(make(3, 3), _k(-1, 1), n, n, make())
    yield Call(make(2, 3, 3), _k(-1, 1), _k(3), _k(4), make(), "LEFT_RIGHT")
    yield Call(make(2, 3), _k(0, 1), _k(3), n, make(), "LEFT_LEFT")
    yield Fails(make(2, 3), _k(0), _k(2), _k(2), make())


@samples(d.matrix_set_diag)
def _(make):
    yield Call(make(3, 4), make(3), _k(0))
    yield Call(make(3, 4), make(3, 3), _k(-1, 1))
    yield Call(make(2, 4, 3), make(2, 2, 3), _k(-1, 0), "LEFT_LEFT")
    yield Call(make(4, 3).T, make(2, 3), _k(0, 1), "LEFT_RIGHT")
    yield Fails(make(3, 4), make(2), _k(0))
