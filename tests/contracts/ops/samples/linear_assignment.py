import numpy as np

from millrace._src.runtime.ops.scipy.linear_assignment import linear_sum_assignment
from tests.contracts.ops.samples import Call, Fails, samples


@samples(linear_sum_assignment)
def _(make):
    yield Call(np.float32([[4, 1, 3], [2, 0, 5], [3, 2, 2]]), False)
    yield Call(np.float64([[4, 1, 3], [2, 0, 5], [3, 2, 2]]), True)
    yield Call(make(5, 5), False)
    yield Call(make(4, 7), False)
    yield Call(make(7, 4), True)
    yield Call(make(4, 4, dtype="int32", high=9), False, np.array(2))
    yield Fails(make(3), False)
    yield Fails(make(3, 3), 1)
