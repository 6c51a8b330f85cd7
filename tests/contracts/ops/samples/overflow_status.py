import numpy as np

from millrace._src.runtime.ops.optimizer import status as c
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.float_status)
def _(make):
    yield Call(make(3, 4))
    yield Call(np.array([1, np.nan], np.float32))
    yield Call(np.array([[1, np.inf]], np.float16))
    yield Fails(make(3, dtype="int32"))
