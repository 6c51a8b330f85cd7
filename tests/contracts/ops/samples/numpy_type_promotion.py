from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.numpy import type_promotion as v
from tests.contracts.ops.samples import Call, Fails, samples


@samples(v.promote_types)
def _(make):
    yield Call(mstype.float32, mstype.float64)
    yield Call(mstype.int32, mstype.float16)
    yield Call(mstype.bool_, mstype.int8)
    yield Fails("text", mstype.int8)


@samples(v.result_type)
def _(make):
    yield Call("float32", mstype.int32)
    yield Call(make(2), make(2, dtype="int32"))
    yield Call(make(2, dtype="int8"), make(2, dtype="int32"))
