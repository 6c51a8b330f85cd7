from millrace._src.runtime.ops.array import pad as p
from tests.contracts.ops.samples import Call, Fails, samples


@samples(p.pad)
def _(make):
    yield Call(make(2, 3), (1, 1))
    yield Call(make(2, 3), (1, 0, 0, 1), value=5.0)
    yield Call(make(1, 2, 3), (1, 1), "reflect")
    yield Call(make(1, 2, 3), (1, 2), mode="replicate")
    yield Call(make(1, 2, 3), (2, 1), mode="circular")
    yield Call(make(1, 2, 3, 3), (2, 1, 1, 0), mode="reflect")
    yield Call(make(2, 3), (-1, 0))
    yield Call(make(2, 3), [])
    yield Call(make(3, 2).T, [1, 1])
    yield Call(make(2, 3, dtype="int32"), (1, 1), value=2.7)
    yield Call(make(2, 3, dtype="float16"), (1, 1))
    yield Fails(make(2, 3), (1,))
    yield Fails(make(2, 3), (1, 1, 1, 1, 1, 1))
    yield Fails(make(2, 3), (1, 1), "zz")
    yield Fails(make(1, 2, 3), (5, 1), "reflect")
    yield Fails(make(1, 2, 3), (1, 1), "reflect", 2.0)


@samples(p.pad_primitive)
def _(make):
    yield Call(make(2, 3), ((1, 0), (0, 2)))
    yield Call(make(3), ((0, 0),))
    yield Call(make(3, 2).T, ((1, 1), (1, 1)))
    yield Call(make(2, 3, dtype="int32"), ((1, 0), (0, 2)))
    yield Fails(make(2, 3), ((1, 0),))
    yield Fails(make(2, 3), ((-1, 0), (0, 0)))


@samples(p.pad_v3_primitive)
def _(make):
    yield Call(make(2, 3), (1, 1), make())
    yield Call(make(1, 2, 3), (1, 0, 3, 2), make(), "constant", False)
    yield Call(make(1, 2, 3), (1, 1), mode="reflect")
    yield Call(make(1, 2, 3), (1, 1), mode="edge")
    yield Call(make(1, 2, 3), (1, 1), mode="circular")
    yield Fails(make(1, 2, 3), (1, 1), mode="zz")


@samples(p.mirror_pad, p.mirror_pad_primitive)
def _(make):
    import numpy as np

    width = np.array([[1, 1], [2, 2]])
    yield Call(make(2, 3), width, "REFLECT")
    yield Call(make(2, 3), width, "SYMMETRIC")
    yield Call(make(3, 2).T, width, "REFLECT")
    yield Call(make(2, 3, dtype="int32"), width, "SYMMETRIC")
    yield Fails(make(2, 3), width + 1, "REFLECT")
    yield Fails(make(2, 3), width, "zz")


@samples(p.padding)
def _(make):
    yield Call(make(2, 1))
    yield Call(make(2, 3, 1), 4)
    yield Call(make(1, 2).T, 3)
    yield Fails(make(2, 2), 4)
    yield Fails(make(2, 1), 0)
