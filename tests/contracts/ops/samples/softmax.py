from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.nn import normalization
from millrace._src.runtime.ops.nn import softmax as s
from tests.contracts.ops.samples import Call, Fails, samples


@samples(s.softmax, s.softmin)
def _(make):
    yield Call(make(3, 4), -1)
    yield Call(make(2, 3, 4), 1)
    yield Call(make(2, 3).T, 0)
    yield Call(make(3, 4, low=80, high=100), -1)
    yield Call(make(3, dtype="float64"), 0)
    yield Call(make(3, dtype="float16"), 0)
    yield Call(make(3, dtype="bfloat16"), 0)
    yield Call(make(3, 2), 0, dtype=mstype.float64)
    yield Fails(make(3, 4), 2)
    yield Fails(make(3, 4), "text")


@samples(s.softmax_mint, s.softmax_along, s.log_softmax_mint)
def _(make):
    yield Call(make(3, 4), -1)
    yield Call(make(2, 3, 4), 1)
    yield Call(make(2, 3).T, 0)
    yield Call(make(3, 2), 0, dtype=mstype.float64)
    yield Fails(make(3, 4), 2)


@samples(s.log_softmax)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), 1)
    yield Call(make(2, 3).T, 0)
    yield Call(make(3, 4, low=80, high=100), -1)
    yield Call(make(3, dtype="float64"), 0)
    yield Call(make(3, dtype="float16"), 0)
    yield Fails(make(3, 4), 2)
    yield Fails(make(3, 4), "text")
    yield Fails(make(3, 4, dtype="int32"))


@samples(s.gumbel_softmax)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 0.5, True, 0)
    yield Fails(make(3, 4), -1.0)
    yield Fails(make(3, 4), "text")


@samples(normalization.normalized)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), 1.0, 0)
    yield Call(make(2, 3).T, 3.0, -1, 0.1)
