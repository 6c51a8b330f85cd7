from millrace._src.runtime.ops.linalg import matmul as p
from tests.contracts.ops.samples import Call, Fails, samples


@samples(p.matmul)
def _(make):
    yield Call(make(3, 4), make(4, 2))
    yield Call(make(2, 3, 4), make(4, 2))
    yield Call(make(5, 1, 3, 4), make(2, 4, 2))
    yield Call(make(4), make(4))
    yield Call(make(3, 4), make(4))
    yield Call(make(4, 3).T, make(2, 4).T)
    yield Call(make(0, 3), make(3, 2))
    yield Call(make(2, 3, dtype="float64"), make(3, 2, dtype="float64"))
    yield Call(make(2, 3, dtype="float16"), make(3, 2, dtype="float16"))
    yield Call(make(2, 3, dtype="int32", low=-9, high=9), make(3, 2, dtype="int32", low=-9, high=9))
    yield Call(make(2, 2, dtype="complex64"), make(2, 2, dtype="complex64"))
    yield Fails(make(3, 4), make(3, 4))
    yield Fails(make(3, 4), make(4, 2, dtype="int32"))
    yield Fails(make(), make(3))
    yield Fails(make(3), 2.0)


@samples(p.mat_mul)
def _(make):
    yield Call(make(3, 4), make(4, 2))
    yield Call(make(4, 3), make(4, 2), True)
    yield Call(make(3, 4), make(2, 4), False, True)
    yield Call(make(4, 3), make(2, 4), True, True)
    yield Call(make(3, 2).T, make(3, 4))
    yield Fails(make(3, 4), make(3, 4))
    yield Fails(make(2, 3, 4), make(2, 4, 3))


@samples(p.batch_mat_mul)
def _(make):
    yield Call(make(2, 3, 4), make(2, 4, 2))
    yield Call(make(2, 4, 3), make(2, 4, 2), True)
    yield Call(make(5, 2, 3, 4), make(5, 2, 2, 4), False, True)
    yield Call(make(3, 4), make(4, 2))
    yield Fails(make(1, 3, 4), make(2, 4, 3))
    yield Fails(make(2, 3, 4), make(2, 3, 4))


@samples(p.bmm, p.bmm_mint)
def _(make):
    yield Call(make(2, 3, 4), make(2, 4, 2))
    yield Call(make(4, 3, 2).T, make(2, 4, 2))
    yield Fails(make(2, 3, 4), make(4, 2))
    yield Fails(make(2, 3, 4), make(2, 3, 4))


@samples(p.mm)
def _(make):
    yield Call(make(3, 4), make(4, 2))
    yield Call(make(4, 3).T, make(4, 2))
    yield Fails(make(3, 4), make(3, 4))


@samples(p.mv, p.mv_mint)
def _(make):
    yield Call(make(3, 4), make(4))
    yield Call(make(4, 3).T, make(4))
    yield Fails(make(3, 4), make(3))


@samples(p.addmm)
def _(make):
    yield Call(make(3, 2), make(3, 4), make(4, 2))
    yield Call(make(2), make(3, 4), make(4, 2), beta=0.5, alpha=2.0)
    yield Call(make(3, 1), make(4, 3).T, make(4, 2), beta=2)
    yield Fails(make(3, 2), make(3, 4), make(3, 4))


@samples(p.addmm_)
def _(make):
    yield Call(make(3, 2), make(3, 4), make(4, 2))
    yield Call(make(3, 2), make(3, 4), make(4, 2), beta=0.5, alpha=2.0)


@samples(p.addbmm, p.baddbmm, p.baddbmm_ext)
def _(make):
    yield Call(make(3, 2), make(2, 3, 4), make(2, 4, 2))
    yield Call(make(3, 2), make(2, 3, 4), make(2, 4, 2), beta=0.5, alpha=2.0)
    yield Fails(make(3, 2), make(2, 3, 4), make(2, 3, 4))


@samples(p.addmv)
def _(make):
    yield Call(make(3), make(3, 4), make(4))
    yield Call(make(1), make(4, 3).T, make(4), beta=0.5, alpha=2.0)
    yield Fails(make(3), make(3, 4), make(3))


@samples(p.addr)
def _(make):
    yield Call(make(3, 4), make(3), make(4))
    yield Call(make(1), make(3), make(4), beta=0.5, alpha=2.0)
    yield Fails(make(2, 2), make(3), make(4))


@samples(p.dot)
def _(make):
    yield Call(make(3, 4), make(4, 2))
    yield Call(make(2, 3, 4), make(5, 4, 2))
    yield Call(make(4, 3).T, make(4, 2))
    yield Fails(make(3), make(3))
    yield Fails(make(3, 4), make(3, 4))
    yield Fails(make(3), 2.0)


@samples(p.dot_mint)
def _(make):
    yield Call(make(4), make(4))


@samples(p.tensor_dot)
def _(make):
    yield Call(make(3, 4), make(4, 2), 1)
    yield Call(make(3, 4), make(3, 4), ((0, 1), (0, 1)))
    yield Call(make(2, 3, 4), make(4, 3, 5), [[1, 2], [1, 0]])
    yield Call(make(3, 4), make(2, 3), (0, 1))
    yield Call(make(2), make(3), 0)
    yield Fails(make(3, 4), make(3, 4), 1)
    yield Fails(make(3, 4), make(3, 4), -1)
    yield Fails(make(3, 4), make(3, 4), "text")


@samples(p.batch_dot)
def _(make):
    yield Call(make(2, 3, 4), make(2, 4, 2))
    yield Call(make(2, 3, 4), make(2, 5, 3), [1, 2])
    yield Call(make(2, 3, 4), make(2, 2, 4), 2)
    yield Call(make(2, 3), make(2, 3), 1)
    yield Call(make(2, 3), make(2, 3))
    yield Call(make(2, 3, 4), make(2, 4))
    yield Fails(make(3), make(3))
    yield Fails(make(2, 3, 4), make(2, 3, 4), 0)


@samples(p.inner)
def _(make):
    yield Call(make(3, 4), make(2, 4))
    yield Call(make(4), make(4))
    yield Call(make(3, 4), make())
    yield Fails(make(3, 4), make(3))


@samples(p.outer)
def _(make):
    yield Call(make(3), make(4))
    yield Call(make(3, dtype="float64"), make(4, dtype="float64"))


@samples(p.ger)
def _(make):
    yield Call(make(3), make(4))
    yield Call(make(3, dtype="float64"), make(4, dtype="float64"))
    yield Fails(make(3, 2), make(4))


@samples(p.kron)
def _(make):
    yield Call(make(3, 2), make(2, 3))
    yield Call(make(2), make(1, 3))
    yield Call(make(2, 3).T, make(2))
    yield Call(make(2, dtype="int32"), make(1, 3, dtype="int32"))


@samples(p.einsum)
def _(make):
    yield Call("ij,jk->ik", make(3, 4), make(4, 2))
    yield Call("ii->i", make(3, 3))
    yield Call("bij,bjk->bik", make(2, 3, 4), make(2, 4, 2))


@samples(p.einsum_of)
def _(make):
    yield Call("ij,jk->ik", (make(3, 4), make(4, 2)))


@samples(p.cross)
def _(make):
    yield Call(make(2, 3), make(2, 3))
    yield Call(make(3, 2), make(3, 2), 0)
    yield Call(make(3, 3), make(3, 3))
    yield Call(make(3, 2).T, make(2, 3), -1)
    yield Fails(make(2, 4), make(2, 4), 1)


@samples(p.vecdot)
def _(make):
    yield Call(make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(3, 4), axis=0)
    yield Call(make(2, 3).T, make(3, 2))
    yield Fails(make(3), make(3), axis=2)
